// Package engine is what front ends use: open a model, start sessions, generate. It joins the parts below it
// (weights, model, tokenizer, template, worker) and adds no behaviour of its own but text: messages become ids,
// ids become text, stop strings end an answer.
package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"sotto/engine/gpu"
	"sotto/engine/model"
	"sotto/engine/nn"
	"sotto/engine/prompt"
	"sotto/engine/run"
	"sotto/engine/sample"
	"sotto/engine/token"
	"sotto/engine/weights"
	"sotto/kernels"
)

// Options say how a model is opened.
type Options struct {
	Device gpu.Device // taken over: closed by Close, and by Open on an error
	// Reopen opens the device again after it was lost; nil: it stays lost.
	Reopen    func() (gpu.Device, error)
	DType     kernels.DType     // type of activations
	Chunk     int               // rows of a prefill chunk; 0: what takes the device about 100 ms
	Sessions  int               // texts whose state is kept at a time, fewer if memory is short; 0: 1
	RawOnly   bool              // a checkpoint without a chat template will do
	Without   nn.Ablation       // techniques to do without, to measure what they are worth
	PackDir   string            // folder of this checkpoint's packed weights, and of nothing else
	Manifests weights.Manifests // what is known of them
	Progress  func(Loading)     // may be nil; called from Open
	Warn      func(string)      // may be nil; defects that do not keep the model from working
}

// Stages of opening a model.
const (
	StageCompiling = "compiling" // the device's kernels
	StagePacking   = string(weights.Packing)
	StageVerifying = string(weights.Verifying)
)

// Loading is the progress of Open, and of opening the device before it.
type Loading struct {
	Stage       string
	Done, Total int64 // bytes; kernels when compiling
}

// Info describes an open model.
type Info struct {
	Family string // model_type
	Window int    // tokens
	// WholeWindow is what the model could hold; Window is less where memory is short.
	WholeWindow int
	Sessions    int // texts whose state is kept at a time
	Vocab       int
	Sampling    sample.Settings // the checkpoint's own defaults
	Caps        gpu.Caps
	Weights     int64    // bytes of packed weights
	Layers      []string // what each decoder layer is made of, "delta + experts"
}

// Engine is an open model on a device. Its methods may be called from several goroutines.
type Engine struct {
	info      Info
	tokenizer *token.Tokenizer
	template  *prompt.Template // nil if the checkpoint has none
	stops     []int32
	pack      *weights.Pack
	worker    *run.Worker
}

// Open reads a model folder and makes it ready. On an error the device is closed.
func Open(ctx context.Context, dir fs.FS, o Options) (*Engine, error) {
	if o.Progress == nil {
		o.Progress = func(Loading) {}
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	e := &Engine{}
	spec, err := e.load(ctx, dir, o)
	if err != nil {
		return nil, errors.Join(err, e.closePack(), o.Device.Close())
	}
	c := o.config(spec)
	c.Layout, c.Pack = e.pack.Layout(), e.pack.Bytes()
	e.worker, err = run.Open(ctx, c)
	if err != nil {
		return nil, errors.Join(err, e.closePack())
	}
	e.info.Window, e.info.WholeWindow = e.worker.Window(), e.worker.WholeWindow()
	e.info.Sessions = e.worker.Sessions()
	if e.info.Window < e.info.WholeWindow {
		o.Warn(fmt.Sprintf("memory is short: prompts and answers may have %d tokens, not %d",
			e.info.Window, e.info.WholeWindow))
	}
	return e, nil
}

// config is what the worker is told, but for the weights.
func (o Options) config(spec *model.Spec) run.Config {
	return run.Config{
		Device: o.Device, Reopen: o.Reopen, Spec: spec, DType: o.DType, Chunk: o.Chunk, Sessions: o.Sessions,
		Without: o.Without,
	}
}

// load reads everything but the device's part.
func (e *Engine) load(ctx context.Context, dir fs.FS, o Options) (spec *model.Spec, err error) {
	config, err := readFile(dir, "config.json", model.MaxFile)
	if err != nil {
		return nil, err
	}
	generation, err := readFile(dir, "generation_config.json", model.MaxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		o.Warn(err.Error())
	}
	ckpt, err := weights.OpenCheckpoint(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ckpt.Close()) }()
	spec, warnings, err := model.Parse(config, generation, ckpt)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		o.Warn(w.String())
	}
	if err := o.Without.Check(spec); err != nil {
		return nil, err
	}
	if err := e.loadText(dir, spec, o.RawOnly); err != nil {
		return nil, err
	}
	if err := run.Supports(o.config(spec)); err != nil {
		return nil, err
	}
	e.pack, err = weights.Ensure(ctx, ckpt, spec.Recipe(), o.PackDir, o.Manifests, func(p weights.Progress) {
		o.Progress(Loading{string(p.Stage), p.Done, p.Total})
	})
	if err != nil {
		return nil, err
	}
	d := spec.Sampling
	e.info = Info{
		Family: spec.Family, Vocab: spec.Vocab, Caps: o.Device.Caps(), Weights: int64(len(e.pack.Bytes())),
		Layers:   spec.Kinds(),
		Sampling: sample.Settings{Temperature: d.Temperature, TopP: d.TopP, MinP: d.MinP, TopK: d.TopK},
	}
	return spec, nil
}

// readFile reads a file of at most limit bytes; nothing is allocated for a longer one.
func readFile(dir fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(dir, name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", name)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s: %d bytes, at most %d are read", name, info.Size(), limit)
	}
	return fs.ReadFile(dir, name)
}

// loadText reads tokenizer and template and joins the end ids of all sources.
func (e *Engine) loadText(dir fs.FS, spec *model.Spec, rawOnly bool) error {
	data, err := readFile(dir, "tokenizer.json", token.MaxFile)
	if err != nil {
		return err
	}
	if e.tokenizer, err = token.Load(data); err != nil {
		return err
	}
	if n := e.tokenizer.Vocab(); n > spec.Vocab {
		return fmt.Errorf("tokenizer.json has ids up to %d, the model's vocabulary ends at %d", n-1, spec.Vocab-1)
	}
	source, err := prompt.Find(dir)
	switch {
	case errors.Is(err, prompt.ErrNoTemplate) && rawOnly:
	case err != nil:
		return err
	default:
		if e.template, err = prompt.New(source, e.tokenizer.Added()); err != nil {
			return err
		}
	}
	for _, id := range spec.Stops {
		e.stops = append(e.stops, int32(id))
	}
	if id, ok := e.tokenizer.ID(source.Tokens["eos_token"]); ok {
		e.stops = appendNew(e.stops, id)
	}
	if len(e.stops) > kernels.MaxStops {
		return fmt.Errorf("%d end ids, at most %d are possible", len(e.stops), kernels.MaxStops)
	}
	return nil
}

func appendNew(list []int32, id int32) []int32 {
	for _, have := range list {
		if have == id {
			return list
		}
	}
	return append(list, id)
}

// Info describes the model.
func (e *Engine) Info() Info { return e.info }

// TokenText is the text of one token; bytes that are no whole character are replaced by U+FFFD.
func (e *Engine) TokenText(id int32) string { return e.tokenizer.Decode([]int32{id}) }

// TokenBytes is what one token stands for; a character may be spread over several.
func (e *Engine) TokenBytes(id int32) []byte { return []byte(e.tokenizer.Bytes(id)) }

// Close ends what runs and frees everything.
func (e *Engine) Close() error { return errors.Join(e.worker.Close(), e.closePack()) }

func (e *Engine) closePack() error {
	if e.pack == nil {
		return nil
	}
	p := e.pack
	e.pack = nil
	return p.Close()
}
