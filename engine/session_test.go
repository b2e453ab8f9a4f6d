package engine

import (
	"errors"
	"strings"
	"testing"

	"sotto/engine/prompt"
	"sotto/engine/sample"
)

func TestSettledTokensSpellWhatWasShown(t *testing.T) {
	e := open(t, nil)
	whole := ask(t, t.Context(), e.NewSession(), Request{Messages: user("Who are you?")}, nil)
	for _, stop := range []string{"", whole.Text[20:26], whole.Text[31:32], "never said"} {
		t.Run(stop, func(t *testing.T) {
			shown, ids, settled := "", []int32(nil), 0
			r := ask(t, t.Context(), e.NewSession(), Request{Messages: user("Who are you?"), Stop: []string{stop}},
				func(ev Event) {
					if ev.Kind != Text {
						return
					}
					shown += ev.Text
					if ev.Token.ID >= 0 && !ev.Token.End {
						ids = append(ids, ev.Token.ID)
					}
					if ev.Settled < settled || ev.Settled > len(ids) {
						t.Fatalf("%d settled after %d, of %d tokens", ev.Settled, settled, len(ids))
					}
					settled = ev.Settled
					spelled := e.tokenizer.Decode(ids[:settled])
					if !strings.HasPrefix(shown, spelled) || settled < len(ids) &&
						strings.HasPrefix(shown, e.tokenizer.Decode(ids[:settled+1])) {
						t.Errorf("%d of %d tokens are settled: %q of %q", settled, len(ids), spelled, shown)
					}
				})
			if cut := r.Text != whole.Text; !cut && settled != len(r.IDs) || cut && settled == len(r.IDs) {
				t.Errorf("%d of %d tokens are settled at the end of %q", settled, len(r.IDs), r.Text)
			}
		})
	}
}

func TestPromptErrors(t *testing.T) {
	e := open(t, nil)
	for name, r := range map[string]Request{
		"unknown role": {Messages: []Message{{Role: "banana", Content: "?"}}},
		"empty":        {},
	} {
		_, err := first(e.NewSession().Generate(t.Context(), r))
		var refused *PromptError
		if !errors.As(err, &refused) {
			t.Errorf("%s: got %v, want a PromptError", name, err)
		}
	}
	_, err := first(e.NewSession().Generate(t.Context(), Request{Messages: []Message{{Role: "banana"}}}))
	if !errors.Is(err, prompt.ErrRole) {
		t.Errorf("got %v, want %v inside", err, prompt.ErrRole)
	}
}

// TestSeedsDoNotDependOnTheSession holds that the same seed gives the same answer wherever its state lies.
func TestSeedsDoNotDependOnTheSession(t *testing.T) {
	e := open(t, func(o *Options) { o.Sessions = 3 })
	r := Request{Messages: user("Tell me a story."), MaxTokens: 30}
	r.Sampling = sample.Settings{Temperature: 1.5, TopP: 0.9, TopK: 20, Seed: 1}
	want := ask(t, t.Context(), e.NewSession(), r, nil).Text
	for i := range 3 {
		if got := ask(t, t.Context(), e.NewSession(), r, nil).Text; got != want {
			t.Errorf("session %d: got %q, want %q", i+1, got, want)
		}
	}
}
