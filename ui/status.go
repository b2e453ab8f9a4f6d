//go:build darwin || gnustep

package ui

import (
	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/objc"

	"sotto/app/screen"
	"sotto/ui/kit"
)

// status is the item in the menu bar.
type status struct {
	send  func(screen.Msg)
	item  appkit.StatusItem
	menu  appkit.Menu
	items *kit.Scope // of the menu's present items
	rev   int
	shown bool
	open  bool // the user looks at the menu
}

func newStatus(s *kit.Scope, send func(screen.Msg)) *status {
	st := &status{send: send}
	st.item = kit.Hold(s, appkit.StatusBar_SystemStatusBar().StatusItemWithLength(appkit.VariableStatusItemLength))
	st.menu = kit.Hold(s, appkit.NewMenuWithTitle("Sotto"))
	st.menu.SetAutoenablesItems(false)
	d := &appkit.MenuDelegate{}
	d.SetMenuWillOpen(func(appkit.Menu) {
		st.open = true
		send(screen.MenuOpened{})
	})
	d.SetMenuDidClose(func(appkit.Menu) {
		st.open = false
		send(screen.MenuClosed{})
	})
	d.SetMenuNeedsUpdate(func(appkit.Menu) {}) // GNUstep calls it without asking whether it is there
	s.MenuDelegate(st.menu, d)
	st.item.SetMenu(st.menu)
	st.items = kit.NewScope(s.Ledger())
	s.OnClose(func() { st.items.Close() })
	return st
}

// show draws the item, and its menu where that is another and nobody looks at it.
func (st *status) show(v screen.StatusView) {
	b := st.item.Button()
	title := statusTitle(v)
	if b.Title() != title {
		b.SetTitle(title)
	}
	b.SetToolTip(kit.Clean(v.Tooltip))
	if st.open || st.shown && st.rev == v.MenuRev {
		return
	}
	st.shown, st.rev = true, v.MenuRev
	st.menu.RemoveAllItems()
	st.items.Close()
	for _, i := range v.Menu {
		st.menu.AddItem(st.newItem(i))
	}
}

func (st *status) newItem(i screen.MenuItem) appkit.MenuItem {
	if i.ID == screen.MenuSeparator {
		return kit.Separator()
	}
	if i.ID == screen.MenuText {
		item := appkit.NewMenuItemWithTitleActionKeyEquivalent(kit.Clean(i.Title), objc.Selector{}, "")
		item.SetEnabled(false)
		return item
	}
	item := st.items.NewItem(kit.Clean(i.Title), "", func() { st.send(screen.MenuChosen{ID: i.ID}) })
	item.SetEnabled(i.Enabled)
	if i.Checked {
		item.SetState(appkit.ControlStateValueOn)
	}
	return item
}
