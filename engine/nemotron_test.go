package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The second built-in model answers as the first one does: what engine_test.go holds of sessions and cuts, for a family
// whose state and experts are others.

func TestNemotronConversation(t *testing.T) {
	e := openModel(t, "nemotron-tiny", nil)
	if got := e.Info(); got.Family != "nemotron_h" || got.Window != 4096 {
		t.Errorf("info %+v", got)
	}
	s := e.NewSession()
	var messages []Message
	read := 0
	for i, text := range []string{"My name is Bertha.", "What is 48 + 75?", "What is my name?"} {
		messages = append(messages, Message{Role: User, Content: text})
		r := ask(t, t.Context(), s, Request{Messages: messages}, nil)
		if i > 0 && r.Figures.Cached < read {
			t.Errorf("turn %d: %d tokens kept, want at least the %d of the turn before", i, r.Figures.Cached, read)
		}
		read = r.Figures.Prompt
		messages = append(messages, r.Message)
		if want := []string{"Bertha", "123", "Bertha"}[i]; !strings.Contains(r.Text, want) {
			t.Errorf("%q: got %q, want %q in it", text, r.Text, want)
		}
	}
	last := messages[len(messages)-1]
	if r := ask(t, t.Context(), e.NewSession(), Request{Messages: messages[:len(messages)-1]}, nil); !slices.Equal(
		r.IDs, last.IDs) {
		t.Errorf("read anew: got ids %v, want %v", r.IDs, last.IDs)
	}
}

func TestNemotronAnswersHoweverThePromptIsCut(t *testing.T) {
	var want []int32
	for _, chunk := range []int{0, 1, 7, 16} {
		e := openModel(t, "nemotron-tiny", func(o *Options) { o.Chunk = chunk })
		r := ask(t, t.Context(), e.NewSession(), Request{Messages: user("Tell me a story about a dragon.")}, nil)
		if want == nil {
			want = r.IDs
		}
		if !slices.Equal(r.IDs, want) {
			t.Errorf("chunk %d: got %v, want %v", chunk, r.IDs, want)
		}
	}
}

// TestCensusChangesNothing counts while it answers.
func TestCensusChangesNothing(t *testing.T) {
	e := openModel(t, "nemotron-tiny", nil)
	r := Request{Messages: user("Tell me a story about a dragon.")}
	want := ask(t, t.Context(), e.NewSession(), r, nil)
	r.Census = true
	got := ask(t, t.Context(), e.NewSession(), r, nil)
	if !slices.Equal(got.IDs, want.IDs) || want.Neurons != nil {
		t.Errorf("got %v, want %v", got.IDs, want.IDs)
	}
	for _, n := range got.Neurons {
		if want := int64(got.Figures.Completion); n.Shared.Visits < want || n.Routed.Visits != 2*n.Shared.Visits {
			t.Errorf("layer %d: %d and %d visits of %d tokens", n.Layer, n.Shared.Visits, n.Routed.Visits, want)
		}
		if n.Routed.TileNeurons == 0 || n.Shared.EverShare() < n.Shared.Share() || n.Shared.Touched > n.Shared.Full {
			t.Errorf("layer %d: %+v", n.Layer, n)
		}
	}
	if r := ask(t, t.Context(), open(t, nil).NewSession(), r, nil); len(r.Neurons) != 0 {
		t.Errorf("a model without sparse experts has %v", r.Neurons)
	}
}

// TestTimes measures decode part by part: the answer is the same, and every part has its passes, also where the prompt
// was read row by row.
func TestTimes(t *testing.T) {
	for _, name := range []string{"qwen-tiny", "nemotron-tiny"} {
		for _, chunk := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s, chunk %d", name, chunk), func(t *testing.T) {
				e := openModel(t, name, func(o *Options) { o.Chunk = chunk })
				r := Request{Messages: user("Tell me a story."), MaxTokens: 12}
				want := ask(t, t.Context(), e.NewSession(), r, nil)
				r.Times = true
				got := ask(t, t.Context(), e.NewSession(), r, nil)
				if got.Text != want.Text {
					t.Errorf("got %q, want %q", got.Text, want.Text)
				}
				layers := 0
				for _, p := range got.Times {
					if len(p.Passes) != len(got.IDs)-1 || slices.Min(p.Passes) <= 0 {
						t.Errorf("%s has passes of %v, want %d", p.Name, p.Passes, len(got.IDs)-1)
					}
					if strings.HasPrefix(p.Name, "layer ") {
						layers++
					}
				}
				if kinds := e.Info().Layers; layers != len(kinds) || slices.Contains(kinds, "") {
					t.Errorf("%d layers were measured, the model has %q", layers, kinds)
				}
			})
		}
	}
}

// TestNemotronCancel cancels at every step of an answer, while sessions take each other's slot: the answer that is
// asked for again is the same.
func TestNemotronCancel(t *testing.T) {
	e := openModel(t, "nemotron-tiny", func(o *Options) { o.Chunk = 5 })
	r := Request{Messages: user("Tell me a story about a dragon."), MaxTokens: 8}
	want := ask(t, t.Context(), e.NewSession(), r, nil)
	events := 0
	ask(t, t.Context(), e.NewSession(), r, func(Event) { events++ })
	s := e.NewSession()
	for at := range events {
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		ask(t, ctx, s, r, func(Event) {
			if seen++; seen > at {
				cancel()
			}
		})
		cancel()
		if at%3 == 0 {
			s = e.NewSession()
			ask(t, t.Context(), e.NewSession(), Request{Messages: user("Hello!"), MaxTokens: 2}, nil)
		}
		if got := ask(t, t.Context(), s, r, nil); !slices.Equal(got.IDs, want.IDs) {
			t.Errorf("after event %d: got %v, want %v", at, got.IDs, want.IDs)
		}
	}
}
