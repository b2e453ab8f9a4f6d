//go:build darwin || gnustep

package ui

import (
	"strconv"

	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"
)

// trace tells what is on the screen now.
func (w *windows) trace() {
	if w.tracer == nil || w.tracer.to == nil {
		return
	}
	s := snapshot(w.port.View())
	s.Parts, s.Lent = map[string][4]int{}, w.ledger.Live()
	height := appkit.Screen_MainScreen().Frame().Size.Height
	put := func(name string, window appkit.IWindow, f foundation.Rect) {
		at := window.Frame().Origin // content views fill their windows from the lower left
		s.Parts[name] = [4]int{
			int(at.X + f.Origin.X), int(height - at.Y - f.Origin.Y - f.Size.Height), int(f.Size.Width), int(f.Size.Height),
		}
	}
	view := func(name string, window appkit.IWindow, v appkit.IView) {
		if !v.IsHidden() {
			put(name, window, v.ConvertRectToView(v.Bounds(), nil))
		}
	}
	if c := w.chat; c != nil {
		for name, v := range map[string]appkit.IView{
			"chat.new": c.newChat, "chat.send": c.sendButton, "chat.composer": c.composer.scroll,
			"chat.transcript": c.transcript.scroll, "chat.undo": c.undoButton, "chat.list": c.list.scroll,
		} {
			view(name, c.window, v)
		}
		for i, r := range c.list.rows {
			if !r.heading {
				put("chat.row."+strconv.FormatUint(uint64(r.id), 10), c.window,
					c.list.table.ConvertRectToView(c.list.table.RectOfRow(i), nil))
			}
		}
	}
	if q := w.quick; q != nil {
		for name, v := range map[string]appkit.IView{
			"quick.field": q.field.scroll, "quick.ask": q.ask, "quick.copy": q.copy, "quick.move": q.move,
			"quick.clear": q.anew,
		} {
			view(name, q.panel, v)
		}
	}
	if p := w.service.panel; p != nil {
		for name, v := range map[string]appkit.IView{
			"service.stop": p.stop, "service.copy": p.copy, "service.done": p.done, "service.replace": p.replace,
		} {
			view(name, p.panel, v)
		}
	}
	b := w.status.item.Button()
	view("status", b.Window(), b)
	w.tracer.write(s)
}
