package screen

import (
	"fmt"
	"strconv"

	"sotto/engine"
)

// Show makes the view of a state.
func Show(s State) View {
	return View{
		Chat: s.showChat(), Quick: s.showQuick(), Status: s.showStatus(), Service: s.showService(),
		Settings: s.showSettings(), Quitting: s.quit.asked,
	}
}

func (s *State) showChat() ChatView {
	c := s.shown()
	busy := s.busy(inWindow, c.head.ID)
	v := ChatView{
		Open: s.window.open, Title: c.title(), Transcript: s.showTranscript(c), Composer: s.showComposer(c),
		Model: s.showModel(), Notice: s.notice, CanStop: busy != nil && !busy.stopping,
		Sidebar: SidebarView{Days: s.sidebar, Selected: s.window.selected},
	}
	if !s.saveErrRead && s.notice == "" {
		v.Notice = s.saveErr
	}
	if len(s.sidebar) == 0 && s.started && !s.unread.Conversations {
		v.Sidebar.Empty = "No conversations yet"
	}
	if s.trash.chat != nil {
		v.Sidebar.Undo = "Deleted “" + s.trash.chat.title() + "”"
	}
	return v
}

func (s *State) showTranscript(c *chat) TranscriptView {
	v := TranscriptView{Conversation: c.head.ID, Loading: !c.loaded && c.broken == "" || !s.started}
	v.Messages = s.showMessages(inWindow, c)
	switch {
	case v.Loading || len(v.Messages) > 0:
	case c.broken != "":
		v.EmptyTitle, v.EmptyText = "Damaged", c.broken
	default:
		v.EmptyTitle, v.EmptyText = "Ask something", "Answers are made on this machine, by "+s.modelName()+"."
		if s.model.state == ModelIsReady && s.model.info.Note != "" {
			v.EmptyText = s.modelName() + " is " + s.model.info.Note + "."
		}
		if i := s.model.info.Info; s.model.state == ModelIsReady && i.Window < i.WholeWindow {
			v.EmptyText += fmt.Sprintf(" This machine's memory has room for %s at a time, the model could read %s.",
				count(i.Window, "token"), thousands(i.WholeWindow))
		}
	}
	return v
}

func (s *State) showComposer(c *chat) ComposerView {
	v := ComposerView{
		Text: c.head.Draft, Rev: s.window.rev, Placeholder: "Message " + s.modelName(), Editing: c.editing != 0,
		Why: s.cannotSend(),
	}
	if v.Editing {
		v.Text = c.edit
	}
	v.CanSend = v.Why == ""
	return v
}

func (s *State) showModel() ModelView {
	v := ModelView{State: s.model.state, Name: s.model.name, Text: s.modelName()}
	switch s.model.state {
	case ModelIsLoading:
		v.Percent = s.model.percent
		v.Text = s.loadingText()
	case ModelIsReady:
		v.Percent, v.Note = 100, s.model.info.Note
	case ModelHasFailed:
		v.Text, v.Retry = s.model.err, true
	default:
		v.Text = ""
	}
	return v
}

func (s *State) loadingText() string {
	if s.model.percent == 0 {
		return s.loading()
	}
	return fmt.Sprintf("%s: %d %%", s.loading(), s.model.percent)
}

// loading says what is being done to the model.
func (s *State) loading() string {
	switch s.model.stage {
	case engine.StageCompiling:
		return "Compiling kernels for " + s.modelName()
	case engine.StagePacking:
		return "Packing " + s.modelName()
	case engine.StageVerifying:
		return "Checking " + s.modelName()
	}
	return "Loading " + s.modelName()
}

// showMessages are the messages of the branch that is shown.
func (s *State) showMessages(d door, c *chat) []MessageView {
	busy := s.busy(d, c.head.ID)
	path := c.path(c.head.Leaf)
	out := make([]MessageView, 0, len(path))
	for _, n := range path {
		v := MessageView{ID: n.ID, Side: ByUser, Blocks: n.body, CanCopy: n.Content != ""}
		list, at := c.versions(n)
		v.Version, v.Versions = at+1, len(list)
		if n.Role == RoleUser {
			v.CanEdit = d == inWindow && busy == nil
		} else {
			s.showAnswer(&v, n, busy)
			v.CanRegenerate = d == inWindow && busy == nil && !v.Error.Retry
		}
		out = append(out, v)
	}
	return out
}

// showAnswer fills in what only answers have. busy is the answer under way in the conversation, or nil.
func (s *State) showAnswer(v *MessageView, n *node, busy *job) {
	v.Side = ByModel
	thinking, thought, done := n.thinking, n.Thought, true
	if busy != nil && busy.node == n.ID {
		v.Streaming, v.Blocks, v.CanCopy = true, busy.body.Blocks(), busy.content != ""
		thinking, thought, done = busy.thinking.Blocks(), busy.thinkingTime(s.now), !busy.thought.IsZero()
		v.Waiting = s.waiting(busy)
	} else {
		v.Figures = figuresText(n.Model, n.Figures)
		switch n.Reason {
		case Cut:
			v.Note = "Cut off: the limit of tokens was reached"
		case Stopped:
			v.Note = "Stopped"
		case Interrupted, Partial:
			v.Note = "Interrupted: Sotto ended while this was written"
		case Failed:
			v.Error = ErrorView{Text: n.Error, Retry: true}
		case Complete:
		}
	}
	if len(thinking) > 0 {
		v.Thinking = ThinkingView{Shown: true, Title: thoughtText(thought, done), Open: n.open}
		if n.open {
			v.Thinking.Blocks = thinking
		}
	}
}

// waiting says what an answer waits for before its first text.
func (s *State) waiting(j *job) string {
	switch {
	case j.content != "" || j.reasoning != "":
		return ""
	case j.stopping:
		return "Stopping"
	case !j.sent && s.model.state == ModelIsLoading:
		return s.loadingText()
	case j.total > 0:
		return fmt.Sprintf("Reading %s of %s", thousands(j.read), count(j.total, "token"))
	}
	return "Waiting for the model"
}

func (s *State) showQuick() QuickView {
	v := QuickView{
		Open: s.quick.open, Session: s.quick.session, Messages: s.showMessages(inQuick, s.quick.chat),
		Field: FieldView{Text: s.quick.field, Rev: s.quick.rev}, Placeholder: "Ask " + s.modelName(),
		Streaming: s.busy(inQuick, 0) != nil, CanAsk: s.canAsk(), CanCopy: s.lastQuick() != nil,
		CanMove: len(s.quick.chat.nodes) > 0,
	}
	if len(v.Messages) > 0 {
		v.Placeholder = "Follow up"
	}
	switch s.model.state {
	case ModelIsLoading:
		v.Hint = s.loadingText()
	case ModelHasFailed:
		v.Hint = s.model.err
	default:
	}
	return v
}

func (s *State) showService() ServiceView {
	c := s.service.chat
	if c == nil {
		return ServiceView{}
	}
	v := ServiceView{
		Open: s.service.open, Call: s.service.call, Kind: s.service.kind, Title: s.service.kind.name(),
		Source: s.service.quote, CanReplace: s.canReplace(), CanCopy: s.result() != nil,
	}
	if list := s.showMessages(inService, c); len(list) > 1 {
		v.Answer = list[1]
	}
	v.Streaming = v.Answer.Streaming
	v.CanRetry = v.Open && !v.Streaming && s.service.refused == ""
	if s.service.refused != "" {
		v.Answer.Error.Retry = false
	}
	return v
}

func (s *State) showSettings() SettingsView {
	field := func(f Field, placeholder string) FieldView {
		return FieldView{
			Text: s.settings.text[f], Rev: s.settings.rev[f], Placeholder: placeholder, Error: s.settings.problem[f],
		}
	}
	v := SettingsView{
		Open: s.settings.open, Models: s.settings.choices(), Model: s.settings.chosen(),
		System:      field(FieldSystem, "None"),
		Temperature: field(FieldTemperature, "The model's own"),
		MaxTokens:   field(FieldMaxTokens, "As many as fit"),
		Port:        field(FieldPort, strconv.Itoa(DefaultPort)),
		APIOn:       s.settings.API,
		APIText:     "Off",
	}
	switch {
	case s.settings.API && s.settings.apiErr != "":
		v.APIText, v.APIFailed = s.settings.apiErr, true
	case s.settings.API && s.settings.address != "":
		v.APIText = "Listening on http://" + s.settings.address
	case s.settings.API:
		v.APIText = "Starting"
	}
	return v
}
