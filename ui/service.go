//go:build darwin || gnustep

package ui

import (
	"time"
	"unsafe"

	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"
	"github.com/progrium/darwinkit/objc"

	"sotto/app/screen"
	"sotto/ui/kit"
)

// pasteboardString is the type of plain text, by the name that every system knows.
const pasteboardString appkit.PasteboardType = "NSStringPboardType"

// service answers the calls of the Services menu in a panel. It exists as long as the program; the panel as long as it
// is open.
type service struct {
	ledger   *kit.Ledger
	send     func(screen.Msg)
	provider objc.Object
	panel    *servicePanel
	calls    int
	waiting  map[int]*call // calls whose program is kept waiting
}

// call is a call whose program waits for text.
type call struct {
	done bool
	text *string // nil: the selection stays as it is
}

func newService(s *kit.Scope, send func(screen.Msg)) *service {
	v := &service{ledger: s.Ledger(), send: send, waiting: map[int]*call{}}
	class := objc.AllocateClass(objc.GetClass("NSObject"), "SottoServices", 0)
	for verb, kind := range verbs {
		objc.AddMethod(class, objc.Sel(verb+":userData:error:"),
			func(_ objc.Object, b appkit.Pasteboard, data foundation.String, _ unsafe.Pointer) {
				v.called(kind, b, !data.IsNil() && data.Description() == serviceReplaces)
			})
	}
	objc.RegisterClass(class)
	v.provider = kit.Hold(s, objc.Call[objc.Object](objc.Call[objc.Object](class, objc.Sel("alloc")), objc.Sel("init")))
	s.OnClose(func() {
		if v.panel != nil {
			v.panel.close()
		}
	})
	return v
}

// modalMode is NSModalPanelRunLoopMode: the main queue is served in it, other calls of services are not.
const modalMode foundation.RunLoopMode = "NSModalPanelRunLoopMode"

// called answers the system. Where text may come back the program that called waits while the panel is used, so events
// are served here until there is an answer.
func (s *service) called(kind screen.ServiceKind, b appkit.Pasteboard, replaces bool) {
	text := b.StringForType(pasteboardString)
	s.calls++
	id := s.calls
	c := &call{}
	if replaces {
		s.waiting[id] = c
	}
	s.send(screen.ServiceCall{Call: id, Kind: kind, Text: text, CanReplace: replaces})
	if !replaces {
		return
	}
	s.serve(c)
	delete(s.waiting, id)
	switch {
	case c.text != nil:
		copyText(b, *c.text)
	case !c.done:
		s.send(screen.ServiceExpired{Call: id})
	}
}

// serve runs the program's events until the call has its answer or has waited too long.
func (s *service) serve(c *call) {
	app := appkit.Application_SharedApplication()
	for deadline := time.Now().Add(serviceWait); !c.done && time.Now().Before(deadline); {
		objc.WithAutoreleasePool(func() {
			e := app.NextEventMatchingMaskUntilDateInModeDequeue(appkit.EventMaskAny,
				foundation.Date_DateWithTimeIntervalSinceNow(0.1), modalMode, true)
			if !e.IsNil() {
				app.SendEvent(e)
			}
		})
	}
}

// answer ends the wait of a call: text takes the place of the selection, nil leaves it.
func (s *service) answer(id int, text *string) {
	if c := s.waiting[id]; c != nil {
		c.done, c.text = true, text
	}
}

// answerAll ends every wait.
func (s *service) answerAll() {
	for id := range s.waiting {
		s.answer(id, nil)
	}
}

// show draws a view.
func (s *service) show(v screen.ServiceView) {
	switch {
	case v.Open && s.panel == nil:
		s.panel = newServicePanel(s.ledger, s.send)
		s.panel.show(v)
		s.panel.raise()
	case v.Open:
		s.panel.show(v)
	case s.panel != nil:
		s.panel.close()
		s.panel = nil
	}
}

func (s *service) raise() {
	if s.panel != nil {
		s.panel.raise()
	}
}
