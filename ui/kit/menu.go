//go:build darwin || gnustep

package kit

import (
	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/objc"
)

// Modifier keys of a menu item.
const (
	ModShift   = appkit.EventModifierFlagShift
	ModOption  = appkit.EventModifierFlagOption
	ModCommand = appkit.EventModifierFlagCommand
)

// NewItem returns a menu item that runs f. Its key goes with Command.
func (s *Scope) NewItem(title, key string, f func()) appkit.MenuItem {
	i := appkit.NewMenuItemWithTitleActionKeyEquivalent(title, objc.Selector{}, key)
	Hold(s, i)
	s.Action(i, f)
	return i
}

// NewResponderItem returns a menu item whose message goes to whatever has the focus.
func NewResponderItem(title, key string, message objc.Selector) appkit.MenuItem {
	return appkit.NewMenuItemWithTitleActionKeyEquivalent(title, message, key)
}

// AddMenu appends a submenu to bar and returns it.
func (s *Scope) AddMenu(bar appkit.Menu, title string) appkit.Menu {
	i := appkit.NewMenuItemWithTitleActionKeyEquivalent(title, objc.Selector{}, "")
	m := Hold(s, appkit.NewMenuWithTitle(title))
	i.SetSubmenu(m)
	bar.AddItem(i)
	return m
}

// Separator returns a line between items.
func Separator() appkit.MenuItem { return appkit.MenuItem_SeparatorItem() }
