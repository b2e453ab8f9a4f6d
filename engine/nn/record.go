// Package nn records programs: a model's Spec, where its weights and state lie, and a row class become a flat list of
// ops. One file holds one kind of block; norms, embedding and head are in their own.
//
// A pass is embed, then for each block a norm and its mixer, which adds to the residual stream in place, then the
// final norm, the head and the sampler. Scratch is handed out per block and reused by the next one, which costs no
// stage because the residual stream orders the blocks anyway. Programs are constant: what changes from pass to pass
// is in the step buffer. The package allocates no device memory and runs nothing.
package nn

import (
	"errors"
	"fmt"

	"sotto/engine/gpu"
	"sotto/engine/model"
	"sotto/engine/state"
	"sotto/engine/weights"
	"sotto/kernels"
)

// MaxDecodeRows is the largest row class of decode and verification; larger ones are prefill.
const MaxDecodeRows = 5

// Sampler says how a pass ends.
type Sampler uint8

// Samplers.
const (
	NoSampler Sampler = iota // the host moves the step on
	Greedy                   // the most probable token
	Sampled                  // what the step record asks for, with log-probabilities
)

// Logits says which rows the head is computed for.
type Logits uint8

// Rows with logits.
const (
	NoLogits   Logits = iota
	LastLogits        // the last live row
	AllLogits         // every row
)

// Model is what programs are recorded from.
type Model struct {
	Spec    *model.Spec
	Weights *weights.Layout // of Spec.Recipe
	State   *state.Layout   // of Spec
}

// Options choose a program.
type Options struct {
	Rows    int // row class
	Sampler Sampler
	Logits  Logits
	// Context is the number of positions that printed byte counts assume to be in the cache; 0: 4096, or the window
	// if that is less. It changes no launch.
	Context int
	// Live is the share of neurons that printed byte counts assume alive where dead ones are not read; 0: all. It
	// changes no launch.
	Live float64
	// Masks keeps what Pass.Masks tells of until the pass has ended.
	Masks bool
	// Depth, if not 0, ends the program after so many blocks: Hidden is then the residual stream there. Neither
	// logits nor a sampler can follow.
	Depth   int
	Without Ablation // techniques to do without
}

// Pass is a recorded program with the ranges that its user needs. Its activations have the type of the state.
type Pass struct {
	*gpu.Program
	Weights *gpu.Region // the pack
	Scratch *gpu.Region // may be shared by passes that do not run at the same time
	Hidden  gpu.Slice   // T [Rows][Hidden]: the residual stream after the last block
	Logits  gpu.Slice   // f32 [1 or Rows][Vocab]; empty without logits
	Masks   []Masks     // of each sparse mixture of experts, in their order; with Options.Masks
}

// Bind joins the buffers that the program needs at compile time: the pack, scratch of at least Scratch.Size bytes,
// and the state arenas.
func (p *Pass) Bind(pack, scratch gpu.Buffer, arenas map[*gpu.Region]gpu.Buffer) map[*gpu.Region]gpu.Buffer {
	bind := map[*gpu.Region]gpu.Buffer{p.Weights: pack, p.Scratch: scratch}
	for r, b := range arenas {
		bind[r] = b
	}
	return bind
}

// Record writes the program of a row class. Shapes that no kernel covers yield a *kernels.UnsupportedError.
func Record(m Model, o Options) (*Pass, error) { return record(m, o, 0) }

// record is Record; a gap other than 0 keeps scratch ranges apart by so many bytes and reuses none.
func record(m Model, o Options, gap int64) (*Pass, error) {
	if err := check(m, &o); err != nil {
		return nil, err
	}
	r := &recorder{
		Model: m, Options: o, dtype: m.State.DType, gap: gap,
		pack:    &gpu.Region{Name: "weights", Size: m.Weights.Size()},
		scratch: &gpu.Region{Name: "scratch"},
	}
	p := &Pass{Program: &gpu.Program{
		Name: o.name(), Rows: o.Rows, Serial: o.Without&Concurrent != 0,
	}, Weights: r.pack, Scratch: r.scratch}
	r.pass(p)
	if r.err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, r.err)
	}
	p.Ops = r.ops
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return p, nil
}

func (o Options) name() string {
	kind := "prefill"
	if o.Rows <= MaxDecodeRows {
		kind = "decode"
	}
	return fmt.Sprintf("%s %d", kind, o.Rows)
}

func check(m Model, o *Options) error {
	if o.Context == 0 {
		o.Context = 4096
	}
	o.Context = min(max(o.Context, o.Rows), m.State.Window)
	if o.Depth == 0 {
		o.Depth = len(m.Spec.Blocks)
	} else if o.Logits != NoLogits {
		return errors.New("a program cut short has no logits")
	}
	switch {
	case len(m.Spec.Blocks) == 0 || o.Depth < 0 || o.Depth > len(m.Spec.Blocks):
		return fmt.Errorf("%d of %d blocks", o.Depth, len(m.Spec.Blocks))
	case o.Rows < 1 || o.Rows > kernels.MaxRows:
		return fmt.Errorf("row class %d, want 1 to %d", o.Rows, kernels.MaxRows)
	case !(o.Live >= 0 && o.Live <= 1):
		return fmt.Errorf("a share of %v live neurons", o.Live)
	case o.Sampler != NoSampler && o.Logits != LastLogits:
		return errors.New("a sampler needs the logits of the last row and no others")
	case len(m.State.Blocks) != len(m.Spec.Blocks):
		return fmt.Errorf("state of %d blocks for a model of %d", len(m.State.Blocks), len(m.Spec.Blocks))
	}
	return nil
}

// recorder collects the ops of one program. The first error is kept; later calls then do nothing of use.
type recorder struct {
	Model
	Options
	dtype         kernels.DType
	pack, scratch *gpu.Region
	ops           []gpu.Op
	top, gap      int64 // end of the scratch in use; see [record]
	base          int64 // end of the scratch that blocks do not reuse
	masks         []Masks
	label         string // of the block under way, "layer 3: "
	err           error
}

// pass writes the whole pass.
func (r *recorder) pass(p *Pass) {
	x := r.alloc(r.Rows, r.Spec.Hidden, r.dtype.Size())
	xn := r.alloc(r.Rows, r.Spec.Hidden, r.dtype.Size())
	p.Hidden = x
	r.embed(r.Spec.Blocks[0].Norm, x, xn)
	r.base = r.top
	normed := true
	for i, b := range r.Spec.Blocks[:r.Depth] {
		r.label = fmt.Sprintf("layer %d: ", b.Layer)
		if !normed {
			r.norm(b.Norm, x, xn, false)
		}
		normed = r.block(i, x, xn)
		if r.gap == 0 {
			r.top = r.base
		}
	}
	r.label = ""
	p.Logits, p.Masks = r.head(x, xn, normed), r.masks
}

// block writes a block; true means that xn holds x after the norm that comes next.
func (r *recorder) block(i int, x, xn gpu.Slice) bool {
	switch m := r.Spec.Blocks[i].Mixer.(type) {
	case *model.GatedDelta:
		r.gatedDelta(m, r.State.Blocks[i], x, xn)
	case *model.Mamba2:
		r.mamba2(m, r.State.Blocks[i], x, xn)
	case *model.Attention:
		r.attention(m, r.State.Blocks[i], x, xn)
	case *model.MoE:
		r.moe(m, x, xn)
	case *model.SparseMoE:
		return r.sparseMoE(m, i, x, xn)
	default:
		r.fail(fmt.Errorf("block %d: no program for %T", i, m))
	}
	return false
}

// nextNorm is the norm of all rows that follows block i, if one does.
func (r *recorder) nextNorm(i int) (w weights.Item, ok bool) {
	switch {
	case i+1 < r.Depth:
		return r.Spec.Blocks[i+1].Norm, true
	case r.Logits == AllLogits || r.Logits == LastLogits && r.Rows == 1:
		return r.Spec.Norm, true
	}
	return weights.Item{}, false
}

func (r *recorder) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// scratchAlign is the start of every scratch range in bytes.
const scratchAlign = 256

// alloc hands out scratch for n rows of width elements.
func (r *recorder) alloc(n, width int, size int64) gpu.Slice {
	off := (r.top + r.gap + scratchAlign - 1) / scratchAlign * scratchAlign
	s := gpu.Slice{Region: r.scratch, Off: off, Len: int64(n) * int64(width) * size}
	r.top = off + s.Len
	r.scratch.Size = max(r.scratch.Size, r.top+r.gap)
	return s
}

// arg is an argument of an op; touch is as in gpu.Op.
type arg struct {
	gpu.Slice
	touch int64
}

// all binds whole ranges.
func all(slices ...gpu.Slice) []arg {
	out := make([]arg, len(slices))
	for i, s := range slices {
		out[i] = arg{Slice: s}
	}
	return out
}

// stepTouch is what an op reads of the step buffer: its record.
const stepTouch = kernels.RingOffset - kernels.StepOffset

// emit appends an op. The args are those after the step buffer.
func (r *recorder) emit(label string, l kernels.Launch, err error, args ...[]arg) {
	if r.err != nil {
		return
	}
	if err != nil {
		r.fail(fmt.Errorf("%s%s: %w", r.label, label, err))
		return
	}
	op := gpu.Op{
		Launch: l, Label: r.label + label,
		Args: []gpu.Slice{{Region: gpu.Step, Len: kernels.StepBytes}}, Touch: []int64{stepTouch},
	}
	for _, list := range args {
		for _, a := range list {
			op.Args = append(op.Args, a.Slice)
			op.Touch = append(op.Touch, a.touch)
		}
	}
	r.ops = append(r.ops, op)
}

// item finds a vector or matrix in the pack.
func (r *recorder) item(it weights.Item) weights.Entry {
	e, ok := r.Weights.Lookup(it.Name)
	same := e.Format == it.Format || it.Format == weights.NM && e.Format == weights.NM20
	if !ok || e.Rows != it.Rows || e.Cols != it.Cols || e.Experts != it.Experts || !same {
		r.fail(fmt.Errorf("%sthe pack has no %q of %d x %d in %v", r.label, it.Name, it.Rows, it.Cols, it.Format))
	}
	return e
}

func (r *recorder) extent(e weights.Extent) gpu.Slice {
	return gpu.Slice{Region: r.pack, Off: e.Offset, Len: e.Length}
}

// vector binds a vector of the pack.
func (r *recorder) vector(it weights.Item) gpu.Slice { return r.extent(r.item(it).Codes) }

// matrix binds the streams of a matrix. Of whole rows (or experts) only the share part/of is touched; 0 of 0 is all.
func (r *recorder) matrix(it weights.Item, part, of int) []arg {
	e := r.item(it)
	streams := []weights.Extent{e.Codes, e.Scales, e.Biases}
	if it.Format == weights.B16 {
		streams = streams[:1]
	}
	args := make([]arg, len(streams))
	for i, s := range streams {
		args[i].Slice = r.extent(s)
		if part < of {
			args[i].touch = s.Length / int64(of) * int64(part)
		}
	}
	return args
}

// format translates the format in which the pack has an item.
func (r *recorder) format(it weights.Item) kernels.Format {
	switch r.item(it).Format {
	case weights.Q4:
		return kernels.Q4
	case weights.Q8:
		return kernels.Q8
	case weights.B16:
		return kernels.B16
	case weights.NM:
		return kernels.NM
	case weights.NM20:
		return kernels.NM20
	case weights.Vector:
	}
	r.fail(fmt.Errorf("%s%q is no matrix", r.label, it.Name))
	return kernels.B16
}

// roundUp returns the next multiple of m.
func roundUp(n, m int) int { return (n + m - 1) / m * m }
