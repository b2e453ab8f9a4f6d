package ui

import (
	"slices"

	"sotto/app/screen"
)

// listRow is one line of the list of conversations: a day or a conversation.
type listRow struct {
	heading bool
	title   string
	id      screen.ConversationID
	busy    bool
}

// text is what stands in the line; fit shortens a title.
func (r listRow) text(fit func(string) string) string {
	switch {
	case r.heading:
		return "  " + r.title
	case r.busy:
		return "   " + fit(r.title+" ●")
	default:
		return "   " + fit(r.title)
	}
}

// listRows returns the lines of the list and the one that is selected, -1 for none.
func listRows(v screen.SidebarView) (rows []listRow, selected int) {
	selected = -1
	for _, d := range v.Days {
		rows = append(rows, listRow{heading: true, title: d.Title})
		for _, r := range d.Rows {
			if r.ID == v.Selected && v.Selected != 0 {
				selected = len(rows)
			}
			rows = append(rows, listRow{title: r.Title, id: r.ID, busy: r.Busy})
		}
	}
	return rows, selected
}

func equalRows(a, b []listRow) bool { return slices.Equal(a, b) }
