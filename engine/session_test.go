package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sotto/assets"
	"sotto/engine/gpu"
	"sotto/engine/gpu/host"
	"sotto/engine/prompt"
	"sotto/engine/sample"
)

// smallDevice is a device that says it has less memory.
type smallDevice struct {
	gpu.Device
	limit int64
}

func (d smallDevice) Caps() gpu.Caps {
	c := d.Device.Caps()
	c.MemoryLimit = d.limit
	return c
}

func TestSessionsAreFewerWhereMemoryIsShort(t *testing.T) {
	weights := open(t, nil).Info().Weights
	state := stateOf(t, weights)
	for _, c := range []struct {
		ask  int
		room int64 // for states
		want int
	}{
		{0, 100, 1},
		{4, 100, 4},
		{4, 3, 2},
		{5, 3, 3},
		{7, 1, 1},
	} {
		t.Run(fmt.Sprintf("%d in room for %d", c.ask, c.room), func(t *testing.T) {
			e := open(t, func(o *Options) {
				o.Sessions = c.ask
				o.Device = smallDevice{o.Device, weights + c.room*state + state/2}
			})
			if got := e.Info().Sessions; got != c.want {
				t.Errorf("got %d sessions, want %d", got, c.want)
			}
			ask(t, t.Context(), e.NewSession(), Request{Messages: user("Hello!"), MaxTokens: 2}, nil)
		})
	}
}

// stateOf is what the state of one session takes, by what the refusal says of a device that only holds the weights.
func stateOf(t *testing.T, weights int64) int64 {
	t.Helper()
	dir, err := assets.Model("qwen-tiny")
	if err != nil {
		t.Fatal(err)
	}
	device, err := host.Open(host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), dir, Options{
		Device: smallDevice{device, weights}, Sessions: 4, PackDir: t.TempDir(), Manifests: memory{},
	})
	var need int64
	if _, scan := fmt.Sscanf(fmt.Sprint(err), "%d MB", &need); scan != nil || !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Fatalf("got %v, want ErrOutOfMemory with numbers", err)
	}
	return (need+1)*1e6 - weights
}

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
