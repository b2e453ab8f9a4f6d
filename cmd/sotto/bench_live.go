package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"sotto/app"
	"sotto/app/bench"
	"sotto/engine"
	"sotto/engine/sample"
	"sotto/kernels"
)

// liveText is what a table of live neurons asks the model, unless there is another text: the answer is long.
const liveText = "I like boats and rivers. My name is Anna and I live in a small house by the water with my dog. " +
	"Tell me a story."

// table is a report for people and as a picture.
type table interface {
	Table(w io.Writer) error
	SVG(w io.Writer) error
}

// live measures what passing over dead neurons is worth, layer by layer. The prompt is read tile by tile, however slow
// the device is: rows that are read one by one have no tiles. A report may come with an error: it is of the rounds
// before it.
func (f *benchFlags) live(ctx context.Context, t terminal) (report table, err error) {
	bar := newProgress(t.err)
	defer bar.clear()
	sparse, err := f.open(ctx, t, bar, 0, kernels.NeuronTile)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sparse.Close()) }()
	counted, err := f.answer(ctx, sparse, engine.Request{Census: true})
	if err != nil {
		return nil, err
	}
	if len(counted.Neurons) == 0 {
		return nil, fmt.Errorf("%s has no sparse experts: there is nothing to tell of live neurons", sparse.Name)
	}
	off, err := engine.ParseAblation("sparse")
	if err != nil {
		return nil, err
	}
	dense, err := f.open(ctx, t, bar, off, kernels.NeuronTile)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dense.Close()) }()

	rounds, err := f.liveRounds(ctx, bar, dense, sparse)
	if len(rounds) == 0 {
		return nil, err
	}
	info := sparse.Engine.Info()
	r := bench.NewLiveReport(info.Layers, counted.Neurons, rounds)
	r.Model, r.Device, r.Tokens = sparse.Name, deviceName(info.Caps), len(counted.IDs)
	return r, err
}

// liveRounds returns the rounds that were finished, also with an error.
func (f *benchFlags) liveRounds(ctx context.Context, bar *progress, dense, sparse *app.Model) ([]bench.Round, error) {
	var rounds []bench.Round
	for i := range f.rounds + 1 { // the first one compiles
		arms := []*app.Model{dense, sparse}
		times := make([][]engine.PartTime, len(arms))
		for j := range arms {
			at := (i + j) % len(arms)
			r, err := f.answer(ctx, arms[at], engine.Request{Times: true})
			if err != nil {
				return rounds, err
			}
			times[at] = r.Times
		}
		if i > 0 {
			rounds = append(rounds, bench.Round{Dense: times[0], Sparse: times[1]})
		}
		bar.line("measuring: %d of %d rounds", i, f.rounds)
	}
	return rounds, nil
}

// answer has a model answer the text greedily.
func (f *benchFlags) answer(ctx context.Context, m *app.Model, r engine.Request) (engine.Result, error) {
	r.Messages = []engine.Message{{Role: engine.User, Content: f.text}}
	r.Sampling, r.MaxTokens = sample.Settings{TopP: 1}, f.tokens
	for e, err := range m.Engine.NewSession().Generate(ctx, r) {
		if err != nil {
			return engine.Result{}, err
		}
		if e.Kind == engine.Finished {
			if len(e.Result.IDs) < 2 && ctx.Err() == nil {
				return e.Result, errors.New("the answer is shorter than two tokens: nothing can be measured")
			}
			return e.Result, ctx.Err()
		}
	}
	return engine.Result{}, ctx.Err()
}
