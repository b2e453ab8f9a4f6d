package screen

import (
	"slices"
	"time"
)

// State is everything that front ends show and what is known behind it, of all doors. It is a value: [Update] returns a
// new one and leaves the old one as it was.
type State struct {
	now         time.Time
	started     bool   // Loaded came
	unread      Unread // what the store holds and was not read: it is not written over
	window      window
	chats       []*chat // the conversations of the store, in no order
	trash       bin
	jobs        []*job // answers under way, oldest first
	lastJob     JobID
	lastID      ConversationID
	model       modelState
	quick       quick
	status      status
	service     service
	settings    settings
	dirty       dirty
	quit        quitting
	saveErr     string // the store cannot write
	saveErrRead bool   // the window need not show it any longer
	notice      string
	sidebar     []DayView // made from chats and now
	serving     string    // the door that the engine answers
}

// New is the state before anything has happened.
func New() State {
	return State{
		unread:   Unread{Conversations: true, Settings: true, Desk: true}, // until Loaded
		window:   window{open: true, fresh: &chat{loaded: true}},
		quick:    quick{chat: &chat{loaded: true}, session: 1, rev: 1},
		settings: newSettings(),
	}
}

// step is one update under way. What it points to is shared with older states: it is replaced, never changed.
type step struct {
	State
	effects []Effect
	listed  bool // the sidebar must be made again
}

// Update takes a message and returns what comes of it.
func Update(s State, m Msg) (State, []Effect) {
	u := &step{State: s}
	for _, take := range []func(Msg) bool{
		u.ofWindow, u.ofMessages, u.ofQuick, u.ofStatus, u.ofService, u.ofSettings, u.ofModel, u.ofStore,
	} {
		if take(m) {
			break
		}
	}
	u.finishQuit()
	if u.listed {
		u.sidebar = u.days()
	}
	u.updateMenu()
	return u.State, u.effects
}

func (u *step) do(e Effect) { u.effects = append(u.effects, e) }

func (u *step) ui(c Command) { u.do(UI{c}) }

// door is where an answer is shown.
type door uint8

const (
	inWindow door = iota + 1
	inQuick
	inService
)

// name of a door, as in "answers in the window".
func (d door) name() string {
	return [...]string{inWindow: "the window", inQuick: "the quick prompt", inService: "a service"}[d]
}

// chat finds the conversation of an answer; nil if it is gone.
func (s *State) chat(d door, id ConversationID) *chat {
	switch d {
	case inQuick:
		return s.quick.chat
	case inService:
		return s.service.chat
	default:
		if i := s.index(id); i >= 0 {
			return s.chats[i]
		}
		return nil
	}
}

func (s *State) index(id ConversationID) int {
	return slices.IndexFunc(s.chats, func(c *chat) bool { return c.head.ID == id })
}

// put replaces a conversation by its changed copy.
func (u *step) put(d door, c *chat) {
	switch {
	case d == inQuick:
		u.quick.chat = c
	case d == inService:
		u.service.chat = c
	case c.head.ID == 0:
		u.window.fresh = c
	default:
		u.chats = slices.Clone(u.chats)
		if i := u.index(c.head.ID); i >= 0 {
			u.chats[i] = c
		} else {
			u.chats = append(u.chats, c)
		}
		u.listed = true
	}
}

// shown is the conversation in the window.
func (s *State) shown() *chat {
	if c := s.chat(inWindow, s.window.selected); c != nil {
		return c
	}
	return s.window.fresh
}
