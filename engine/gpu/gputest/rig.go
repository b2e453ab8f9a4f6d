package gputest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// guardBytes lie before and after every argument. The number is an odd multiple of 16, so that arguments are
// aligned as badly as the contract allows.
const guardBytes = 4096 + gpu.Align

// seeds are the shuffles that every run is repeated with, where the device can shuffle.
var seeds = [...]uint64{1, 2, 0x9e3779b97f4a7c15}

// shuffler is a device that can run simdgroups, threadgroups and the ops of a stage in another order.
type shuffler interface{ SetSeed(seed uint64) }

// RunOp runs one op and returns its arguments' bytes after it, in order. See [Rig.Run] for what it checks.
func RunOp(t testing.TB, dev gpu.Device, l kernels.Launch, args ...Data) [][]byte {
	t.Helper()
	r := NewRig(t, dev)
	vars := make([]*Var, len(args))
	for i, a := range args {
		vars[i] = r.Var(a)
	}
	r.Op(l, vars...)
	r.Run()
	out := make([][]byte, len(vars))
	for i, v := range vars {
		out[i] = v.Out()
	}
	return out
}

// Rig runs a list of ops on test data. It gives every variable guard words before and after, and leaves the
// computing of stages to the device, so that missing barriers show.
type Rig struct {
	t    testing.TB
	dev  gpu.Device
	vars []*Var
	step []byte // initial step buffer, nil if none was given
	prog gpu.Program
}

// Var is one piece of memory that ops of a rig share.
type Var struct {
	data    Data
	region  *gpu.Region
	buf     gpu.Buffer
	written bool // by an op
	out     []byte
}

// Out is the content after the run: for [StepData] the whole step buffer.
func (v *Var) Out() []byte { return v.out }

// NewRig prepares an empty list of ops.
func NewRig(t testing.TB, dev gpu.Device) *Rig {
	return &Rig{t: t, dev: dev, prog: gpu.Program{Name: t.Name(), Rows: 1}}
}

// Var adds a piece of memory.
func (r *Rig) Var(d Data) *Var {
	r.t.Helper()
	v := &Var{data: d}
	switch {
	case d.step && r.step != nil:
		r.t.Fatal("two step buffers in one run")
	case d.step:
		v.region, r.step = gpu.Step, d.init
	case d.size > 0:
		v.region = &gpu.Region{Name: fmt.Sprintf("v%d", len(r.vars)), Size: guardBytes + d.size + guardBytes}
	}
	r.vars = append(r.vars, v)
	return v
}

// Op adds an op on these variables.
func (r *Rig) Op(l kernels.Launch, vars ...*Var) {
	r.t.Helper()
	if l.Kernel == nil || len(vars) != len(l.Kernel.Args) {
		r.t.Fatalf("kernel %v with %d arguments", l.Kernel, len(vars))
	}
	op := gpu.Op{Launch: l, Label: fmt.Sprintf("number %d", len(r.prog.Ops))}
	for i, v := range vars {
		s := gpu.Slice{Region: v.region, Len: v.data.size}
		if v.region != nil && !v.data.step {
			s.Off = guardBytes
		}
		op.Args = append(op.Args, s)
		v.written = v.written || l.Kernel.Args[i].Access&kernels.Write != 0
	}
	r.prog.Ops = append(r.prog.Ops, op)
}

// Run runs the list from the initial data: once in the natural order, once more, and once for each seed where
// the device can shuffle. All runs must leave the same bytes, guard words untouched, and what no op writes
// unchanged.
func (r *Rig) Run() {
	r.t.Helper()
	bind := map[*gpu.Region]gpu.Buffer{}
	for _, v := range r.vars {
		if v.region != nil && !v.data.step {
			v.buf = r.alloc(v.region.Size)
			defer v.buf.Free()
			bind[v.region] = v.buf
		}
	}
	step := r.alloc(kernels.StepBytes + guardBytes)
	defer step.Free()
	x, err := r.dev.Compile(r.t.Context(), &r.prog, bind)
	if err != nil {
		r.t.Fatal(err)
	}
	defer x.Free()
	r.once(x, step, "first run", true)
	r.once(x, step, "second run", false)
	if s, ok := r.dev.(shuffler); ok {
		defer s.SetSeed(0)
		for _, seed := range seeds {
			s.SetSeed(seed)
			r.once(x, step, fmt.Sprintf("shuffled with seed %d", seed), false)
		}
	}
}

func (r *Rig) alloc(n int64) gpu.Buffer {
	r.t.Helper()
	b, err := r.dev.Alloc(n)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// once runs from the initial data. The first run keeps the outputs, later ones compare with them.
func (r *Rig) once(x gpu.Exec, step gpu.Buffer, what string, first bool) {
	r.t.Helper()
	fill(step.Bytes(), guard)
	copy(step.Bytes(), r.step)
	for _, v := range r.vars {
		if v.buf != nil {
			fill(v.buf.Bytes(), guard)
			copy(v.buf.Bytes()[guardBytes:], v.data.init)
		}
	}
	n, err := r.dev.Submit(x, step)
	if err == nil {
		err = r.dev.Wait(r.t.Context(), n)
	}
	if err != nil {
		r.t.Fatalf("%s: %v", what, err)
	}
	r.guarded(what, "after the step buffer", step.Bytes(), kernels.StepBytes, len(step.Bytes()))
	for i, v := range r.vars {
		r.inspect(v, step, fmt.Sprintf("variable %d", i), what, first)
	}
}

func (r *Rig) inspect(v *Var, step gpu.Buffer, name, what string, first bool) {
	r.t.Helper()
	var got []byte
	switch {
	case v.data.step:
		got = step.Bytes()[:kernels.StepBytes]
	case v.buf != nil:
		mem := v.buf.Bytes()
		end := guardBytes + len(v.data.init)
		r.guarded(what, "before "+name, mem, 0, guardBytes)
		r.guarded(what, "after "+name, mem, end, len(mem))
		got = mem[guardBytes:end]
	}
	if i := differ(got, v.data.init); i >= 0 && !v.written {
		r.t.Fatalf("%s: %s is only read, but its byte %d changed", what, name, i)
	}
	if first {
		v.out = bytes.Clone(got)
	} else if i := differ(got, v.out); i >= 0 {
		r.t.Fatalf("%s: %s differs from the first run at byte %d", what, name, i)
	}
}

// guarded checks that mem[from:to] still holds guard words.
func (r *Rig) guarded(what, where string, mem []byte, from, to int) {
	r.t.Helper()
	var w [4]byte
	binary.LittleEndian.PutUint32(w[:], guard)
	for i := from; i < to; i++ {
		if mem[i] != w[i&3] {
			r.t.Fatalf("%s: a guard word %s was overwritten, %d bytes into %d", what, where, i-from, to-from)
		}
	}
}

// differ is the first index where a and b differ, or -1.
func differ(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
