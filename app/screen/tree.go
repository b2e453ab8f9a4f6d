package screen

import "time"

// ConversationID names a conversation; 0 is one that is not stored yet.
type ConversationID uint64

// NodeID names a message in its conversation, from 1.
type NodeID int

// JobID names an answer that is asked for, from 1, in this run of the program.
type JobID uint64

// Role says whose message a node is.
type Role uint8

// Roles.
const (
	RoleUser Role = iota + 1
	RoleAssistant
)

// Node is a message in the tree of a conversation. Versions of a message are nodes with the same parent and role.
type Node struct {
	ID        NodeID
	Parent    NodeID // 0: first message
	Role      Role
	Content   string
	Reasoning string
	IDs       []int32 // tokens of a finished answer, and Raw their text: engine.Message says what for
	Raw       string
	Figures   Figures
	Thought   time.Duration // time from the first token to the end of the thinking
	Reason    Reason
	Error     string // Reason Failed: what went wrong
	Model     string // that answered
	Created   time.Time
}

// Reason says how an answer ended.
type Reason uint8

// Reasons. A stored answer that is still Partial when it is read was interrupted.
const (
	Complete    Reason = iota // by itself; also every message of the user
	Partial                   // it is still streaming
	Cut                       // the limit of tokens was reached
	Stopped                   // the user stopped it
	Failed                    // an error
	Interrupted               // the program ended while it streamed
)

// Figures are what an answer cost.
type Figures struct {
	Prompt, Cached, Completion  int // tokens
	FirstToken, Prefill, Decode time.Duration
}

// Conversation is a tree of messages and the leaf of the branch that is shown.
type Conversation struct {
	ID      ConversationID
	Title   string // given by the user; "": the first words
	First   string // first words of the first message
	Leaf    NodeID // 0: none
	Draft   string // text in the composer
	Created time.Time
	Used    time.Time // when it was written to last
	Nodes   []Node    // by ID, ascending; parents come before their children
}

// Settings are what the user chose.
type Settings struct {
	Model       string   // name; "": the default one
	System      string   // system prompt, "" for none
	Temperature *float32 // nil: the model's own
	MaxTokens   int      // of an answer; 0: as many as fit
	API         bool
	Port        int
	Folders     []string // of models that were opened, the newest first
}

// Desk is where the user left off.
type Desk struct {
	Selected ConversationID
	Draft    string // of a new conversation
}
