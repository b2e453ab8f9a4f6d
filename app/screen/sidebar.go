package screen

import (
	"cmp"
	"slices"
	"time"
)

// days groups the conversations by the day of their last use, newest first.
func (s *State) days() []DayView {
	list := slices.Clone(s.chats)
	slices.SortFunc(list, func(a, b *chat) int {
		return cmp.Or(b.head.Used.Compare(a.head.Used), cmp.Compare(b.head.ID, a.head.ID))
	})
	busy := map[ConversationID]bool{}
	for _, j := range s.jobs {
		busy[j.conv] = busy[j.conv] || j.door == inWindow
	}
	var out []DayView
	for _, c := range list {
		title := dayTitle(c.head.Used.In(s.now.Location()), s.now)
		if k := len(out); k == 0 || out[k-1].Title != title {
			out = append(out, DayView{Title: title})
		}
		day := &out[len(out)-1]
		day.Rows = append(day.Rows, ChatRow{ID: c.head.ID, Title: c.title(), Busy: busy[c.head.ID]})
	}
	return out
}

// dayTitle names the day of t, seen from now; both are in one zone.
func dayTitle(t, now time.Time) string {
	y, m, d := now.Date()
	today := time.Date(y, m, d, 0, 0, 0, 0, now.Location())
	switch {
	case !t.Before(today):
		return "Today"
	case !t.Before(today.AddDate(0, 0, -1)):
		return "Yesterday"
	case !t.Before(today.AddDate(0, 0, -6)):
		return t.Weekday().String()
	case t.Year() == y:
		return t.Format("2 January")
	}
	return t.Format("2 January 2006")
}

func sameDay(a, b time.Time) bool {
	y, m, d := a.Date()
	v, w, x := b.Date()
	return y == v && m == w && d == x
}
