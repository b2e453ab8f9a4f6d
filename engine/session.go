package engine

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"sotto/engine/prompt"
	"sotto/engine/run"
	"sotto/engine/sample"
	"sotto/engine/token"
)

// Message is one turn of a conversation.
type Message = prompt.Message

// Role says who speaks in a message.
type Role = prompt.Role

// ToolCall is a call of a function in a message of the assistant.
type ToolCall = prompt.ToolCall

// Roles of messages.
const (
	System    = prompt.System
	Developer = prompt.Developer // another name of System
	User      = prompt.User
	Assistant = prompt.Assistant
	Tool      = prompt.Tool
)

// ErrClosed is returned by requests to an engine that has been closed.
var ErrClosed = run.ErrClosed

// PromptError says that no prompt can be made of a request: its messages do not fit the model's template.
type PromptError struct{ Err error }

func (e *PromptError) Error() string { return e.Err.Error() }

func (e *PromptError) Unwrap() error { return e.Err }

// WindowError says that a prompt does not fit.
type WindowError = run.WindowError

// Reasons why an answer ended.
const (
	ReasonStop      = "stop"
	ReasonLength    = "length"
	ReasonCancelled = "cancelled"
)

// Request asks for an answer: to Messages by the model's template, or, if Messages is empty, as a continuation of
// Raw, in which control tokens are recognised.
type Request struct {
	Messages  []Message
	Raw       string
	Thinking  *bool // nil: the template's own choice
	Sampling  sample.Settings
	MaxTokens int      // 0: as many as the window holds
	Stop      []string // texts that end the answer before them
	Logprobs  bool
	Alts      int // alternatives with log-probabilities, at most kernels.MaxAlternatives
	// Census counts live neurons: Result.Neurons. It is a diagnosis and slows the answer down.
	Census bool
	// Times measures decode by parts of the model: Result.Times. It slows the answer down.
	Times bool
}

// PartTime is the time that decode took for one part of the model.
type PartTime = run.PartTime

// Neurons is what a census found in one layer of sparse experts.
type Neurons = run.Neurons

// EventKind tells the kinds of Event apart.
type EventKind uint8

// Kinds of events.
const (
	Reading  EventKind = iota + 1 // part of the prompt was read
	Text                          // a token, and what text it completed; Token.ID is -1 if only held-back text came
	Finished                      // the last event
)

// Event is one step of an answer.
type Event struct {
	Kind        EventKind
	Read, Total int    // Reading: tokens of the prompt
	Text        string // Text: more of the answer
	Thinking    string // Text: more of the thinking before it
	Token       run.Token
	Settled     int    // Text: tokens, from the first one on, of which nothing is held back any more
	Result      Result // Finished
}

// Result is a finished answer.
type Result struct {
	Reason    string
	Text      string
	Thinking  string
	PromptIDs []int32
	IDs       []int32 // without the end id
	Message   Message // the answer, to be appended to the conversation
	Figures   run.Figures
	Neurons   []Neurons  // by layer, with Request.Census
	Times     []PartTime // in the order of a pass, with Request.Times
}

// Session keeps what the device has read of one conversation, so that the next turn reads only what is new. One
// request at a time; a session that is no longer referred to gives its place to the next one.
type Session struct {
	engine *Engine
	run    run.Session
}

// NewSession starts an empty session. It costs nothing until it is used.
func (e *Engine) NewSession() *Session { return &Session{engine: e} }

// Generate answers a request. The last event is Finished, unless an error came. A cancelled context ends the answer
// with ReasonCancelled and no error; breaking off the loop cancels too, and returns when the device has settled.
func (s *Session) Generate(ctx context.Context, r Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		a, err := s.engine.newAnswer(ctx, r)
		if err != nil {
			yield(Event{}, err)
			return
		}
		ctx, enough := context.WithCancelCause(ctx)
		defer enough(nil)
		for e := range s.engine.worker.Generate(ctx, &s.run, a.request) {
			var out Event
			switch e.Kind {
			case run.Progress:
				out = Event{Kind: Reading, Read: e.Read, Total: e.Total}
			case run.Sampled:
				if a.stopped() {
					continue // what was under way when a stop string came
				}
				if out = a.push(e.Token); a.stopped() {
					enough(run.ErrEnough)
				}
			case run.Done:
				a.finish(e, yield)
				return
			}
			if !yield(out, nil) {
				return
			}
		}
	}
}

// answer turns tokens into text.
type answer struct {
	engine  *Engine
	request run.Request
	decoder *token.Decoder
	reply   *prompt.Reply
	ids     []int32
	text    strings.Builder
	think   strings.Builder
	fed     int   // bytes of text that the parser was given
	ends    []int // for each token that is not settled, how much must leave the parser before it is
}

func (e *Engine) newAnswer(ctx context.Context, r Request) (*answer, error) {
	if err := errors.Join(r.Sampling.Validate(), sample.Logs{Alts: r.Alts}.Validate()); err != nil {
		return nil, err
	}
	ids, thinking, err := e.encode(ctx, r)
	if err != nil {
		return nil, err
	}
	return &answer{
		engine: e,
		request: run.Request{
			Prompt: ids, Sampling: r.Sampling, Logs: sample.Logs{Chosen: r.Logprobs, Alts: r.Alts},
			MaxTokens: r.MaxTokens, Stops: e.stops, Census: r.Census, Times: r.Times,
		},
		decoder: e.tokenizer.NewDecoder(false),
		reply:   prompt.NewReply(thinking, r.Stop),
	}, nil
}

// encode makes the prompt's ids; thinking says that the answer begins inside the model's thinking.
func (e *Engine) encode(ctx context.Context, r Request) (ids []int32, thinking bool, err error) {
	if len(r.Messages) == 0 {
		if r.Raw == "" {
			return nil, false, &PromptError{errors.New("the prompt is empty")}
		}
		return e.tokenizer.EncodeTrusted(nil, r.Raw), false, nil
	}
	if e.template == nil {
		return nil, false, &PromptError{prompt.ErrNoTemplate}
	}
	p, err := e.template.Render(ctx, prompt.Request{
		Messages: r.Messages, EnableThinking: r.Thinking, Generate: true,
	}, time.Now())
	if err != nil {
		return nil, false, &PromptError{err}
	}
	for _, part := range p.Parts {
		if part.IDs != nil {
			ids = append(ids, part.IDs...)
			continue
		}
		ids = e.tokenizer.Encode(ids, token.Text(part.Text))
	}
	return ids, p.Thinking, nil
}

// stopped says whether a stop string has ended the answer.
func (a *answer) stopped() bool {
	_, ok := a.reply.Stopped()
	return ok
}

// push adds a token.
func (a *answer) push(t run.Token) Event {
	e := Event{Kind: Text, Token: t}
	if t.End {
		a.end(&e)
		return e
	}
	a.ids = append(a.ids, t.ID)
	text := a.decoder.Push(t.ID)
	a.fed += len(text)
	a.ends = append(a.ends, a.fed+a.decoder.Pending())
	a.add(&e, a.reply.Push(text))
	return e
}

// end adds what decoder and parser held back.
func (a *answer) end(e *Event) {
	text := a.decoder.Flush()
	a.fed += len(text)
	a.add(e, a.reply.Push(text))
	a.add(e, a.reply.Flush())
}

func (a *answer) add(e *Event, pieces []prompt.Event) {
	for _, p := range pieces {
		if p.Kind == prompt.Thinking {
			e.Thinking += p.Text
			a.think.WriteString(p.Text)
		} else {
			e.Text += p.Text
			a.text.WriteString(p.Text)
		}
	}
	out, n := a.fed-a.reply.Held(), 0
	for n < len(a.ends) && a.ends[n] <= out {
		n++
	}
	a.ends = append(a.ends[:0], a.ends[n:]...)
	e.Settled = len(a.ids) - len(a.ends)
}

// finish yields what is left and the end.
func (a *answer) finish(e run.Event, yield func(Event, error) bool) {
	if e.Err != nil {
		yield(Event{}, e.Err)
		return
	}
	tail := Event{Kind: Text, Token: run.Token{ID: -1}}
	if a.end(&tail); tail.Text != "" || tail.Thinking != "" {
		if !yield(tail, nil) {
			return
		}
	}
	r := Result{
		Reason: e.Reason.String(), Text: a.text.String(), Thinking: a.think.String(),
		PromptIDs: a.request.Prompt, IDs: a.ids, Figures: e.Figures, Neurons: e.Neurons, Times: e.Times,
	}
	if a.stopped() {
		r.Reason = ReasonStop
	}
	r.Figures.Completion = len(a.ids)
	r.Message = Message{Role: Assistant, Content: r.Text, Reasoning: r.Thinking}
	if !a.stopped() { // otherwise the ids go on past the text
		r.Message.IDs, r.Message.Raw = a.ids, a.engine.tokenizer.Decode(a.ids)
	}
	yield(Event{Kind: Finished, Result: r}, nil)
}
