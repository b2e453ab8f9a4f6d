//go:build darwin || gnustep

package ui

import (
	"github.com/progrium/darwinkit/macos/appkit"
	"github.com/progrium/darwinkit/macos/foundation"
	"github.com/progrium/darwinkit/objc"

	"sotto/app/screen"
	"sotto/ui/kit"
)

// chatList is the table of conversations.
type chatList struct {
	scroll  appkit.ScrollView
	table   appkit.TableView
	column  appkit.TableColumn
	rows    []listRow
	titles  []string // of the rows, shortened to the width
	width   float64
	showing bool // the selection is being set from a view
}

func newChatList(s *kit.Scope, send func(screen.Msg)) *chatList {
	l := &chatList{table: kit.Hold(s, appkit.NewTableViewWithFrame(kit.Frame{W: sidebarWidth, H: 100}.Rect()))}
	l.column = kit.Hold(s, appkit.NewTableColumnWithIdentifier("title"))
	l.column.SetEditable(false)
	l.column.SetResizingMask(appkit.TableColumnAutoresizingMask)
	l.table.AddTableColumn(l.column)
	l.table.SetHeaderView(nil)
	l.table.SetRowHeight(26)
	l.table.SetIntercellSpacing(foundation.Size{Width: 0, Height: 2})
	l.table.SetBackgroundColor(kit.Sidebar())
	l.table.SetAllowsMultipleSelection(false)
	l.table.SetAllowsEmptySelection(true)
	kit.Optional(l.table, objc.Sel("setStyle:"), appkit.TableViewStyleSourceList)
	l.scroll = s.NewScroll(l.table)
	l.scroll.SetDrawsBackground(true)
	l.scroll.SetBackgroundColor(kit.Sidebar())
	source := &kit.Rows{
		Count: func() int { return len(l.rows) },
		Text:  func(row int) string { return l.titles[row] },
	}
	d := &appkit.TableViewDelegate{}
	d.SetTableViewShouldSelectRow(func(_ appkit.TableView, row int) bool {
		return row >= 0 && row < len(l.rows) && !l.rows[row].heading
	})
	d.SetTableViewWillDisplayCellForTableColumnRow(
		func(_ appkit.TableView, cell objc.Object, _ appkit.TableColumn, row int) {
			if row >= 0 && row < len(l.rows) {
				l.style(appkit.TextFieldCellFrom(cell.Ptr()), l.rows[row])
			}
		})
	d.SetTableViewSelectionDidChange(func(foundation.Notification) {
		row := l.table.SelectedRow()
		if !l.showing && row >= 0 && row < len(l.rows) && !l.rows[row].heading {
			send(screen.SelectChat{ID: l.rows[row].id})
		}
	})
	s.TableView(l.table, source, d)
	return l
}

// style gives a cell the look of its row.
func (l *chatList) style(cell appkit.TextFieldCell, r listRow) {
	face := body
	if r.heading {
		face = quietBold
	}
	cell.SetFont(kit.Font(face))
	cell.SetTextColor(kit.Color(face.Ink))
	objc.Call[objc.Void](cell, objc.Sel("setLineBreakMode:"), appkit.LineBreakByTruncatingTail)
}

// show draws the list.
func (l *chatList) show(v screen.SidebarView) {
	rows, selected := listRows(v)
	l.showing = true
	defer func() { l.showing = false }()
	if !equalRows(rows, l.rows) {
		l.rows = rows
		l.reload()
	}
	switch row := l.table.SelectedRow(); {
	case row == selected:
	case selected < 0:
		l.table.DeselectAll(nil)
	default:
		l.table.SelectRowIndexesByExtendingSelection(foundation.NewIndexSetWithIndex(uint(selected)), false)
		l.table.ScrollRowToVisible(selected)
	}
}

// fit makes the column as wide as the list.
func (l *chatList) fit(width float64) {
	if l.width == width {
		return
	}
	l.width = width
	l.column.SetWidth(width - 4)
	l.reload()
}

// reload makes the titles anew and draws them.
func (l *chatList) reload() {
	l.titles = make([]string, len(l.rows))
	for i, r := range l.rows {
		l.titles[i] = r.text(func(s string) string { return kit.Fit(s, body, l.width-44) })
	}
	l.table.ReloadData()
}
