package app

import (
	"context"
	"iter"
	"time"

	"sotto/app/sched"
	"sotto/engine"
)

// slow lets time pass between the tokens of a session. It stands before all that holds tokens back, so that an answer
// that is stopped is one that the engine has not finished.
type slow struct {
	sched.Generator
	pause time.Duration
}

// Generate pauses after each token. A cancelled answer is passed on as it comes.
func (s slow) Generate(ctx context.Context, r engine.Request) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		for e, err := range s.Generator.Generate(ctx, r) {
			if !yield(e, err) {
				return
			}
			if e.Kind == engine.Text {
				select {
				case <-time.After(s.pause):
				case <-ctx.Done():
				}
			}
		}
	}
}
