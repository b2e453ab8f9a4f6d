package screen

import (
	"fmt"
	"slices"
	"time"
)

// dirty is what the user changes letter by letter: it is saved a little later.
type dirty struct {
	heads          []ConversationID
	desk, settings bool
	since          time.Time
}

// dirtyFor is how long a change may wait.
const dirtyFor = time.Second

func (d dirty) any() bool { return d.desk || d.settings || len(d.heads) > 0 }

func (u *step) touch() {
	if !u.dirty.any() {
		u.dirty.since = u.now
	}
}

// markDraft notes that a draft has changed; 0 is the new conversation's.
func (u *step) markDraft(id ConversationID) {
	u.touch()
	if id == 0 {
		u.dirty.desk = true
	} else if !slices.Contains(u.dirty.heads, id) {
		u.dirty.heads = append(slices.Clone(u.dirty.heads), id)
	}
}

func (u *step) markSettings() {
	u.touch()
	u.dirty.settings = true
}

// saveDirty saves now what waits.
func (u *step) saveDirty() {
	d := u.dirty
	u.dirty = dirty{}
	for _, id := range d.heads {
		if c := u.chat(inWindow, id); c != nil {
			u.save(inWindow, c)
		}
	}
	if d.desk {
		u.saveDesk()
	}
	if d.settings {
		u.saveSettings()
	}
}

// saveSettings writes the settings; not in place of what could not be read.
func (u *step) saveSettings() {
	if !u.unread.Settings {
		u.do(SaveSettings{u.settings.Settings})
	}
}

// ofStore takes the messages of the store and the clock.
func (u *step) ofStore(m Msg) bool {
	switch m := m.(type) {
	case Tick:
		u.tick(m.Now)
	case Loaded:
		u.loaded(m)
	case ConversationLoaded:
		if c := u.chat(inWindow, m.Conversation.ID); c != nil && !c.loaded {
			u.put(inWindow, c.fill(m.Conversation.Nodes, m.LastNode))
			if m.Damaged > 0 {
				u.notice = fmt.Sprintf("%s of %q cannot be read and %s set aside.",
					count(m.Damaged, "message"), c.title(), plural(m.Damaged, "was", "were"))
			}
		}
	case ConversationFailed:
		if c := u.chat(inWindow, m.ID); c != nil && !c.loaded {
			d := c.clone()
			d.asked, d.broken = false, "This conversation cannot be read: "+m.Err.Error()
			u.put(inWindow, d)
		}
	case SaveFailed:
		u.saveErrRead = false
		u.saveErr = "Nothing can be saved at the moment: " + m.Err.Error() + ". Sotto keeps everything and tries again."
	case SaveRecovered:
		u.saveErr = ""
	case Flushed:
		u.flushed(m.Err)
	default:
		return false
	}
	return true
}

// loaded takes what the store holds.
func (u *step) loaded(m Loaded) {
	if u.started {
		return
	}
	u.started, u.lastID, u.listed, u.unread = true, m.LastID, true, m.Unread
	u.chats = make([]*chat, 0, len(m.Conversations))
	for _, c := range m.Conversations {
		c.Nodes = nil
		u.lastID = max(u.lastID, c.ID)
		u.chats = append(u.chats, &chat{head: c})
	}
	u.settings.Settings, u.settings.models, u.settings.run = m.Settings, m.Models, m.Model
	u.settings.fill()
	if u.window.fresh.head.Draft == "" {
		c := u.window.fresh.clone()
		c.head.Draft = m.Desk.Draft
		u.window.fresh = c
	} else {
		u.markDraft(0) // typed when it could not be kept
	}
	u.window.rev++
	if u.index(m.Desk.Selected) >= 0 {
		u.window.selected = m.Desk.Selected
		u.load(u.shown())
	}
	switch {
	case m.Unread.Conversations:
		u.notice = "The conversations cannot be read: " + m.Err.Error()
	case m.Err != nil:
		u.notice = "The settings cannot be read: " + m.Err.Error()
		if m.Unread.Settings {
			u.notice += ". They stay as they are: changes count until Sotto is quit."
		}
	case m.Damaged > 0:
		u.notice = fmt.Sprintf("%s cannot be read and %s set aside.",
			count(m.Damaged, "conversation"), plural(m.Damaged, "was", "were"))
	case m.Undeleted != nil:
		u.notice = "What was deleted is still on the disk: " + m.Undeleted.Error() + ". The next start tries again."
	}
	u.serve()
	u.loadModel()
}

// advance moves the time forward.
func (u *step) advance(now time.Time) {
	if now.After(u.now) {
		if !sameDay(u.now, now) {
			u.listed = true
		}
		u.now = now
	}
}

// tick does what has become due.
func (u *step) tick(now time.Time) {
	u.advance(now)
	for _, j := range u.jobs {
		if j.fresh && !u.now.Before(j.saved.Add(saveEvery)) {
			u.savePartial(j)
		}
	}
	if u.dirty.any() && !u.now.Before(u.dirty.since.Add(dirtyFor)) {
		u.saveDirty()
	}
	if u.trash.chat != nil && !u.now.Before(u.trash.until) {
		u.emptyBin()
	}
	u.tickQuit()
}

// Wake is when a State wants the next [Tick], if nothing else happens before.
func Wake(s State) time.Time {
	y, m, d := s.now.Date()
	next := time.Date(y, m, d+1, 0, 0, 0, 0, s.now.Location()) // the days of the list change
	sooner := func(t time.Time) {
		if t.Before(next) {
			next = t
		}
	}
	for _, j := range s.jobs {
		if j.fresh {
			sooner(j.saved.Add(saveEvery))
		}
		if !j.first.IsZero() && j.thought.IsZero() {
			sooner(s.now.Add(time.Second)) // the duration of the thinking
		}
	}
	if s.dirty.any() {
		sooner(s.dirty.since.Add(dirtyFor))
	}
	if s.trash.chat != nil {
		sooner(s.trash.until)
	}
	switch {
	case !s.quit.asked || s.quit.slow:
	case s.quit.flushing:
		sooner(s.quit.since.Add(quitAgain))
	default:
		sooner(s.quit.since.Add(quitWait))
	}
	return next
}
