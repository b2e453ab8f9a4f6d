// Package appkit has the shape of darwinkit's, with some of its mistakes.
package appkit

import (
	"github.com/progrium/darwinkit/macos/foundation"
	"github.com/progrium/darwinkit/objc"
)

var WindowClass = _WindowClass{objc.GetClass("NSWindow")}

type _WindowClass struct{ objc.Class }

type IWindow interface {
	objc.IObject
	SetTitle(value string)
	Frame() foundation.Rect
}

type Window struct{ objc.Object }

func (c _WindowClass) Alloc() Window { return objc.Call[Window](c, objc.Sel("alloc")) }

func NewWindow() Window { return objc.Call[Window](WindowClass.Alloc(), objc.Sel("init")) }

func (w Window) SetTitle(value string)  { objc.Call[objc.Void](w, objc.Sel("setTitle:"), value) }
func (w Window) Frame() foundation.Rect { return objc.Call[foundation.Rect](w, objc.Sel("frame")) }

// Opaque leaves out is, as darwinkit does in places.
func (w Window) Opaque() bool { return objc.Call[bool](w, objc.Sel("opaque")) }

// Width takes a struct for a number.
func (w Window) Width() float64 { return objc.Call[float64](w, objc.Sel("frame")) }

func (w Window) CascadingReferenceFrame() foundation.Rect {
	return objc.Call[foundation.Rect](w, objc.Sel("cascadingReferenceFrame"))
}

type PMenuDelegate interface {
	MenuWillOpen(menu objc.Object)
	HasMenuWillOpen() bool
	MenuHasKeyEquivalent(menu objc.Object) bool
	HasMenuHasKeyEquivalent() bool
}

type MenuDelegate struct{ willOpen func(objc.Object) }

func (d *MenuDelegate) SetMenuWillOpen(f func(objc.Object))              { d.willOpen = f }
func (d *MenuDelegate) SetMenuHasKeyEquivalent(f func(objc.Object) bool) {}

type PTextInputClient interface{ HasMarkedText() bool }

type TextInputClient struct{}

func (d *TextInputClient) SetHasMarkedText(f func() bool) {}
