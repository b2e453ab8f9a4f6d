package sched

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"sotto/engine"
)

// scribe answers "re:" and the last message, or stops with a part of it, and remembers what it was given.
type scribe struct {
	number int
	seen   *[]string
	reason string
	ids    []int32
}

func (s *scribe) Generate(_ context.Context, r engine.Request) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		line := fmt.Sprint(s.number)
		for _, m := range r.Messages {
			line += fmt.Sprintf(" %s%v", m.Content, m.IDs)
		}
		*s.seen = append(*s.seen, line)
		text := ""
		if len(r.Messages) > 0 {
			text = "re:" + r.Messages[len(r.Messages)-1].Content
		}
		m := engine.Message{Role: engine.Assistant, Content: text, IDs: s.ids, Raw: text, Reasoning: "hm"}
		yield(engine.Event{Kind: engine.Finished, Result: engine.Result{Reason: s.reason, IDs: s.ids, Message: m}}, nil)
	}
}

// talk makes a conversation of a text: odd words are the user's, the others the assistant's.
func talk(text string) []engine.Message {
	var list []engine.Message
	for i, w := range strings.Fields(text) {
		role := engine.User
		if i%2 == 1 {
			role = engine.Assistant
		}
		list = append(list, engine.Message{Role: role, Content: w})
	}
	return list
}

func TestPick(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason string
		ids    []int32
		asked  []string
		want   []string // which session was given what
	}{
		{
			"a conversation stays with its session", engine.ReasonStop,
			[]int32{7},
			[]string{"a", "x", "a re:a b", "x re:x y", "a re:a b re:b c"},
			[]string{"1 a[]", "2 x[]", "1 a[] re:a[7] b[]", "2 x[] re:x[7] y[]", "1 a[] re:a[7] b[] re:b[7] c[]"},
		},
		{
			"another answer is another conversation", engine.ReasonStop,
			[]int32{7},
			[]string{"a", "a other b"},
			[]string{"1 a[]", "2 a[] other[] b[]"},
		},
		{
			"the one used longest ago goes", engine.ReasonStop,
			[]int32{7},
			[]string{"a", "b", "a re:a c", "d", "b re:b e"},
			[]string{"1 a[]", "2 b[]", "1 a[] re:a[7] c[]", "2 d[]", "1 b[] re:b[] e[]"},
		},
		{
			"the longest beginning wins", engine.ReasonCancelled, nil,
			[]string{"a", "b", "a re:a b"}, // neither was answered
			[]string{"1 a[]", "2 b[]", "1 a[] re:a[] b[]"},
		},
		{
			"asked again after it was cancelled while reading", engine.ReasonCancelled, nil,
			[]string{"a b c", "x", "a b c"},
			[]string{"1 a[] b[] c[]", "2 x[]", "1 a[] b[] c[]"},
		},
		{
			"a part of an answer goes on", engine.ReasonCancelled,
			[]int32{7},
			[]string{"a", "a re:a b", "a"},
			[]string{"1 a[]", "1 a[] re:a[7] b[]", "2 a[]"},
		},
		{
			"text without messages", engine.ReasonStop,
			[]int32{7},
			[]string{"", "a", ""},
			[]string{"1", "2 a[]", "1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var seen []string
			n := 0
			p := pool{size: 2, open: func() Generator {
				n++
				return &scribe{number: n, seen: &seen, reason: c.reason, ids: c.ids}
			}}
			for _, text := range c.asked {
				messages := talk(text)
				given := slices.Clone(messages)
				for range p.generate(t.Context(), engine.Request{Messages: messages}) {
				}
				for i, m := range messages {
					if !slices.Equal(m.IDs, given[i].IDs) {
						t.Error("the caller's messages were changed")
					}
				}
			}
			if !slices.Equal(seen, c.want) {
				t.Errorf("got %q, want %q", seen, c.want)
			}
		})
	}
}

func TestSame(t *testing.T) {
	call := func(arguments string) []engine.ToolCall {
		return []engine.ToolCall{{ID: "1", Name: "add", Arguments: json.RawMessage(arguments)}}
	}
	read := engine.Message{
		Role: engine.Assistant, Content: "c", Reasoning: "r", ToolCalls: call(`{"a":1}`), IDs: []int32{1},
	}
	for _, c := range []struct {
		name   string
		change func(*engine.Message)
		want   bool
	}{
		{"itself", func(*engine.Message) {}, true},
		{"without its tokens", func(m *engine.Message) { m.IDs = nil }, true},
		{"without its thinking", func(m *engine.Message) { m.Reasoning = "" }, true},
		{"with other thinking", func(m *engine.Message) { m.Reasoning = "x" }, false},
		{"role", func(m *engine.Message) { m.Role = engine.User }, false},
		{"content", func(m *engine.Message) { m.Content = "d" }, false},
		{"name", func(m *engine.Message) { m.Name = "n" }, false},
		{"call", func(m *engine.Message) { m.ToolCallID = "1" }, false},
		{"arguments", func(m *engine.Message) { m.ToolCalls = call(`{"a":2}`) }, false},
		{"no calls", func(m *engine.Message) { m.ToolCalls = nil }, false},
	} {
		m := read
		c.change(&m)
		if got := same(read, m); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
