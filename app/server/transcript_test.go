package server

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sotto/app/sched"
	"sotto/engine"
)

const hello = `"messages":[{"role":"user","content":"Hello!"}]`

// thinker is an answer with thinking before it, whose tags have tokens of their own.
func thinker() *script {
	s := &script{words: []string{"hm", " ok", "</think>", "\n\n", "Yes", "."}}
	s.events = []engine.Event{{Kind: engine.Reading, Read: 4, Total: 7}, {Kind: engine.Reading, Read: 7, Total: 7}}
	for i, w := range s.words {
		e := engine.Event{Kind: engine.Text, Settled: i + 1}
		e.Token.ID, e.Token.Log = int32(i), -float32(i)/4
		switch {
		case i < 2:
			e.Thinking = w
		case i > 3:
			e.Text = w
		}
		s.events = append(s.events, e)
	}
	s.finish(engine.ReasonStop, "Yes.", "hm ok", []int32{0, 1, 2, 3, 4, 5})
	return s
}

// cutThinker is an answer that ends inside its thinking.
func cutThinker() *script {
	s := thinker()
	s.events = s.events[:4]
	s.finish(engine.ReasonLength, "", "hm ok", []int32{0, 1})
	return s
}

// holder holds text back for a stop string that comes, after one that does not.
func holder() *script {
	s := &script{words: []string{"a", "\n", "U", "x", "\nUs", "er:"}}
	s.events = []engine.Event{{Kind: engine.Reading, Read: 7, Total: 7}}
	for i, c := range []struct {
		text    string
		settled int
	}{{"a", 1}, {"", 1}, {"", 1}, {"\nUx", 4}, {"", 4}, {"", 4}} {
		e := engine.Event{Kind: engine.Text, Text: c.text, Settled: c.settled}
		e.Token.ID, e.Token.Log = int32(i), -1
		s.events = append(s.events, e)
	}
	s.finish(engine.ReasonStop, "a\nUx", "", []int32{0, 1, 2, 3, 4, 5})
	return s
}

// splitter has a character spread over tokens, and one that was cut off at the end.
func splitter() *script {
	s := &script{words: []string{"\xc4", "\x8f", "\xf0\x9f", "\x98\x80", "\xe2\x82"}}
	s.events = []engine.Event{{Kind: engine.Reading, Read: 7, Total: 7}}
	for i, c := range []struct {
		text    string
		settled int
	}{{"", 0}, {"ď", 2}, {"", 2}, {"😀", 4}, {"", 4}} {
		e := engine.Event{Kind: engine.Text, Text: c.text, Settled: c.settled}
		e.Token.ID, e.Token.Log = int32(i), -1
		s.events = append(s.events, e)
	}
	tail := engine.Event{Kind: engine.Text, Text: "\ufffd", Settled: 5}
	tail.Token.ID = -1
	s.events = append(s.events, tail)
	s.finish(engine.ReasonLength, "ď😀\ufffd", "", []int32{0, 1, 2, 3, 4})
	return s
}

// broken fails in the middle of an answer.
func broken() *script {
	s := say("It", " works")
	s.events = s.events[:3]
	s.err = errors.New("the model's output is not a number")
	return s
}

// unread fails before anything is read.
func unread(err error) *script { return &script{err: err} }

func TestTranscripts(t *testing.T) {
	const stream, usage = `"stream":true,`, `"stream_options":{"include_usage":true},`
	for _, c := range []struct {
		name, body string
		script     *script
	}{
		{"plain", `{` + hello + `}`, say("Hi", " there", "!")},
		{"plain-stream", `{` + stream + hello + `}`, say("Hi", " there", "!")},
		{"usage-stream", `{` + usage + stream + hello + `}`, say("Hi", " there", "!")},
		{"no-usage-stream", `{"stream_options":{"include_usage":false},` + stream + hello + `}`, say("Hi")},
		{"thinking", `{"logprobs":true,` + hello + `}`, thinker()},
		{"thinking-stream", `{"logprobs":true,` + usage + stream + hello + `}`, thinker()},
		{"cut-thinking", `{"max_tokens":2,` + hello + `}`, cutThinker()},
		{"cut-thinking-stream", `{"max_tokens":2,` + stream + hello + `}`, cutThinker()},
		{"held", `{"stop":"\nUser:","logprobs":true,` + hello + `}`, holder()},
		{"held-stream", `{"stop":"\nUser:","logprobs":true,` + stream + hello + `}`, holder()},
		{"split", `{"logprobs":true,"top_logprobs":0,` + hello + `}`, splitter()},
		{"split-stream", `{"logprobs":true,` + stream + hello + `}`, splitter()},
		{"empty", `{` + hello + `}`, say()},
		{"empty-stream", `{` + stream + hello + `}`, say()},
		{"markup-stream", `{` + stream + hello + `}`, say("<b>&\"\\", "\u2028\u0085\r\n", "\x00")},
		{"broken", `{` + hello + `}`, broken()},
		{"broken-stream", `{` + stream + hello + `}`, broken()},
		{"window", `{` + hello + `}`, unread(&engine.WindowError{Prompt: 5000, Window: 4096})},
		{"window-stream", `{` + stream + hello + `}`, unread(&engine.WindowError{Prompt: 5000, Window: 4096})},
		{"template-stream", `{` + stream + hello + `}`, unread(&engine.PromptError{Err: errors.New("it is refused")})},
		{"closed-stream", `{` + stream + hello + `}`, unread(engine.ErrClosed)},
		{"full-stream", `{` + stream + hello + `}`, unread(&sched.FullError{Waiting: 16, Retry: 2500e6})},
		{"refused", `{"tools":[{"type":"function"}],` + hello + `}`, say("Hi")},
		{"wrong-model", `{"model":"gpt-5",` + hello + `}`, say("Hi")},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := serve(t, c.script, nil)
			got := r.chat(t, c.body)
			golden(t, "transcripts/"+c.name+".txt", transcript("POST /v1/chat/completions", c.body, got))
		})
	}
}

func TestOtherTranscripts(t *testing.T) {
	for _, c := range []struct{ name, method, path string }{
		{"models", "GET", "/v1/models"},
		{"model", "GET", "/v1/models/test-model"},
		{"model-unknown", "GET", "/v1/models/org/other"},
		{"health", "GET", "/health"},
		{"unknown-url", "POST", "/v1/completions"},
		{"method", "GET", "/v1/chat/completions"},
		{"method-models", "DELETE", "/v1/models/test-model"},
		{"preflight", "OPTIONS", "/v1/chat/completions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := serve(t, say("Hi"), nil)
			golden(t, "transcripts/"+c.name+".txt", transcript(c.method+" "+c.path, "", r.do(t, c.method, c.path, "")))
		})
	}
	r := serve(t, say("Hi"), nil)
	if got := r.do(t, "HEAD", "/health", ""); got.status != http.StatusOK || got.body != "" {
		t.Errorf("HEAD: %+v", got)
	}
	r.model.Store(nil)
	got := transcript("GET /v1/models", "", r.do(t, "GET", "/v1/models", "")) +
		transcript("GET /v1/models/test-model", "", r.do(t, "GET", "/v1/models/test-model", "")) +
		transcript("GET /health", "", r.do(t, "GET", "/health", "")) +
		transcript("POST /v1/chat/completions", "{}", r.chat(t, "{}"))
	golden(t, "transcripts/no-model.txt", got)
}

// transcript is what went over the line, without what differs from run to run.
func transcript(request, body string, r reply) string {
	var b strings.Builder
	fmt.Fprintf(&b, "> %s\n", request)
	if body != "" {
		fmt.Fprintf(&b, "> %s\n", body)
	}
	fmt.Fprintf(&b, "< %d %s\n", r.status, http.StatusText(r.status))
	var names []string
	for name := range r.header {
		if !slices.Contains([]string{"Date", "Content-Length"}, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "< %s: %s\n", name, r.header.Get(name))
	}
	return b.String() + r.body + "\n"
}
