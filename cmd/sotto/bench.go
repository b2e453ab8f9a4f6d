package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sotto/app"
	"sotto/app/bench"
	"sotto/app/models"
	"sotto/engine"
)

// Bounds of a benchmark's flags.
const (
	maxBenchTokens = 1 << 20
	maxRounds      = 1000
)

type benchFlags struct {
	model, driver, svg     string
	table, text            string
	prompts                []int
	tokens, rounds, thread int
	seed                   uint64
	ablate                 []string
	json                   bool
}

func newBench(t terminal) *cobra.Command {
	f := &benchFlags{}
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure how fast a model reads and answers",
		Long: "Measures prefill and decode at given lengths of prompts. With --ablate the model is measured with\n" +
			"and without techniques of the engine, taking turns. Techniques:\n  " +
			strings.Join(engine.Ablations(), "\n  ") + "\n" +
			"With --table live it tells, for models with sparse experts (nemotron-tiny and its family), which share\n" +
			"of their neurons is not 0, what is read of them, and what passing over the rest is worth, layer by\n" +
			"layer.",
		Example: "  sotto bench\n  sotto bench --prompt 128,1024 --ablate concurrent\n" +
			"  sotto bench --model nemotron-tiny --table live",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := errors.Join(f.check(), f.checkTable(c.Flags().Changed)); err != nil {
				return err
			}
			return f.run(c.Context(), t)
		},
	}
	p := c.Flags()
	p.StringVarP(&f.model, "model", "m", models.Default, "built-in model, or folder of a checkpoint")
	p.IntSliceVar(&f.prompts, "prompt", []int{64, 512}, "lengths of prompts in tokens, separated by commas")
	p.IntVar(&f.tokens, "tokens", 64, "tokens to decode after each prompt")
	p.IntVar(&f.rounds, "rounds", 5, "rounds of measuring")
	driverFlag(p, &f.driver)
	p.IntVar(&f.thread, "threads", 0, "threads of the host driver (default: all cores)")
	p.Uint64Var(&f.seed, "seed", 1, "of the prompts' tokens")
	p.StringSliceVar(&f.ablate, "ablate", nil, "measure without this technique too; may be given several times")
	p.StringVar(&f.table, "table", "rates", "what to tell: rates, or live for neurons that are not 0")
	p.StringVar(&f.text, "text", liveText, "what a table of live neurons asks the model")
	p.BoolVar(&f.json, "json", false, "print the report as JSON")
	p.StringVar(&f.svg, "svg", "", "write a picture of the report to this file")
	return c
}

// check refuses values that cannot be meant.
func (f *benchFlags) check() error {
	err := errors.Join(checkModel(f.model), checkDriver(f.driver), checkThreads(f.thread), checkText("--text", f.text))
	switch {
	case err != nil:
		return err
	case f.text == "":
		return usageError{errors.New("--text is empty")}
	case len(f.prompts) == 0:
		return usageError{errors.New("--prompt: no length")}
	case f.tokens < 2 || f.tokens > maxBenchTokens:
		return usageError{fmt.Errorf("--tokens %d: want 2 to %d", f.tokens, maxBenchTokens)}
	case f.rounds < 1 || f.rounds > maxRounds:
		return usageError{fmt.Errorf("--rounds %d: want 1 to %d", f.rounds, maxRounds)}
	}
	for _, n := range f.prompts {
		if n < 1 || n > maxBenchTokens {
			return usageError{fmt.Errorf("--prompt %d: want 1 to %d", n, maxBenchTokens)}
		}
	}
	for i, name := range f.ablate {
		if slices.Contains(f.ablate[:i], name) {
			return usageError{fmt.Errorf("--ablate %s is given twice", name)}
		}
	}
	return nil
}

// checkTable refuses flags that the kind of table would ignore.
func (f *benchFlags) checkTable(given func(flag string) bool) error {
	var ignored []string
	switch f.table {
	case "rates":
		ignored = []string{"text"}
	case "live":
		ignored = []string{"ablate", "prompt", "seed"}
	default:
		return usageError{fmt.Errorf("--table %q: want rates or live", f.table)}
	}
	for _, flag := range ignored {
		if given(flag) {
			return usageError{fmt.Errorf("--%s has no meaning with --table %s", flag, f.table)}
		}
	}
	return nil
}

func (f *benchFlags) run(ctx context.Context, t terminal) error {
	if f.svg != "" { // told now, not after minutes of measuring
		if _, err := os.Stat(filepath.Dir(f.svg)); err != nil {
			return fmt.Errorf("--svg: %w", err)
		}
		if at, err := os.Stat(f.svg); err == nil && at.IsDir() {
			return fmt.Errorf("--svg: %s is a folder", f.svg)
		}
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	measure := f.rates
	if f.table == "live" {
		measure = f.live
	}
	r, err := measure(ctx, t)
	if r == nil {
		return err
	}
	return errors.Join(err, f.report(t, r)) // what was measured before an error is told all the same
}

// report prints what was measured and then draws it: a picture that cannot be written costs no figures.
func (f *benchFlags) report(t terminal, r table) error {
	write := r.Table
	if f.json {
		write = func(w io.Writer) error {
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(r)
		}
	}
	if err := write(t.out); err != nil || f.svg == "" {
		return err
	}
	return writeSVG(f.svg, r)
}

// rates measures prefill and decode, with a model for each arm. A report may come with an error: it is what there was.
func (f *benchFlags) rates(ctx context.Context, t terminal) (report table, err error) {
	bar := newProgress(t.err)
	defer bar.clear()
	var arms []bench.Arm
	var device, name string
	without, names := []engine.Ablation{0}, []string{"all"}
	for _, name := range f.ablate {
		a, err := engine.ParseAblation(name)
		if err != nil {
			return nil, usageError{err}
		}
		without, names = append(without, a), append(names, "without "+name)
	}
	for i := range without {
		m, openErr := f.open(ctx, t, bar, without[i], 0)
		if openErr != nil {
			return nil, openErr
		}
		defer func() { err = errors.Join(err, m.Close()) }()
		arms = append(arms, bench.Arm{Name: names[i], Measurer: m.Engine})
		name, device = m.Name, deviceName(m.Engine.Info().Caps)
	}
	r, err := bench.Run(ctx, arms, bench.Plan{Prompts: f.prompts, Tokens: f.tokens, Rounds: f.rounds, Seed: f.seed},
		func(done, total int) { bar.line("measuring: %d of %d", done, total) })
	if len(r.Lengths) == 0 {
		return nil, err
	}
	r.Model, r.Device = name, device
	return r, err
}

// open opens the model without some techniques; chunk is the rows of a prefill chunk, 0 for the engine's own choice.
func (f *benchFlags) open(
	ctx context.Context, t terminal, bar *progress, without engine.Ablation, chunk int,
) (*app.Model, error) {
	return app.Open(ctx, app.Options{
		Model: f.model, Driver: f.driver, Threads: f.thread, RawOnly: true, Without: without, Chunk: chunk,
		Progress: bar.loading,
		Warn:     func(s string) { bar.clear(); fmt.Fprintf(t.err, "sotto: warning: %s\n", s) },
	})
}

func deviceName(c engine.Caps) string { return fmt.Sprintf("%s (%s, %s)", c.Name, c.Driver, c.Tier) }

func writeSVG(path string, r table) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(r.SVG(out), out.Close())
}
