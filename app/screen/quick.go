package screen

import "strings"

// quick is the quick prompt: a conversation that is not kept unless it moves into the window.
type quick struct {
	open    bool
	chat    *chat
	session int // number of the conversation
	field   string
	rev     int // of the field's text
}

// ofQuick takes the messages of the quick prompt.
func (u *step) ofQuick(m Msg) bool {
	switch m := m.(type) {
	case OpenQuick:
		u.openQuick()
	case ToggleQuick:
		if u.quick.open {
			u.closeQuick()
		} else {
			u.openQuick()
		}
	case CloseQuick:
		u.closeQuick()
	case QuickChanged:
		if !stale(m.Rev, u.quick.rev) {
			u.quick.field = m.Text
		}
	case QuickAsk:
		u.askQuick(m.Text)
	case QuickStop:
		u.stop(u.busy(inQuick, 0))
	case QuickRetry:
		u.answerAgain(inQuick, u.quick.chat, u.quick.chat.head.Leaf)
	case QuickToggleThinking:
		u.toggleThinking(inQuick, u.quick.chat, m.Node)
	case QuickClear:
		u.clearQuick()
	case QuickCopy:
		if n := u.lastQuick(); n != nil {
			u.ui(Copy{u.textOf(inQuick, u.quick.chat, n)})
		}
	case QuickToWindow:
		u.quickToWindow()
	default:
		return false
	}
	return true
}

func (u *step) openQuick() {
	u.quick.open = true
	u.ui(ShowQuick{})
}

// closeQuick hides the prompt and stops its answer; what was said stays for the next time.
func (u *step) closeQuick() {
	if !u.quick.open {
		return
	}
	u.quick.open = false
	u.stop(u.busy(inQuick, 0))
	u.ui(HideQuick{})
}

// canAsk says whether the quick prompt takes a question.
func (s *State) canAsk() bool { return s.started && !s.quit.asked && s.busy(inQuick, 0) == nil }

func (u *step) askQuick(text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	if !u.canAsk() {
		u.ui(Beep{})
		return
	}
	c := u.quick.chat.clone()
	u.quick.field = ""
	u.quick.rev++
	c, said := c.grow(Node{Parent: c.head.Leaf, Role: RoleUser, Content: text, Created: u.now})
	u.ask(inQuick, c, said.ID, said)
}

// clearQuick begins a new conversation.
func (u *step) clearQuick() {
	u.abandon(u.busy(inQuick, 0))
	u.quick.chat = &chat{loaded: true}
	u.quick.session++
	u.quick.field = ""
	u.quick.rev++
}

// lastQuick is the last answer, nil if there is none.
func (s *State) lastQuick() *node {
	n := s.quick.chat.node(s.quick.chat.head.Leaf)
	if n == nil || s.textOf(inQuick, s.quick.chat, n) == "" {
		return nil
	}
	return n
}

// quickToWindow makes a conversation of the store out of the quick prompt. An answer under way goes on there.
func (u *step) quickToWindow() {
	if len(u.quick.chat.nodes) == 0 || !u.started || u.quit.asked {
		u.ui(Beep{})
		return
	}
	u.saveDirty()
	fresh := u.window.fresh // its draft stays
	c := u.adopt(u.quick.chat, u.quick.chat.nodes[0].Content)
	u.window.fresh = fresh
	u.window.rev++
	c.head.Draft = u.quick.field
	u.put(inWindow, c)
	u.do(Save{c.stored(c.nodes...)})
	if j := u.busy(inQuick, 0); j != nil {
		k := *j
		k.door, k.conv = inWindow, c.head.ID
		u.setJob(&k)
		u.savePartial(&k)
	}
	u.quick.open = false
	u.clearQuick()
	u.ui(HideQuick{})
	u.openWindow()
}
