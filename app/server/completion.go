package server

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode/utf8"

	"sotto/engine"
)

// The forms of OpenAI's API that answers take.
type (
	completion struct {
		header
		Choices []choice `json:"choices"`
		Usage   usage    `json:"usage"`
	}
	// chunk is a piece of a streamed answer.
	chunk struct {
		header
		Choices []chunkChoice `json:"choices"`
		// Usage is absent if nobody asked for it; else it is null in all chunks but the last one.
		Usage any `json:"usage,omitempty"`
	}
	header struct {
		ID          string `json:"id"`
		Object      string `json:"object"`
		Created     int64  `json:"created"` // seconds since 1970
		Model       string `json:"model"`
		Fingerprint string `json:"system_fingerprint"`
	}
	choice struct {
		Index    int         `json:"index"`
		Message  message     `json:"message"`
		Logprobs *logContent `json:"logprobs"`
		Finish   string      `json:"finish_reason"`
	}
	chunkChoice struct {
		Index    int         `json:"index"`
		Delta    delta       `json:"delta"`
		Logprobs *logContent `json:"logprobs"`
		Finish   *string     `json:"finish_reason"`
	}
	message struct {
		Role      string `json:"role"`
		Content   string `json:"content"`
		Reasoning string `json:"reasoning_content,omitempty"`
	}
	delta struct {
		Role      string  `json:"role,omitempty"`
		Content   *string `json:"content,omitempty"`
		Reasoning string  `json:"reasoning_content,omitempty"`
	}
	logContent struct {
		Content []logEntry `json:"content"`
	}
	logEntry struct {
		logToken
		Top []logToken `json:"top_logprobs"`
	}
	logToken struct {
		Token   string  `json:"token"`
		Logprob float32 `json:"logprob"`
		Bytes   []int   `json:"bytes"`
	}
	usage struct {
		Prompt        int `json:"prompt_tokens"`
		Completion    int `json:"completion_tokens"`
		Total         int `json:"total_tokens"`
		PromptDetails struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionDetails struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
)

// fingerprint stands for everything but the request that an answer depends on.
func (m *Model) fingerprint(build string) string {
	i := m.Info
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d %d %v %q %q %q", build, m.ID, i.Family, i.Weights, i.Window,
		i.Sampling, i.Caps.Driver, i.Caps.Name, i.Caps.Tier))
	return fmt.Sprintf("fp_%x", sum[:5])
}

// finishReason says why an answer ended. One that was cut off by the end of the server counts as cut by length: the
// API has no other word for an answer that is not whole.
func finishReason(r engine.Result) string {
	if r.Reason == engine.ReasonCancelled {
		return engine.ReasonLength
	}
	return r.Reason
}

// account follows an answer's tokens: their log-probabilities, and how many of them were thinking.
type account struct {
	model   *Model
	logs    bool
	pending []logEntry // of tokens whose text may still be taken back
	settled int
	tokens  int
	before  int // tokens before the first text
	thought bool
	content bool
}

// add takes an event and returns the entries of tokens that are now certain to belong to the content. Tokens of the
// thinking and of its tags have none, nor have those that a stop string took back.
func (a *account) add(e engine.Event) *logContent {
	if e.Token.ID >= 0 && !e.Token.End {
		a.tokens++
		if a.logs {
			a.pending = append(a.pending, a.entry(e))
		}
	}
	a.thought = a.thought || e.Thinking != ""
	if e.Text != "" && !a.content {
		a.content, a.before = true, a.tokens-1
	}
	if !a.logs {
		return nil
	}
	n := min(e.Settled-a.settled, len(a.pending))
	certain := a.pending[:n]
	a.pending = append([]logEntry(nil), a.pending[n:]...)
	a.settled = e.Settled
	if e.Text == "" || n == 0 {
		return nil
	}
	return &logContent{certain}
}

func (a *account) entry(e engine.Event) logEntry {
	entry := logEntry{logToken: a.token(e.Token.ID, e.Token.Log), Top: []logToken{}}
	for _, alt := range e.Token.Alts {
		entry.Top = append(entry.Top, a.token(int32(alt.ID), alt.Log))
	}
	return entry
}

func (a *account) token(id int32, log float32) logToken {
	raw := a.model.Bytes(id)
	t := logToken{Token: spell(raw), Logprob: log, Bytes: make([]int, len(raw))}
	for i, b := range raw {
		t.Bytes[i] = int(b)
	}
	return t
}

// spell writes a token; bytes that are a part of a character are written as \xc4, the way OpenAI does.
func spell(raw []byte) string {
	var b strings.Builder
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, raw[0])
		} else {
			b.WriteRune(r)
		}
		raw = raw[n:]
	}
	return b.String()
}

// reasoning is the number of tokens before the content, if any of them was thinking.
func (a *account) reasoning() int {
	switch {
	case !a.thought:
		return 0
	case a.content:
		return a.before
	}
	return a.tokens
}

// usage is what an answer took.
func (a *account) usage(r engine.Result) usage {
	f := r.Figures
	u := usage{Prompt: f.Prompt, Completion: f.Completion, Total: f.Prompt + f.Completion}
	u.PromptDetails.Cached, u.CompletionDetails.Reasoning = f.Cached, a.reasoning()
	return u
}
