package app

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"sotto/engine"
)

// answering is a generator that always answers the same.
type answering iter.Seq2[engine.Event, error]

func (a answering) Generate(context.Context, engine.Request) iter.Seq2[engine.Event, error] {
	return iter.Seq2[engine.Event, error](a)
}

func TestSlow(t *testing.T) {
	failure := errors.New("broken")
	answer := answering(func(yield func(engine.Event, error) bool) {
		for _, e := range []engine.Event{
			{Kind: engine.Reading},
			{Kind: engine.Text, Text: "a"},
			{Kind: engine.Text, Text: "b"},
			{Kind: engine.Finished},
		} {
			if !yield(e, nil) {
				return
			}
		}
		yield(engine.Event{}, failure)
	})
	for name, c := range map[string]struct {
		stop   int // cancelled after so many events
		events int
		took   time.Duration
	}{
		"whole":     {9, 5, 2 * time.Second},
		"cancelled": {2, 5, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			slowed := slow{answer, time.Second}
			begin, n := time.Now(), 0
			var last error
			for _, err := range slowed.Generate(ctx, engine.Request{}) {
				if n++; n == c.stop {
					cancel()
				}
				last = err
			}
			if took := time.Since(begin); n != c.events || took != c.took || !errors.Is(last, failure) {
				t.Errorf("%s: %d events in %v, at last %v", name, n, took, last)
			}
			for range slowed.Generate(ctx, engine.Request{}) {
				break
			}
		})
	}
}
