//go:build darwin || gnustep

package ui

import (
	"strings"

	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"

	"sotto/app/screen"
	"sotto/ui/kit"
)

// servicePanel shows what a service makes of selected text.
type servicePanel struct {
	scope      *kit.Scope
	panel      appkit.Panel
	view       screen.ServiceView
	source     appkit.TextField
	line       appkit.Box
	transcript *transcript
	stop       appkit.Button // or try again
	copy       appkit.Button
	replace    appkit.Button
	done       appkit.Button
}

// sourceFace is how the selected text looks.
var sourceFace = kit.Face{Size: bodySize, Ink: kit.InkSecondary, Italic: true}

func newServicePanel(l *kit.Ledger, send func(screen.Msg)) *servicePanel {
	s := kit.NewScope(l)
	p := &servicePanel{scope: s}
	p.panel = newPanel(s, "Sotto", serviceWidth, serviceHeight)
	p.source = s.NewLabel(sourceFace)
	p.line = s.NewLine()
	p.transcript = newTranscript(s, func(m screen.Msg) {
		answer := []screen.MessageView{p.view.Answer}
		sendOrCopy(send)(panelClick(m, answer, serviceDoor))
	})
	p.stop = s.NewButton("Stop", func() {
		if p.view.Streaming {
			send(screen.ServiceStop{})
		} else {
			send(screen.ServiceRetry{})
		}
	})
	p.copy = s.NewButton("Copy", func() { send(screen.ServiceCopy{}) })
	p.replace = s.NewButton("Replace", func() { send(screen.ServiceReplace{}) })
	p.replace.SetKeyEquivalent("\r")
	p.done = s.NewButton("Done", func() { send(screen.ServiceCancel{}) })
	p.done.SetKeyEquivalent("\x1b")
	content := p.panel.ContentView()
	for _, v := range []appkit.IView{p.source, p.line, p.transcript.scroll, p.stop, p.copy, p.done, p.replace} {
		content.AddSubview(v)
	}
	d := &appkit.WindowDelegate{}
	d.SetWindowDidResize(func(foundation.Notification) { p.layout() })
	d.SetWindowShouldClose(func(appkit.Window) bool {
		send(screen.ServiceCancel{})
		return false
	})
	s.WindowDelegate(p.panel.Window, d)
	p.panel.Center()
	return p
}

// show draws a view.
func (p *servicePanel) show(v screen.ServiceView) {
	p.view = v
	if title := kit.Clean(v.Title); p.panel.Title() != title {
		p.panel.SetTitle(title)
	}
	p.transcript.show(v.Call, []screen.MessageView{v.Answer})
	title := "Try Again"
	if v.Streaming {
		title = "Stop"
	}
	if p.stop.Title() != title {
		p.stop.SetTitle(title)
	}
	p.stop.SetEnabled(v.Streaming || v.CanRetry)
	p.copy.SetEnabled(v.CanCopy)
	p.replace.SetEnabled(v.CanReplace)
	p.layout()
}

func (p *servicePanel) layout() {
	size := p.panel.ContentView().Frame().Size
	f := layoutService(size.Width, size.Height)
	kit.Place(p.source, f.source)
	kit.SetText(p.source, kit.Fit(strings.Join(strings.Fields(p.view.Source), " "), sourceFace, f.source.W-8))
	kit.Place(p.line, f.line)
	kit.PlaceText(p.transcript.scroll, p.transcript.text, f.transcript)
	kit.Place(p.stop, f.stop)
	kit.Place(p.copy, f.copy)
	kit.Place(p.done, f.done)
	kit.Place(p.replace, f.replace)
}

func (p *servicePanel) raise() {
	p.panel.MakeKeyAndOrderFront(nil)
	appkit.Application_SharedApplication().ActivateIgnoringOtherApps(true)
}

func (p *servicePanel) close() {
	p.scope.Close()
}
