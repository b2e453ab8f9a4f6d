//go:build darwin || gnustep

package ui

import (
	"strconv"

	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"

	"sotto/app/screen"
)

// places collects where things are on the screen.
type places struct {
	height float64 // of the screen
	found  map[string][4]int
}

// put notes a rectangle of a window.
func (p places) put(name string, window appkit.IWindow, f foundation.Rect) {
	at := window.Frame().Origin // content views fill their windows from the lower left
	p.found[name] = [4]int{
		int(at.X + f.Origin.X), int(p.height - at.Y - f.Origin.Y - f.Size.Height),
		int(f.Size.Width), int(f.Size.Height),
	}
}

// window notes a window and those of its views that can be seen.
func (p places) window(name string, window appkit.IWindow, views map[string]appkit.IView) {
	p.put(name+".window", window, foundation.Rect{Size: window.Frame().Size})
	for part, v := range views {
		if !v.IsHidden() {
			p.put(name+"."+part, window, v.ConvertRectToView(v.Bounds(), nil))
		}
	}
}

// trace tells what is on the screen now.
func (w *windows) trace() {
	if w.tracer == nil || w.tracer.to == nil {
		return
	}
	s := snapshot(w.port.View())
	p := places{appkit.Screen_MainScreen().Frame().Size.Height, map[string][4]int{}}
	s.Parts, s.Lent, s.Status.Open = p.found, w.ledger.Live(), w.status.open
	if w.chat != nil {
		w.chat.places(p)
	}
	if q := w.quick; q != nil {
		p.window("quick", q.panel, map[string]appkit.IView{
			"field": q.field.scroll, "ask": q.ask, "copy": q.copy, "move": q.move, "clear": q.anew,
		})
	}
	if v := w.service.panel; v != nil {
		p.window("service", v.panel, map[string]appkit.IView{
			"stop": v.stop, "copy": v.copy, "done": v.done, "replace": v.replace,
		})
	}
	if v := w.settings; v != nil {
		p.window("settings", v.window, map[string]appkit.IView{
			"model": v.model, "api": v.api, "system": v.fields[screen.FieldSystem].input.scroll,
			"temperature": v.fields[screen.FieldTemperature].input.scroll,
			"tokens":      v.fields[screen.FieldMaxTokens].input.scroll,
			"port":        v.fields[screen.FieldPort].input.scroll,
		})
	}
	s.Keyboard = w.keyboard()
	b := w.status.item.Button()
	p.put("status", b.Window(), b.ConvertRectToView(b.Bounds(), nil))
	w.tracer.write(s)
}

// keyboard names what gets the keys.
func (w *windows) keyboard() string {
	key := w.app.KeyWindow()
	if !w.app.IsActive() || key.IsNil() {
		return ""
	}
	name := key.Title()
	field := func(as string, window appkit.IWindow, c *composer) {
		if window.Ptr() == key.Ptr() && window.FirstResponder().Ptr() == c.text.Ptr() {
			name = as
		}
	}
	if w.chat != nil {
		field("chat.composer", w.chat.window, w.chat.composer)
	}
	if w.quick != nil {
		field("quick.field", w.quick.panel, w.quick.field)
	}
	return name
}

// places notes the parts of the chat window, the conversations in its list and the links in its messages.
func (c *chat) places(p places) {
	p.window("chat", c.window, map[string]appkit.IView{
		"new": c.newChat, "send": c.sendButton, "composer": c.composer.scroll, "transcript": c.transcript.scroll,
		"undo": c.undoButton, "notice": c.noticeButton, "settings": c.otherModel, "list": c.list.scroll,
	})
	for link, at := range c.transcript.links() {
		p.put("chat.link."+link, c.window, at)
	}
	for i, r := range c.list.rows {
		if !r.heading {
			p.put("chat.row."+strconv.FormatUint(uint64(r.id), 10), c.window,
				c.list.table.ConvertRectToView(c.list.table.RectOfRow(i), nil))
		}
	}
}
