package screen

import "sotto/engine"

// Effect is something that the owner of a [State] is asked to do. None of them may be waited for; what comes of them
// comes back as messages.
type Effect interface{ effect() }

// Effects.
type (
	// Generate asks the engine for an answer: [Answered] messages, then nothing more after Finished, or AnswerFailed.
	Generate struct {
		Job     JobID
		Door    string // who asks
		Request engine.Request
	}
	// Cancel ends an answer. Its last events still come.
	Cancel struct{ Job JobID }
	// LoadModel opens a model in place of the one that is open.
	LoadModel struct {
		Name string // "": the default one
		Load int    // number of this request
	}
	// LookForFolders asks which folders are there: [FoldersSeen].
	LookForFolders struct{ Folders []string }
	// ServeAPI switches the API on or off.
	ServeAPI struct {
		On   bool
		Port int
	}
	// LoadConversation reads the nodes of a conversation.
	LoadConversation struct{ ID ConversationID }
	// Save writes a conversation's head and those of its nodes that are given.
	Save struct{ Conversation Conversation }
	// Trash hides a conversation from the list of the store.
	Trash struct{ ID ConversationID }
	// Restore brings it back.
	Restore struct{ ID ConversationID }
	// Purge deletes it for good.
	Purge struct{ ID ConversationID }
	// SaveSettings writes the settings.
	SaveSettings struct{ Settings Settings }
	// SaveDesk writes where the user is.
	SaveDesk struct{ Desk Desk }
	// Flush asks for [Flushed] when everything before it is written or has failed.
	Flush struct{}
	// UI asks a front end for something.
	UI struct{ Command Command }
)

func (Generate) effect()         {}
func (Cancel) effect()           {}
func (LoadModel) effect()        {}
func (LookForFolders) effect()   {}
func (ServeAPI) effect()         {}
func (LoadConversation) effect() {}
func (Save) effect()             {}
func (Trash) effect()            {}
func (Restore) effect()          {}
func (Purge) effect()            {}
func (SaveSettings) effect()     {}
func (SaveDesk) effect()         {}
func (Flush) effect()            {}
func (UI) effect()               {}
