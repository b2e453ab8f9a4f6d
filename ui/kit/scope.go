//go:build darwin || gnustep

package kit

import (
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/progrium/darwinkit/helper/action"
	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/objc"
)

// Ledger counts what Go lends to Objective-C: delegates, data sources and action targets that are still alive.
type Ledger struct{ live atomic.Int64 }

// Live returns how many there are. An object that nobody refers to counts until the garbage collector finds it.
func (l *Ledger) Live() int { return int(l.live.Load()) }

// lend counts v until it is collected.
func lend[T any](l *Ledger, v *T) {
	l.live.Add(1)
	runtime.AddCleanup(v, func(l *Ledger) { l.live.Add(-1) }, l)
}

// Scope owns the Objective-C objects of a window or of another part of the program that comes and goes.
type Scope struct {
	ledger  *Ledger
	objects []objc.IObject
	undo    []func()
}

// NewScope returns an empty scope.
func NewScope(l *Ledger) *Scope { return &Scope{ledger: l} }

// Hold keeps o alive until the scope is closed.
func Hold[T objc.IObject](s *Scope, o T) T {
	o.Retain()
	s.objects = append(s.objects, o)
	return o
}

// Ledger returns where the scope's loans are counted.
func (s *Scope) Ledger() *Ledger { return s.ledger }

// OnClose runs f when the scope is closed, before anything is released; what was added last runs first.
func (s *Scope) OnClose(f func()) { s.undo = append(s.undo, f) }

// Close detaches what was attached and releases what is held. Do not call it from a delegate's method of this scope:
// hop over the main queue first.
func (s *Scope) Close() {
	for _, f := range slices.Backward(s.undo) {
		f()
	}
	for _, o := range slices.Backward(s.objects) {
		o.Release()
	}
	s.undo, s.objects = nil, nil
}

// attach makes an Objective-C object of the Go value d, which implements protocol, keeps it for the scope's life and
// hands it to set, which is called with nil at the end.
func attach[P any, T any](s *Scope, protocol string, d *T, set func(objc.IObject)) {
	lend(s.ledger, d)
	o := objc.WrapAsProtocol[P](protocol, any(d).(P))
	o.Retain()
	s.objects = append(s.objects, o)
	set(o)
	s.OnClose(func() { set(objc.Object{}) })
}

// WindowDelegate attaches d to w.
func (s *Scope) WindowDelegate(w appkit.Window, d *appkit.WindowDelegate) {
	attach[appkit.PWindowDelegate](s, "NSWindowDelegate", d, func(o objc.IObject) { w.SetDelegateObject(o) })
}

// ApplicationDelegate attaches d to a.
func (s *Scope) ApplicationDelegate(a appkit.Application, d *appkit.ApplicationDelegate) {
	attach[appkit.PApplicationDelegate](s, "NSApplicationDelegate", d, func(o objc.IObject) { a.SetDelegateObject(o) })
}

// MenuDelegate attaches d to m.
func (s *Scope) MenuDelegate(m appkit.Menu, d *appkit.MenuDelegate) {
	attach[appkit.PMenuDelegate](s, "NSMenuDelegate", d, func(o objc.IObject) { m.SetDelegateObject(o) })
}

// TextViewDelegate attaches d to t.
func (s *Scope) TextViewDelegate(t appkit.TextView, d *appkit.TextViewDelegate) {
	attach[appkit.PTextViewDelegate](s, "NSTextViewDelegate", d, func(o objc.IObject) { t.SetDelegateObject(o) })
}

// TableView attaches a source of rows and a delegate to t.
func (s *Scope) TableView(t appkit.TableView, source *Rows, d *appkit.TableViewDelegate) {
	attach[appkit.PTableViewDataSource](s, "NSTableViewDataSource", source,
		func(o objc.IObject) { t.SetDataSourceObject(o) })
	attach[appkit.PTableViewDelegate](s, "NSTableViewDelegate", d, func(o objc.IObject) { t.SetDelegateObject(o) })
}

// handler is a Go function that a control calls.
type handler struct{ f func() }

// Action makes f what c does.
func (s *Scope) Action(c action.CanSet, f func()) {
	h := &handler{f}
	lend(s.ledger, h)
	action.Set(c, func(objc.Object) { h.f() })
	s.OnClose(func() {
		c.SetTarget(objc.Object{})
		objc.SetAssociatedObject(c, objc.AssociationKey("target"), objc.Object{}, objc.ASSOCIATION_RETAIN)
	})
}
