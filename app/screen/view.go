package screen

// View is everything that front ends draw. It is a value and never changes.
type View struct {
	Chat     ChatView
	Quick    QuickView
	Status   StatusView
	Service  ServiceView
	Settings SettingsView
	Quitting bool // [Quit] was asked for; QuitNow follows when all is saved
}

// ChatView is the chat window.
type ChatView struct {
	Open       bool
	Title      string // of the window
	Sidebar    SidebarView
	Transcript TranscriptView
	Composer   ComposerView
	Model      ModelView
	Notice     string // a line above the transcript that asks for attention, "" for none
	CanStop    bool   // the conversation that is shown is being answered
}

// SidebarView is the list of conversations by last use.
type SidebarView struct {
	Days     []DayView
	Selected ConversationID // 0: a new conversation that is not in the list yet
	Empty    string         // what to show instead of an empty list
	Undo     string         // "Deleted ...": shown with a button that sends UndoDelete; "" for none
}

// DayView is one group of the list.
type DayView struct {
	Title string // "Today", "Yesterday", "Monday", "12 March 2026"
	Rows  []ChatRow
}

// ChatRow is one conversation of the list. Rows are comparable.
type ChatRow struct {
	ID    ConversationID
	Title string
	Busy  bool // it is being answered
}

// TranscriptView is the conversation that is shown.
type TranscriptView struct {
	Conversation ConversationID // 0: a new one
	Messages     []MessageView
	Loading      bool   // it is still being read
	EmptyTitle   string // shown when there are no messages
	EmptyText    string
}

// Side says who wrote a message.
type Side uint8

// Sides.
const (
	ByUser Side = iota + 1
	ByModel
)

// MessageView is one message of the transcript.
type MessageView struct {
	ID        NodeID // of the node; stable while the message exists
	Side      Side
	Blocks    []Block
	Thinking  ThinkingView
	Streaming bool   // more is coming
	Waiting   string // what the answer waits for while there is no text: "Reading 120 of 400 tokens"
	Note      string // "Stopped", "Interrupted", "Cut off: ...", "" if it ended by itself
	Figures   string // the line under an answer, "" while there are none
	Error     ErrorView

	Version, Versions int // 2, 3 for "2/3"; a switcher is shown for more than one

	CanCopy, CanEdit, CanRegenerate bool
}

// ThinkingView is the thinking before an answer.
type ThinkingView struct {
	Shown  bool   // there is some
	Title  string // "Thinking", "Thought for 12 s"
	Open   bool
	Blocks []Block // empty while folded
}

// ErrorView is an error shown in its place.
type ErrorView struct {
	Text  string // "" for none
	Retry bool   // offer to try again
}

// ComposerView is where messages are written. The front end owns the text while the user types and tells every change;
// it lays Text into the field only when Rev differs from the one that it laid in last.
type ComposerView struct {
	Text        string
	Rev         int
	Placeholder string
	Editing     bool   // an earlier message is being edited; offer CancelEdit
	CanSend     bool   // Send with text would be obeyed
	Why         string // why not, "" if it can
}

// ModelState says how the model is.
type ModelState uint8

// States of the model.
const (
	ModelNone ModelState = iota // nothing was asked for yet
	ModelIsLoading
	ModelIsReady
	ModelHasFailed
)

// ModelView is the state of the model in the window.
type ModelView struct {
	State   ModelState
	Name    string
	Text    string // "qwen-tiny", "Packing qwen-tiny: 42 %", an error
	Percent int    // of loading, 0 to 100
	Note    string // one sentence about the model, "" for none
	Retry   bool   // offer RetryModel
}

// QuickView is the quick prompt.
type QuickView struct {
	Open        bool
	Session     int       // number of the conversation: messages of another one have the same IDs
	Field       FieldView // its Rev works as the composer's
	Placeholder string
	Messages    []MessageView // questions and answers, oldest first
	Streaming   bool
	Hint        string // a line under the field: the model's state while it is not ready, "" otherwise
	CanAsk      bool
	CanCopy     bool
	CanMove     bool // QuickToWindow would be obeyed
}

// StatusIcon says what the status item shows.
type StatusIcon uint8

// Icons.
const (
	IconIdle StatusIcon = iota
	IconLoading
	IconGenerating
	IconError
)

// StatusView is the status item.
type StatusView struct {
	Icon    StatusIcon
	Title   string // beside the icon: "42 %", "38 tok/s", "" for none
	Tooltip string
	// Menu stays as it is from MenuOpened to MenuClosed. A front end may replace its menu whenever MenuRev differs.
	Menu    []MenuItem
	MenuRev int
}

// MenuID names an item of the status menu.
type MenuID uint8

// Items.
const (
	MenuText MenuID = iota // says something, cannot be chosen
	MenuSeparator
	MenuOpen
	MenuQuick
	MenuStop
	MenuAPI
	MenuSettings
	MenuQuit
)

// MenuItem is one item. Items are comparable.
type MenuItem struct {
	ID      MenuID
	Title   string
	Enabled bool
	Checked bool
}

// ServiceKind is what is to be done with selected text.
type ServiceKind uint8

// Kinds.
const (
	Explain ServiceKind = iota + 1
	Summarise
	Proofread
)

// ServiceView is the panel of a service call.
type ServiceView struct {
	Open      bool
	Call      int
	Kind      ServiceKind
	Title     string // "Explain"
	Source    string // the selected text, shortened
	Answer    MessageView
	Streaming bool

	CanReplace, CanCopy, CanRetry bool
}

// Field names a text field of the settings.
type Field uint8

// Fields.
const (
	FieldSystem Field = iota
	FieldTemperature
	FieldMaxTokens
	FieldPort
)

// FieldView is a text field. Rev works as the composer's.
type FieldView struct {
	Text        string
	Rev         int
	Placeholder string
	Error       string // why the text is not taken; "" if it is
}

// ModelChoice is a model that can be chosen.
type ModelChoice struct{ Name, Title string }

// SettingsView is the settings window.
type SettingsView struct {
	Open                                 bool
	Models                               []ModelChoice
	Model                                string // name of the chosen one
	System, Temperature, MaxTokens, Port FieldView
	APIOn                                bool
	APIText                              string // "Off", "Listening on http://127.0.0.1:11500", an error
	APIFailed                            bool
}
