package app

import (
	"context"
	"iter"
	"time"

	"sotto/engine"
)

// slowly passes an answer on with a pause after each token. A cancelled answer is passed on as it comes.
func slowly(ctx context.Context, answer iter.Seq2[engine.Event, error], pause time.Duration,
) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		for e, err := range answer {
			if !yield(e, err) {
				return
			}
			if e.Kind == engine.Text {
				select {
				case <-time.After(pause):
				case <-ctx.Done():
				}
			}
		}
	}
}
