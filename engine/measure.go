package engine

import (
	"context"

	"sotto/engine/gpu"
	"sotto/engine/nn"
	"sotto/engine/run"
	"sotto/engine/sample"
)

// Measure reads a prompt of so many ids in a new session and decodes so many tokens greedily, whatever they say. The
// ids are drawn from the whole vocabulary by the seed: the same seed reads the same prompt.
func (e *Engine) Measure(ctx context.Context, prompt, tokens int, seed uint64) (run.Figures, error) {
	ids := make([]int32, prompt)
	for i := range ids {
		seed = seed*6364136223846793005 + 1442695040888963407 // Knuth's MMIX generator: any spread will do
		ids[i] = int32((seed >> 33) % uint64(e.info.Vocab))
	}
	var session run.Session
	var last run.Event
	for last = range e.worker.Generate(ctx, &session, run.Request{
		Prompt: ids, Sampling: sample.Settings{TopP: 1}, MaxTokens: tokens,
	}) {
		continue
	}
	if last.Err == nil && last.Reason == run.Cancelled {
		return last.Figures, ctx.Err()
	}
	return last.Figures, last.Err
}

// Caps describes a device.
type Caps = gpu.Caps

// Ablation is a set of techniques to do without.
type Ablation = nn.Ablation

// ParseAblation reads the name of a technique.
func ParseAblation(name string) (Ablation, error) { return nn.ParseAblation(name) }

// Ablations describes the techniques that can be done without, a line each.
func Ablations() []string { return nn.Ablations() }
