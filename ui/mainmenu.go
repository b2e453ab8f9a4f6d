//go:build darwin || gnustep

package ui

import (
	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/objc"

	"sotto/app/screen"
	"sotto/ui/kit"
)

// newMainMenu makes the menu bar.
func newMainMenu(w *windows) appkit.Menu {
	s, send := w.scope, w.port.Send
	bar := kit.Hold(s, appkit.NewMenuWithTitle("Sotto"))
	appMenu(s.AddMenu(bar, "Sotto"), w)

	file := s.AddMenu(bar, "File")
	file.AddItem(s.NewItem("New Chat", "n", func() { send(screen.NewChat{}) }))
	file.AddItem(s.NewItem("Quick Prompt…", "j", func() { send(screen.OpenQuick{}) }))
	file.AddItem(kit.Separator())
	remove := s.NewItem("Delete Chat", "\b", w.deleteChat)
	remove.SetKeyEquivalentModifierMask(kit.ModCommand | kit.ModShift) // without Shift it deletes a line of text
	file.AddItem(remove)
	file.AddItem(kit.NewResponderItem("Close", "w", objc.Sel("performClose:")))

	edit := s.AddMenu(bar, "Edit")
	edit.AddItem(kit.NewResponderItem("Undo", "z", objc.Sel("undo:")))
	edit.AddItem(kit.NewResponderItem("Redo", "Z", objc.Sel("redo:")))
	edit.AddItem(kit.Separator())
	edit.AddItem(kit.NewResponderItem("Cut", "x", objc.Sel("cut:")))
	edit.AddItem(kit.NewResponderItem("Copy", "c", objc.Sel("copy:")))
	edit.AddItem(kit.NewResponderItem("Paste", "v", objc.Sel("paste:")))
	edit.AddItem(kit.NewResponderItem("Select All", "a", objc.Sel("selectAll:")))

	chats := s.AddMenu(bar, "Chat")
	chats.AddItem(s.NewItem("Stop", ".", func() { send(screen.Stop{}) }))
	chats.AddItem(s.NewItem("Regenerate", "r", w.regenerate))
	chats.AddItem(kit.Separator())
	chats.AddItem(s.NewItem("Previous Chat", "[", func() { send(screen.StepChat{By: -1}) }))
	chats.AddItem(s.NewItem("Next Chat", "]", func() { send(screen.StepChat{By: 1}) }))

	window := s.AddMenu(bar, "Window")
	window.AddItem(kit.NewResponderItem("Minimize", "m", objc.Sel("performMiniaturize:")))
	window.AddItem(kit.NewResponderItem("Zoom", "", objc.Sel("performZoom:")))
	window.AddItem(kit.Separator())
	window.AddItem(s.NewItem("Sotto", "1", func() { send(screen.OpenWindow{}) }))
	w.app.SetWindowsMenu(window)
	return bar
}

func appMenu(m appkit.Menu, w *windows) {
	s, send := w.scope, w.port.Send
	m.AddItem(kit.NewResponderItem("About Sotto", "", objc.Sel("orderFrontStandardAboutPanel:")))
	m.AddItem(kit.Separator())
	m.AddItem(s.NewItem("Settings…", ",", func() { send(screen.OpenSettings{}) }))
	m.AddItem(kit.Separator())
	services := s.AddMenu(m, "Services")
	w.app.SetServicesMenu(services)
	m.AddItem(kit.Separator())
	m.AddItem(kit.NewResponderItem("Hide Sotto", "h", objc.Sel("hide:")))
	others := kit.NewResponderItem("Hide Others", "h", objc.Sel("hideOtherApplications:"))
	others.SetKeyEquivalentModifierMask(kit.ModCommand | kit.ModOption)
	m.AddItem(others)
	m.AddItem(kit.NewResponderItem("Show All", "", objc.Sel("unhideAllApplications:")))
	m.AddItem(kit.Separator())
	m.AddItem(kit.NewResponderItem("Quit Sotto", "q", objc.Sel("terminate:")))
}

// deleteChat deletes the conversation that is shown.
func (w *windows) deleteChat() {
	if id := w.port.View().Chat.Sidebar.Selected; id != 0 {
		w.port.Send(screen.DeleteChat{ID: id})
	}
}

// regenerate answers the last message again.
func (w *windows) regenerate() {
	if m := again(w.port.View().Chat.Transcript.Messages); m != nil {
		w.port.Send(m)
	}
}
