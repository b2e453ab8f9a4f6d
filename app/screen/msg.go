package screen

import (
	"time"

	"sotto/engine"
)

// Msg is something that happened: a front end, the engine, the store or the clock tells it.
type Msg interface{ msg() }

// Messages of the chat window.
type (
	// NewChat shows an empty conversation.
	NewChat struct{}
	// SelectChat shows a conversation of the list.
	SelectChat struct{ ID ConversationID }
	// StepChat shows the next (1) or previous (-1) conversation of the list.
	StepChat struct{ By int }
	// DeleteChat deletes a conversation; [UndoDelete] brings it back for a while.
	DeleteChat struct{ ID ConversationID }
	// UndoDelete brings back the conversation that was deleted last.
	UndoDelete struct{}
	// DismissUndo makes the last deletion final.
	DismissUndo struct{}
	// RenameChat gives a conversation a title; an empty one brings back the first words.
	RenameChat struct {
		ID    ConversationID
		Title string
	}
	// ComposerChanged tells the composer's text after every change that the user made. Rev is that of the text that was
	// shown: what was typed over a text that has been replaced since is dropped. 0: whatever is shown.
	ComposerChanged struct {
		Text string
		Rev  int
	}
	// Send sends the composer's text, which comes along, with its Rev as above.
	Send struct {
		Text string
		Rev  int
	}
	// Stop ends the answer of the conversation that is shown.
	Stop struct{}
	// Regenerate answers again, beside the answer that there is.
	Regenerate struct{ Node NodeID }
	// Retry answers again after an error, in place of the failed answer's text.
	Retry struct{ Node NodeID }
	// EditMessage lays a message of the user into the composer; sending it then makes a new version beside it.
	EditMessage struct{ Node NodeID }
	// CancelEdit gives the composer back its draft.
	CancelEdit struct{}
	// StepVersion shows the next (1) or previous (-1) version of a message.
	StepVersion struct {
		Node NodeID
		By   int
	}
	// ToggleThinking opens or folds the thinking of an answer.
	ToggleThinking struct{ Node NodeID }
	// CopyMessage copies the text of a message.
	CopyMessage struct{ Node NodeID }
	// CopyBlock copies one code block.
	CopyBlock struct {
		Node  NodeID
		Block int
	}
	// ClickLink opens a link of a message.
	ClickLink struct{ URL string }
	// DismissNotice takes the notice away.
	DismissNotice struct{}
	// OpenWindow shows the chat window.
	OpenWindow struct{}
	// WindowClosed tells that the user closed the chat window.
	WindowClosed struct{}
	// RetryModel loads the model again after an error.
	RetryModel struct{}
)

// Messages of the quick prompt.
type (
	// OpenQuick opens the quick prompt; what it showed before is still there.
	OpenQuick struct{}
	// ToggleQuick opens it or, where it is open, closes it.
	ToggleQuick struct{}
	// CloseQuick hides it and stops its answer.
	CloseQuick struct{}
	// QuickChanged tells the field's text after every change that the user made, with its Rev as above.
	QuickChanged struct {
		Text string
		Rev  int
	}
	// QuickAsk asks the field's text, which comes along, or follows up on what was asked before.
	QuickAsk struct{ Text string }
	// QuickStop ends the answer.
	QuickStop struct{}
	// QuickRetry asks again after an error.
	QuickRetry struct{}
	// QuickToggleThinking opens or folds the thinking of an answer.
	QuickToggleThinking struct{ Node NodeID }
	// QuickClear begins anew.
	QuickClear struct{}
	// QuickCopy copies the last answer.
	QuickCopy struct{}
	// QuickToWindow makes a conversation of it and shows that in the window.
	QuickToWindow struct{}
)

// Messages of the status item.
type (
	// MenuOpened tells that the status item's menu is open: it must not change now.
	MenuOpened struct{}
	// MenuClosed tells that it is closed.
	MenuClosed struct{}
	// MenuChosen tells that an item was chosen. It may come before or after MenuClosed.
	MenuChosen struct{ ID MenuID }
	// StopAll ends every answer of the windows.
	StopAll struct{}
	// Quit asks to end the program. The answer is [QuitNow].
	Quit struct{}
)

// Messages of a service call.
type (
	// ServiceCall asks for something about text that is selected in another program.
	ServiceCall struct {
		Call       int // number of the call, given by the front end
		Kind       ServiceKind
		Text       string
		CanReplace bool // the other program takes text back
	}
	// ServiceReplace gives the answer to the program that called.
	ServiceReplace struct{}
	// ServiceExpired says that the program of call Call waits no longer: its selection stays as it is.
	ServiceExpired struct{ Call int }
	// ServiceCopy copies the answer.
	ServiceCopy struct{}
	// ServiceStop ends the answer and keeps the panel.
	ServiceStop struct{}
	// ServiceRetry asks again.
	ServiceRetry struct{}
	// ServiceToggleThinking opens or folds the thinking of the answer.
	ServiceToggleThinking struct{ Node NodeID }
	// ServiceCancel ends the answer and closes the panel.
	ServiceCancel struct{}
)

// Messages of the settings.
type (
	// OpenSettings shows the settings.
	OpenSettings struct{}
	// SettingsClosed tells that the user closed them.
	SettingsClosed struct{}
	// SetModel chooses a model by its name.
	SetModel struct{ Name string }
	// ChooseFolder asks for the folder of a model, by [AskFolder].
	ChooseFolder struct{}
	// FolderChosen answers [AskFolder]; "": none was chosen.
	FolderChosen struct{ Path string }
	// FoldersSeen answers [LookForFolders].
	FoldersSeen struct{ Gone []string } // those that are not there
	// SetField tells the text of a field after every change that the user made.
	SetField struct {
		Field Field
		Text  string
	}
	// FieldDone tells that the user has ended typing in a field.
	FieldDone struct{ Field Field }
	// SetAPI switches the API on or off.
	SetAPI struct{ On bool }
)

// Messages of the engine.
type (
	// ModelLoading tells how far the model is read.
	ModelLoading struct {
		Load        int // of [LoadModel]; here and below messages of older ones are ignored
		Name        string
		Stage       string // as engine.Loading has it
		Done, Total int64
	}
	// ModelReady tells that the model can answer.
	ModelReady struct {
		Load  int
		Model ModelInfo
	}
	// ModelFailed tells that it cannot be opened.
	ModelFailed struct {
		Load int
		Name string
		Err  error
	}
	// Answered is an event of an answer that was asked for by [Generate].
	Answered struct {
		Job   JobID
		At    time.Time
		Event engine.Event
	}
	// AnswerFailed ends an answer.
	AnswerFailed struct {
		Job JobID
		At  time.Time
		Err error
	}
	// Serving tells whom the engine answers now: a door's name, "" for nobody.
	Serving struct{ Door string }
	// APIChanged tells the state of the API server.
	APIChanged struct {
		On      bool
		Address string // where it listens, as host:port
		Err     error  // why it does not
	}
)

// ModelInfo describes a model that is open.
type ModelInfo struct {
	Name string
	Note string // one sentence, "" if there is nothing to say
	Tiny bool   // a demonstration model
	Info engine.Info
}

// Unread says what of the store was not read and may be whole: it must not be written over.
type Unread struct{ Conversations, Settings, Desk bool }

// Messages of the store and the clock.
type (
	// Loaded is what the store holds at the start.
	Loaded struct {
		Conversations []Conversation // without nodes
		Settings      Settings
		Models        []ModelChoice
		Model         string // of this run, "": that of the settings
		Desk          Desk
		Damaged       int            // conversations that were set aside
		LastID        ConversationID // newest ever given, also to what cannot be read
		Err           error          // why something cannot be read
		Unread        Unread         // what that is
		Undeleted     error          // why what was deleted in the last run is still on the disk
	}
	// ConversationLoaded brings the nodes of a conversation.
	ConversationLoaded struct {
		Conversation Conversation
		Damaged      int    // messages that cannot be read
		LastNode     NodeID // newest that was ever given, also to what cannot be read
	}
	// ConversationFailed tells that a conversation cannot be read; it has been set aside.
	ConversationFailed struct {
		ID  ConversationID
		Err error
	}
	// SaveFailed tells that the store could not write. What was to be written is tried again.
	SaveFailed struct{ Err error }
	// SaveRecovered tells that everything is written again.
	SaveRecovered struct{}
	// Flushed answers [Flush].
	Flushed struct{ Err error }
	// Tick tells the time, in the zone whose days count. It comes before other messages, and when [Wake] asks for it.
	Tick struct{ Now time.Time }
)

func (NewChat) msg()               {}
func (SelectChat) msg()            {}
func (StepChat) msg()              {}
func (DeleteChat) msg()            {}
func (UndoDelete) msg()            {}
func (DismissUndo) msg()           {}
func (RenameChat) msg()            {}
func (ComposerChanged) msg()       {}
func (Send) msg()                  {}
func (Stop) msg()                  {}
func (Regenerate) msg()            {}
func (Retry) msg()                 {}
func (EditMessage) msg()           {}
func (CancelEdit) msg()            {}
func (StepVersion) msg()           {}
func (ToggleThinking) msg()        {}
func (CopyMessage) msg()           {}
func (CopyBlock) msg()             {}
func (ClickLink) msg()             {}
func (DismissNotice) msg()         {}
func (OpenWindow) msg()            {}
func (WindowClosed) msg()          {}
func (RetryModel) msg()            {}
func (OpenQuick) msg()             {}
func (ToggleQuick) msg()           {}
func (CloseQuick) msg()            {}
func (QuickChanged) msg()          {}
func (QuickAsk) msg()              {}
func (QuickStop) msg()             {}
func (QuickRetry) msg()            {}
func (QuickToggleThinking) msg()   {}
func (QuickClear) msg()            {}
func (QuickCopy) msg()             {}
func (QuickToWindow) msg()         {}
func (MenuOpened) msg()            {}
func (MenuClosed) msg()            {}
func (MenuChosen) msg()            {}
func (StopAll) msg()               {}
func (Quit) msg()                  {}
func (ServiceCall) msg()           {}
func (ServiceReplace) msg()        {}
func (ServiceExpired) msg()        {}
func (ServiceCopy) msg()           {}
func (ServiceStop) msg()           {}
func (ServiceRetry) msg()          {}
func (ServiceToggleThinking) msg() {}
func (ServiceCancel) msg()         {}
func (OpenSettings) msg()          {}
func (SettingsClosed) msg()        {}
func (SetModel) msg()              {}
func (SetField) msg()              {}
func (FieldDone) msg()             {}
func (ChooseFolder) msg()          {}
func (FolderChosen) msg()          {}
func (FoldersSeen) msg()           {}
func (SetAPI) msg()                {}
func (ModelLoading) msg()          {}
func (ModelReady) msg()            {}
func (ModelFailed) msg()           {}
func (Answered) msg()              {}
func (AnswerFailed) msg()          {}
func (APIChanged) msg()            {}
func (Serving) msg()               {}
func (Loaded) msg()                {}
func (ConversationLoaded) msg()    {}
func (ConversationFailed) msg()    {}
func (SaveFailed) msg()            {}
func (SaveRecovered) msg()         {}
func (Flushed) msg()               {}
func (Tick) msg()                  {}
