package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"sotto/app"
	"sotto/app/models"
	"sotto/engine"
	"sotto/kernels"
)

// maxThreads is the most that the host driver takes.
const maxThreads = 64

// flags are shared by the commands that generate.
type flags struct {
	model, system, dtype    string
	driver                  string
	temperature, topP, minP float32
	topK, maxTokens, chunk  int
	threads                 int
	seed                    uint64
	stop                    []string
	raw                     bool // text is continued without a template
	cmd                     *cobra.Command
}

func (f *flags) register(c *cobra.Command) {
	f.cmd = c
	p := c.Flags()
	p.StringVarP(&f.model, "model", "m", models.Default, "built-in model, or folder of a checkpoint")
	p.StringVar(&f.system, "system", "", "system prompt")
	p.Float32Var(&f.temperature, "temperature", 0, "0 is greedy (default: the model's own)")
	p.Float32Var(&f.topP, "top-p", 0, "keep the most probable tokens up to this mass (default: the model's own)")
	p.Float32Var(&f.minP, "min-p", 0, "drop tokens below this share of the best one's probability")
	p.IntVar(&f.topK, "top-k", 0, "keep this many tokens (default: the model's own)")
	p.Uint64Var(&f.seed, "seed", 0, "the same seed gives the same answer (default: drawn)")
	p.IntVar(&f.maxTokens, "max-tokens", 0, "most tokens of an answer (default: what the window holds)")
	p.StringArrayVar(&f.stop, "stop", nil, "end the answer before this text; may be given several times")
	p.IntVar(&f.chunk, "chunk", 0, "rows of a prefill chunk, 0 to 4096 (0: what takes about 100 ms)")
	p.StringVar(&f.dtype, "dtype", "bf16", "type of activations: bf16, or f32 for comparisons")
	driverFlag(p, &f.driver)
	p.IntVar(&f.threads, "threads", 0, "threads of the host driver (default: all cores)")
}

func driverFlag(p *pflag.FlagSet, driver *string) {
	p.StringVar(driver, "driver", "", "device driver: "+strings.Join(app.Drivers(), ", ")+" (default: this machine's)")
}

// checkDriver refuses names that are none; "" is this machine's.
func checkDriver(name string) error {
	if name != "" && !slices.Contains(app.Drivers(), name) {
		return usageError{fmt.Errorf("--driver %q: want %s", name, strings.Join(app.Drivers(), ", "))}
	}
	return nil
}

// checkThreads refuses what the host driver does not take; 0 is all cores.
func checkThreads(n int) error {
	if n < 0 || n > maxThreads {
		return usageError{fmt.Errorf("--threads %d: want 0 to %d", n, maxThreads)}
	}
	return nil
}

// check refuses values that no model could accept.
func (f *flags) check() error {
	if err := errors.Join(checkModel(f.model), checkDriver(f.driver), checkThreads(f.threads)); err != nil {
		return err
	}
	changed := f.cmd.Flags().Changed
	switch {
	case f.dtype != "bf16" && f.dtype != "f32":
		return usageError{fmt.Errorf("--dtype %q: want bf16 or f32", f.dtype)}
	case f.chunk < 0 || f.chunk > kernels.MaxRows:
		return usageError{fmt.Errorf("--chunk %d: want 0 to %d", f.chunk, kernels.MaxRows)}
	case changed("max-tokens") && f.maxTokens < 1:
		return usageError{fmt.Errorf("--max-tokens %d: want at least 1", f.maxTokens)}
	}
	for _, s := range f.stop {
		if s == "" {
			return usageError{errors.New("--stop: the text is empty")}
		}
		if err := checkText("--stop", s); err != nil {
			return err
		}
	}
	return checkText("the system prompt", f.system)
}

// open opens the model, showing progress where a person can see it.
func (f *flags) open(ctx context.Context, t terminal) (*app.Model, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	dtype := kernels.BF16
	if f.dtype == "f32" {
		dtype = kernels.F32
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	bar := newProgress(t.err)
	defer bar.clear()
	m, err := app.Open(ctx, app.Options{
		Model: f.model, Driver: f.driver, DType: dtype, Chunk: f.chunk, Threads: f.threads, RawOnly: f.raw,
		Progress: bar.loading,
		Warn:     func(s string) { bar.clear(); fmt.Fprintf(t.err, "sotto: warning: %s\n", s) },
	})
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil { // an interrupt that came too late to stop the opening still counts
		return nil, errors.Join(ctx.Err(), m.Close())
	}
	return m, nil
}

// request fills in what the flags say of an answer.
func (f *flags) request(m *app.Model) (engine.Request, error) {
	s := m.Engine.Info().Sampling
	changed := f.cmd.Flags().Changed
	if changed("temperature") {
		s.Temperature = f.temperature
	}
	if changed("top-p") {
		s.TopP = f.topP
	}
	if changed("top-k") {
		s.TopK = f.topK
	}
	if changed("min-p") {
		s.MinP = f.minP
	}
	s.Seed = f.seed
	if !changed("seed") {
		s.Seed = rand.Uint64N(1 << 53) // every reader of JSON takes it exactly
	}
	if err := s.Validate(); err != nil {
		return engine.Request{}, usageError{err}
	}
	return engine.Request{Sampling: s, MaxTokens: f.maxTokens, Stop: f.stop}, nil
}

// isTerminal says whether a person reads what is written to w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}
