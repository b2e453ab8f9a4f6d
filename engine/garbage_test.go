package engine

import (
	"math"
	"runtime"
	"testing"

	"sotto/engine/run"
)

// perToken is how many allocations a token more costs: those of long minus those of short, over the tokens between
// them. The whole process counts, so the least of some rounds is taken.
func perToken(t *testing.T, generate func(tokens int)) float64 {
	t.Helper()
	if raceDetector {
		t.Skip("the race detector allocates too")
	}
	const short, long = 20, 220
	mallocs := func(tokens int) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		generate(tokens)
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs - before.Mallocs)
	}
	generate(long) // compiles programs and fills pools
	least := map[int]float64{short: math.Inf(1), long: math.Inf(1)}
	for range 2 {
		for tokens := range least {
			least[tokens] = min(least[tokens], mallocs(tokens))
		}
	}
	return (least[long] - least[short]) / (long - short)
}

// TestWorkerMakesNoGarbagePerToken holds for all between the worker's channel and the kernels.
func TestWorkerMakesNoGarbagePerToken(t *testing.T) {
	e := open(t, nil)
	prompt := e.tokenizer.EncodeTrusted(nil, "Once upon a time")
	got := perToken(t, func(tokens int) {
		sampled := 0
		for ev := range e.worker.Generate(t.Context(), &run.Session{}, run.Request{Prompt: prompt, MaxTokens: tokens}) {
			if ev.Err != nil {
				t.Fatal(ev.Err)
			}
			if ev.Kind == run.Sampled {
				sampled++
			}
		}
		if sampled != tokens {
			t.Fatalf("got %d tokens, want %d", sampled, tokens)
		}
	})
	if t.Logf("%.3f allocations a token", got); got >= 0.1 {
		t.Errorf("got %.3f allocations a token, want less than 0.1", got)
	}
}

// TestEngineMakesNoGarbagePerToken allows a text now and then: where a character's bytes are spread over tokens. All
// other texts lie in the vocabulary.
func TestEngineMakesNoGarbagePerToken(t *testing.T) {
	e := open(t, nil)
	e.stops = nil // the answer goes on past its end
	got := perToken(t, func(tokens int) {
		r := ask(t, t.Context(), e.NewSession(), Request{Raw: "Once upon a time", MaxTokens: tokens}, nil)
		if len(r.IDs) != tokens {
			t.Fatalf("got %d tokens, want %d", len(r.IDs), tokens)
		}
	})
	if t.Logf("%.3f allocations a token", got); got >= 0.2 {
		t.Errorf("got %.3f allocations a token, want less than 0.2", got)
	}
}
