package gputest

import (
	"math"
	"testing"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// The conformance suite's programs are norms of a few rows: small, and each result depends on its input.
const (
	benchRows  = 4
	benchDim   = 64
	benchBytes = benchRows * benchDim * 4 // float32
	benchSlots = 32                       // activations
	benchEps   = 1e-5
)

// bench is a device with a norm's weights and a row of activations, slot 0 filled.
type bench struct {
	t       testing.TB
	dev     gpu.Device
	w, act  *gpu.Region
	buffers map[*gpu.Region]gpu.Buffer
	input   []float32
	weights []float32
}

func newBench(t testing.TB, dev gpu.Device) *bench {
	t.Helper()
	r := Rand(t.Name())
	b := &bench{
		t: t, dev: dev,
		w:       &gpu.Region{Name: "weights", Size: benchDim * 2},
		act:     &gpu.Region{Name: "activations", Size: benchSlots * benchBytes},
		buffers: map[*gpu.Region]gpu.Buffer{},
		input:   Normal(r, kernels.F32, benchRows*benchDim),
		weights: Normal(r, kernels.BF16, benchDim),
	}
	for _, region := range []*gpu.Region{b.w, b.act} {
		b.buffers[region] = b.alloc(region.Size)
	}
	copy(b.buffers[b.w].Bytes(), BF16Bytes(b.weights))
	b.reset()
	return b
}

func (b *bench) alloc(n int64) gpu.Buffer {
	b.t.Helper()
	buf, err := b.dev.Alloc(n)
	if err != nil {
		b.t.Fatal(err)
	}
	return buf
}

// reset fills slot 0 with the input and poisons the others.
func (b *bench) reset() {
	mem := b.buffers[b.act].Bytes()
	fill(mem, poison)
	copy(mem, F32Bytes(b.input))
}

func (b *bench) slot(i int) gpu.Slice {
	return gpu.Slice{Region: b.act, Off: int64(i) * benchBytes, Len: benchBytes}
}

// norm is y = RMSNorm(x).
func (b *bench) norm(x, y gpu.Slice) gpu.Op {
	b.t.Helper()
	l, err := kernels.RMSNorm{DType: kernels.F32, Rows: benchRows, D: benchDim, Eps: benchEps}.Launch()
	if err != nil {
		b.t.Fatal(err)
	}
	w := gpu.Slice{Region: b.w, Len: benchDim * 2}
	return gpu.Op{Launch: l, Label: "norm", Args: []gpu.Slice{wholeRecord(), x, w, y}}
}

func wholeRecord() gpu.Slice { return gpu.Slice{Region: gpu.Step, Len: kernels.RingOffset} }

// chain norms slot 0 into slot 1, slot 1 into slot 2, and so on.
func (b *bench) chain(n int) *gpu.Program {
	b.t.Helper()
	p := &gpu.Program{Name: "chain", Rows: benchRows}
	for i := range n {
		p.Ops = append(p.Ops, b.norm(b.slot(i), b.slot(i+1)))
	}
	return p
}

// reference is the input after n norms, in float64 with each result rounded to float32.
func (b *bench) reference(n int) []float64 {
	v := make([]float64, len(b.input))
	for i, x := range b.input {
		v[i] = float64(x)
	}
	for range n {
		for row := range benchRows {
			x := v[row*benchDim : (row+1)*benchDim]
			sum := 0.0
			for _, a := range x {
				sum += a * a
			}
			scale := 1 / math.Sqrt(sum/benchDim+benchEps)
			for i := range x {
				x[i] = float64(float32(x[i] * scale * float64(b.weights[i])))
			}
		}
	}
	return v
}

func (b *bench) compile(p *gpu.Program) gpu.Exec {
	b.t.Helper()
	x, err := b.dev.Compile(b.t.Context(), p, b.buffers)
	if err != nil {
		b.t.Fatal(err)
	}
	return x
}

// step is a new step buffer.
func (b *bench) step(r StepRecord) gpu.Buffer {
	b.t.Helper()
	buf := b.alloc(kernels.StepBytes)
	copy(buf.Bytes(), StepData(r).init)
	return buf
}

// live is r with n live rows.
func (r StepRecord) live(n uint32) StepRecord {
	r.Params.Rows, r.Params.Active = n, 1
	return r
}

func (b *bench) submit(x gpu.Exec, step gpu.Buffer) uint64 {
	b.t.Helper()
	n, err := b.dev.Submit(x, step)
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

func (b *bench) wait(n uint64) {
	b.t.Helper()
	if err := b.dev.Wait(b.t.Context(), n); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) run(x gpu.Exec, step gpu.Buffer) {
	b.t.Helper()
	b.wait(b.submit(x, step))
}

// read is the content of a slice.
func (b *bench) read(s gpu.Slice) []float32 {
	return ToF32(b.buffers[s.Region].Bytes()[s.Off : s.Off+s.Len])
}

func (b *bench) check(what string, s gpu.Slice, want []float64) {
	b.t.Helper()
	Check(b.t, what, b.read(s), want, TolOf(kernels.F32))
}
