//go:build darwin || gnustep

package ui

import (
	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"
	"github.com/progrium/darwinkit/objc"

	"sotto/app/screen"
	"sotto/ui/kit"
)

// quick is the panel of the quick prompt. It exists while it is open.
type quick struct {
	scope      *kit.Scope
	send       func(screen.Msg)
	panel      appkit.Panel
	view       screen.QuickView
	field      *composer
	transcript *transcript
	hint       appkit.TextField
	ask        appkit.Button // or stop
	anew       appkit.Button
	copy       appkit.Button
	move       appkit.Button
}

func newQuick(l *kit.Ledger, send func(screen.Msg)) *quick {
	s := kit.NewScope(l)
	q := &quick{scope: s, send: send}
	q.panel = newPanel(s, "Quick Prompt", quickWidth, quickLeast)
	q.field = newComposer(s, composerInset, composerEvents{
		changed: func(text string) {
			send(screen.QuickChanged{Text: text, Rev: q.field.rev})
			q.layout()
		},
		send:   func(text string) { send(screen.QuickAsk{Text: text}) },
		escape: func() { send(screen.CloseQuick{}) },
	})
	q.transcript = newTranscript(s, func(m screen.Msg) {
		sendOrCopy(send)(panelClick(m, q.view.Messages, quickDoor))
	})
	q.hint = s.NewLabel(quiet)
	q.ask = s.NewButton("Ask", func() {
		if q.view.Streaming {
			send(screen.QuickStop{})
		} else {
			send(screen.QuickAsk{Text: q.field.text.String()})
		}
	})
	q.anew = s.NewButton("Clear", func() { send(screen.QuickClear{}) })
	q.copy = s.NewButton("Copy", func() { send(screen.QuickCopy{}) })
	q.move = s.NewButton("Open in Window", func() { send(screen.QuickToWindow{}) })
	q.move.SetKeyEquivalent("\r")
	q.move.SetKeyEquivalentModifierMask(kit.ModCommand)
	content := q.panel.ContentView()
	for _, v := range []appkit.IView{
		q.field.scroll, q.transcript.scroll, q.hint, q.ask, q.anew, q.copy, q.move,
	} {
		content.AddSubview(v)
	}
	d := &appkit.WindowDelegate{}
	d.SetWindowDidResize(func(foundation.Notification) { q.layout() })
	d.SetWindowShouldClose(func(appkit.Window) bool {
		send(screen.CloseQuick{})
		return false
	})
	s.WindowDelegate(q.panel.Window, d)
	q.panel.Center()
	return q
}

// newPanel makes a small window that floats above the others.
func newPanel(s *kit.Scope, title string, w, h float64) appkit.Panel {
	const utility = appkit.WindowStyleMaskTitled | appkit.WindowStyleMaskClosable | appkit.WindowStyleMaskResizable
	p := kit.Hold(s, appkit.NewPanelWithContentRectStyleMaskBackingDefer(
		kit.Frame{X: 300, Y: 300, W: w, H: h}.Rect(), utility, appkit.BackingStoreBuffered, false))
	p.SetReleasedWhenClosed(false)
	s.OnClose(func() { p.Close() })
	p.SetTitle(title)
	p.SetLevel(appkit.FloatingWindowLevel)
	p.SetHidesOnDeactivate(false)
	kit.Optional(p, objc.Sel("setCollectionBehavior:"),
		appkit.WindowCollectionBehaviorMoveToActiveSpace|appkit.WindowCollectionBehaviorFullScreenAuxiliary)
	return p
}

// sendOrCopy sends a message, or copies text.
func sendOrCopy(send func(screen.Msg)) func(screen.Msg, string) {
	return func(m screen.Msg, text string) {
		switch {
		case m != nil:
			send(m)
		case text != "":
			copyText(appkit.Pasteboard_GeneralPasteboard(), text)
		}
	}
}

// show draws a view.
func (q *quick) show(v screen.QuickView) {
	grown := len(v.Messages) > 0
	if was := len(q.view.Messages) > 0; was != grown {
		q.grow(grown)
	}
	q.view = v
	q.field.show(v.Field.Text, v.Field.Rev, v.Placeholder)
	q.transcript.show(v.Session, panelMessages(v.Messages))
	kit.SetText(q.hint, quickHint(v))
	title, enabled := "Ask", v.CanAsk
	if v.Streaming {
		title, enabled = "Stop", true
	}
	if q.ask.Title() != title {
		q.ask.SetTitle(title)
	}
	q.ask.SetEnabled(enabled)
	q.copy.SetEnabled(v.CanCopy)
	q.move.SetEnabled(v.CanMove)
	for _, b := range []appkit.IView{q.anew, q.copy, q.move, q.transcript.scroll} {
		kit.SetHidden(b, !grown)
	}
	q.layout()
}

// grow makes the panel high enough for answers, or as small as the field; its upper edge stays.
func (q *quick) grow(large bool) {
	f := kit.FrameOf(q.panel.Frame())
	top, extra := f.Y+f.H, f.H-kit.FrameOf(q.panel.ContentView().Frame()).H
	f.H = quickLeast + extra
	if large {
		f.H = quickMost + extra
	}
	f.Y = max(top-f.H, 0)
	q.panel.SetFrameDisplay(f.Rect(), true)
}

func (q *quick) layout() {
	size := q.panel.ContentView().Frame().Size
	f := layoutQuick(size.Width, size.Height, q.field.height(), len(q.view.Messages) > 0)
	kit.PlaceText(q.field.scroll, q.field.text, f.field)
	kit.Place(q.ask, f.ask)
	kit.PlaceText(q.transcript.scroll, q.transcript.text, f.transcript)
	kit.Place(q.hint, f.hint)
	kit.Place(q.anew, f.anew)
	kit.Place(q.copy, f.copy)
	kit.Place(q.move, f.move)
}

// raise brings the panel to the front with the cursor in its field.
func (q *quick) raise() {
	q.panel.MakeKeyAndOrderFront(nil)
	appkit.Application_SharedApplication().ActivateIgnoringOtherApps(true)
	q.panel.MakeFirstResponder(q.field.text)
}

func (q *quick) close() {
	q.scope.Close()
}
