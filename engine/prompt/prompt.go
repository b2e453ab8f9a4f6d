// Package prompt turns messages into prompt text by the checkpoint's own Jinja template, and the text of a reply into
// thinking and content.
//
// What people typed stays text: inside every message, name, argument and tool definition the texts of control tokens
// are broken before the template sees them, so that they are neither parsed as structure nor, by the guards of the
// result, matched as tokens. Values print as Python prints them. Answers that were generated before are spliced in
// as their ids where the template leaves them unchanged. A template is bounded in size, nesting, recursion, loop
// steps, output and time; a single expression inside it is not bounded in memory.
package prompt

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Role says who speaks in a message.
type Role string

// The roles. Developer is another name of System.
const (
	System    Role = "system"
	Developer Role = "developer"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one turn of a conversation.
type Message struct {
	Role    Role
	Content string
	// Name is the tool's in an answer of a tool; optional.
	Name string
	// ToolCallID names the call that a tool answers; optional.
	ToolCallID string
	// Reasoning is the thinking before an assistant's content. If it is empty, a <think> and </think> at the beginning
	// of the content count as structure, not as typed text.
	Reasoning string
	ToolCalls []ToolCall
	// IDs are the tokens that were generated for this answer, without the end token, and Raw is their text. Where the
	// template renders exactly Raw, the ids take its place.
	IDs []int32
	Raw string
}

// ToolCall is a call of a function by an assistant. Arguments is a JSON object, or a JSON string that holds one.
type ToolCall struct {
	ID, Name  string
	Arguments json.RawMessage
}

// Request is what a prompt is made of.
type Request struct {
	Messages []Message
	// Tools are JSON objects as in the OpenAI API, handed to the template in their order.
	Tools []json.RawMessage
	// EnableThinking sets enable_thinking; nil leaves the choice to the template.
	EnableThinking *bool
	// Generate asks for the opening of an assistant's turn at the end.
	Generate bool
	// Options are further variables of the template.
	Options map[string]json.RawMessage
}

// Text is prompt text with the byte ranges [from, to) of S, ascending and disjoint, in which no control token may be
// matched. An empty range is a cut that no control token may span.
type Text struct {
	S      string
	Guards [][2]int
}

// Part is a piece of a prompt: text, or the ids of an earlier answer.
type Part struct {
	Text Text
	IDs  []int32
}

// Prompt is a rendered prompt.
type Prompt struct {
	Parts []Part
	// Thinking says that the prompt ends inside an opened <think>, so that the reply begins there.
	Thinking bool
}

// RefusedError is what a template says when it raises an exception: the conversation does not fit the model.
type RefusedError struct{ Message string }

func (e *RefusedError) Error() string { return "the template refuses: " + e.Message }

// ErrRole is wrapped by the error for a message whose role does not exist.
var ErrRole = errors.New("unknown role")

// ErrLimit is wrapped by errors of templates that ask for too much.
var ErrLimit = errors.New("template exceeds a limit")

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// structure are texts by which templates and models mark structure even where they are no single tokens.
var structure = [...]string{thinkOpen, thinkClose, "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"}

// checked returns the messages with developer turned into system.
func checked(messages []Message) ([]Message, error) {
	out := make([]Message, len(messages))
	for i, m := range messages {
		switch m.Role {
		case System, User, Assistant, Tool:
		case Developer:
			m.Role = System
		default:
			return nil, fmt.Errorf("message %d: %w %q", i, ErrRole, string(m.Role))
		}
		out[i] = m
	}
	return out, nil
}

// divide finds the thinking with which a content begins: the white space and tag before it, and what comes after its
// closing tag.
func divide(content string) (open, reasoning, rest string, ok bool) {
	start := len(content) - len(strings.TrimLeft(content, " \t\r\n"))
	inner, ok := strings.CutPrefix(content[start:], thinkOpen)
	if !ok {
		return "", "", "", false
	}
	reasoning, rest, ok = strings.Cut(inner, thinkClose)
	return content[:start+len(thinkOpen)], reasoning, rest, ok
}
