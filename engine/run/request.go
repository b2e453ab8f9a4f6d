package run

import (
	"fmt"
	"time"

	"sotto/engine/nn"
	"sotto/engine/sample"
	"sotto/kernels"
)

// Request asks for a continuation of a session.
type Request struct {
	// Prompt is the whole text so far as ids, at least one. What the session has already read of it is not read
	// again; if the session has read something else, it starts over.
	Prompt    []int32
	Sampling  sample.Settings
	Logs      sample.Logs
	MaxTokens int     // 0: as many as the window holds
	Stops     []int32 // end ids, at most kernels.MaxStops
	// Census counts live neurons while the prompt is read and the answer made, see nn.Census. It slows both down.
	Census bool
	// Times measures decode part by part, which slows it down.
	Times bool
}

// Neurons is what a census found in one layer.
type Neurons = nn.Neurons

// Count adds up neurons of the experts of one kind.
type Count = nn.Count

// WindowError says that a prompt does not fit.
type WindowError struct {
	Prompt, Window int // tokens
}

func (e *WindowError) Error() string {
	return fmt.Sprintf("the prompt has %d tokens, the window holds %d and needs room for an answer",
		e.Prompt, e.Window)
}

// Reason says why an answer ended.
type Reason uint8

// Reasons.
const (
	Stopped   Reason = iota + 1 // an end id was sampled
	Length                      // MaxTokens or the window was reached
	Cancelled                   // the context ended, or the caller stopped
)

func (r Reason) String() string { return [...]string{"", "stop", "length", "cancelled"}[r] }

// Token is one sampled token.
type Token struct {
	ID   int32
	End  bool    // an end id: it carries no text
	Log  float32 // log-probability under the model at temperature 1, if asked for
	Alts []kernels.Alternative
}

// Figures are what a request cost.
type Figures struct {
	Prompt     int           // tokens of the prompt
	Cached     int           // of them, tokens that the session had read before
	Read       int           // and tokens that this request has read; less than the rest if it was cancelled
	Completion int           // tokens sampled, an end id not counted
	FirstToken time.Duration // from the request to the first token
	Prefill    time.Duration // reading the prompt
	Decode     time.Duration // from the first token to the last
}

// PrefillRate is prompt tokens read a second, 0 if nothing was read.
func (f Figures) PrefillRate() float64 { return rate(f.Read, f.Prefill) }

// DecodeRate is tokens a second after the first, 0 for fewer than two.
func (f Figures) DecodeRate() float64 { return rate(f.Completion-1, f.Decode) }

func rate(n int, d time.Duration) float64 {
	if n <= 0 || d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// EventKind tells the kinds of Event apart.
type EventKind uint8

// Kinds of events, in the order in which a request emits them.
const (
	Progress EventKind = iota + 1 // part of the prompt was read
	Sampled                       // a token
	Done                          // the last event: the reason and the figures, or an error
)

// Event is one message of the worker to the caller of a request.
type Event struct {
	Kind    EventKind
	Read    int // Progress: tokens of the prompt read so far, cached ones included
	Total   int // Progress: tokens of the prompt
	Token   Token
	Reason  Reason
	Figures Figures
	Neurons []Neurons  // Done: with Request.Census
	Times   []PartTime // Done: with Request.Times
	Err     error
}
