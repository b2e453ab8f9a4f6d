package screen

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// undoFor is how long a deleted conversation can be brought back.
const undoFor = 30 * time.Second

// window is the chat window.
type window struct {
	open     bool
	selected ConversationID // 0: the fresh one
	fresh    *chat          // a conversation that nothing was said in yet
	rev      int            // of the composer's text
}

// bin holds the conversation that was deleted last.
type bin struct {
	chat  *chat
	until time.Time
}

// ofWindow takes the messages of the chat window.
func (u *step) ofWindow(m Msg) bool {
	switch m := m.(type) {
	case NewChat:
		u.selectChat(0)
		u.ui(FocusComposer{})
	case SelectChat:
		u.selectChat(m.ID)
	case StepChat:
		u.stepChat(m.By)
	case DeleteChat:
		u.deleteChat(m.ID)
	case UndoDelete:
		u.undoDelete()
	case DismissUndo:
		u.emptyBin()
	case RenameChat:
		u.rename(m.ID, m.Title)
	case ComposerChanged:
		u.compose(m)
	case Send:
		u.send(m)
	case OpenWindow:
		u.openWindow()
	case WindowClosed:
		u.window.open = false
		u.saveDirty()
	case DismissNotice:
		u.saveErrRead = u.saveErrRead || u.notice == ""
		u.notice = ""
	case ClickLink:
		u.clickLink(m.URL)
	default:
		return u.ofTranscript(m)
	}
	return true
}

// ofTranscript takes the messages about a message of the transcript.
func (u *step) ofTranscript(m Msg) bool {
	switch m := m.(type) {
	case Stop:
		u.stop(u.busy(inWindow, u.window.selected))
	case Regenerate:
		u.answerAgain(inWindow, u.shown(), m.Node)
	case Retry:
		u.answerAgain(inWindow, u.shown(), m.Node)
	case EditMessage:
		u.edit(m.Node)
	case CancelEdit:
		u.cancelEdit()
	case StepVersion:
		u.stepVersion(m.Node, m.By)
	case ToggleThinking:
		u.toggleThinking(inWindow, u.shown(), m.Node)
	case CopyMessage:
		if n := u.shown().node(m.Node); n != nil {
			u.ui(Copy{u.textOf(inWindow, u.shown(), n)})
		}
	case CopyBlock:
		u.copyBlock(m)
	default:
		return false
	}
	return true
}

func (u *step) toggleThinking(d door, c *chat, id NodeID) {
	if n := c.node(id); n != nil {
		k := *n
		k.open = !n.open
		u.put(d, c.with(&k))
	}
}

// textOf is the text of a message as it is now.
func (s *State) textOf(d door, c *chat, n *node) string {
	if j := s.busy(d, c.head.ID); j != nil && j.node == n.ID {
		return j.content
	}
	return n.Content
}

func (u *step) copyBlock(m CopyBlock) {
	c := u.shown()
	n := c.node(m.Node)
	if n == nil {
		return
	}
	blocks := n.body
	if j := u.busy(inWindow, c.head.ID); j != nil && j.node == n.ID {
		blocks = j.body.Blocks()
	}
	if m.Block >= 0 && m.Block < len(blocks) && blocks[m.Block].Kind == Code {
		u.ui(Copy{blocks[m.Block].Text})
	}
}

func (u *step) openWindow() {
	u.window.open = true
	u.ui(ShowWindow{})
}

// selectChat shows a conversation and asks for its messages.
func (u *step) selectChat(id ConversationID) {
	if id != 0 && u.index(id) < 0 {
		return
	}
	u.saveDirty()
	if u.window.selected != id {
		u.window.selected = id
		u.window.rev++
		u.saveDesk()
	}
	u.load(u.shown())
}

// load asks for the messages of a conversation once.
func (u *step) load(c *chat) {
	if c.loaded || c.asked || c.head.ID == 0 {
		return
	}
	d := c.clone()
	d.asked = true
	u.put(inWindow, d)
	u.do(LoadConversation{c.head.ID})
}

// saveDesk keeps where the user is; not in place of what could not be read.
func (u *step) saveDesk() {
	if !u.unread.Desk {
		u.do(SaveDesk{Desk{Selected: u.window.selected, Draft: u.window.fresh.head.Draft}})
	}
}

// order is the list from top to bottom.
func (s *State) order() []ConversationID {
	var out []ConversationID
	for _, d := range s.sidebar {
		for _, r := range d.Rows {
			out = append(out, r.ID)
		}
	}
	return out
}

func (u *step) stepChat(by int) {
	list := u.order()
	if len(list) == 0 {
		return
	}
	at := slices.Index(list, u.window.selected)
	if at < 0 && by < 0 {
		return // above the first one
	}
	u.selectChat(list[min(max(at+by, 0), len(list)-1)])
}

// deleteChat hides a conversation; the store forgets it when it cannot be brought back any more.
func (u *step) deleteChat(id ConversationID) {
	i := u.index(id)
	if i < 0 {
		return
	}
	u.emptyBin()
	u.abandon(u.busy(inWindow, id))
	list := u.order()
	c := u.chats[u.index(id)]
	u.chats = slices.DeleteFunc(slices.Clone(u.chats), func(c *chat) bool { return c.head.ID == id })
	u.trash = bin{c, u.now.Add(undoFor)}
	u.listed = true
	u.do(Trash{id})
	if u.window.selected != id {
		return
	}
	next := ConversationID(0)
	if at := slices.Index(list, id); at >= 0 {
		if list = slices.Delete(list, at, at+1); len(list) > 0 {
			next = list[min(at, len(list)-1)]
		}
	}
	u.selectChat(next)
}

func (u *step) undoDelete() {
	c := u.trash.chat
	if c == nil {
		return
	}
	u.trash = bin{}
	u.put(inWindow, c)
	u.do(Restore{c.head.ID})
	u.selectChat(c.head.ID)
}

// emptyBin makes the last deletion final.
func (u *step) emptyBin() {
	if c := u.trash.chat; c != nil {
		u.trash = bin{}
		u.do(Purge{c.head.ID})
	}
}

// longestTitle is in characters.
const longestTitle = 120

func (u *step) rename(id ConversationID, title string) {
	i := u.index(id)
	if i < 0 {
		return
	}
	c := u.chats[i].clone()
	c.head.Title = shorten(strings.Join(strings.Fields(title), " "), longestTitle)
	u.put(inWindow, c)
	u.save(inWindow, c)
}

// stale says whether a text was typed over one that is not in the field any more.
func stale(rev, now int) bool { return rev != 0 && rev != now }

// compose keeps the composer's text.
func (u *step) compose(m ComposerChanged) {
	if stale(m.Rev, u.window.rev) {
		return
	}
	c := u.shown().clone()
	if c.editing != 0 {
		c.edit = m.Text
		u.put(inWindow, c)
		return
	}
	c.head.Draft = m.Text
	u.put(inWindow, c)
	u.markDraft(c.head.ID)
}

// cannotSend says why nothing can be sent now, "" if it can.
func (s *State) cannotSend() string {
	c := s.shown()
	switch {
	case s.quit.asked:
		return "Sotto is closing"
	case !s.started:
		return "Sotto is starting"
	case c.broken != "":
		return c.broken
	case !c.loaded:
		return "The conversation is being read"
	case s.busy(inWindow, c.head.ID) != nil:
		return "The answer is not finished"
	}
	return ""
}

// send puts a message of the user into the tree and asks for an answer.
func (u *step) send(m Send) {
	text := strings.TrimSpace(m.Text)
	if text == "" {
		return
	}
	if u.cannotSend() != "" || stale(m.Rev, u.window.rev) {
		u.ui(Beep{})
		return
	}
	c := u.shown().clone()
	parent := c.head.Leaf
	if c.editing != 0 {
		parent = c.node(c.editing).Parent
		c.editing, c.edit = 0, ""
	} else {
		c.head.Draft = ""
	}
	u.window.rev++
	if c.head.ID == 0 {
		c = u.adopt(c, text)
	}
	c, said := c.grow(Node{Parent: parent, Role: RoleUser, Content: text, Created: u.now})
	u.ask(inWindow, c, said.ID, said)
}

// adopt makes a conversation of the store out of one that begins with text, and shows it.
func (u *step) adopt(c *chat, text string) *chat {
	u.lastID++
	c = c.clone()
	c.head.ID, c.head.First, c.head.Created, c.head.Used = u.lastID, firstWords(text), u.now, u.now
	u.window.selected = c.head.ID
	u.window.fresh = &chat{loaded: true}
	u.saveDesk()
	return c
}

// edit lays a message of the user into the composer.
func (u *step) edit(id NodeID) {
	c := u.shown()
	n := c.node(id)
	if n == nil || n.Role != RoleUser || u.busy(inWindow, c.head.ID) != nil {
		u.ui(Beep{})
		return
	}
	c = c.clone()
	c.editing, c.edit = id, n.Content
	u.put(inWindow, c)
	u.window.rev++
	u.ui(FocusComposer{})
}

func (u *step) cancelEdit() {
	if c := u.shown().clone(); c.editing != 0 {
		c.editing, c.edit = 0, ""
		u.put(inWindow, c)
		u.window.rev++
	}
}

// stepVersion shows another version of a message and the newest branch below it.
func (u *step) stepVersion(id NodeID, by int) {
	c := u.shown()
	n := c.node(id)
	if n == nil {
		return
	}
	list, at := c.versions(n)
	to := at + by
	if to < 0 || to >= len(list) {
		return
	}
	c = c.clone()
	c.head.Leaf = c.deepest(list[to])
	u.put(inWindow, c)
	u.save(inWindow, c)
}

// clickLink opens what a browser or a mail program may be given.
func (u *step) clickLink(target string) {
	link, err := url.Parse(target)
	if err == nil && slices.Contains([]string{"http", "https", "mailto"}, strings.ToLower(link.Scheme)) {
		u.ui(OpenURL{target})
		return
	}
	u.ui(Beep{})
}
