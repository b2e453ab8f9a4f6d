//go:build linux && amd64

package vectors

import (
	"bytes"
	"context"
	"testing"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// block is the unit in which memory that a kernel does not look at is cleared: such memory need not be kept.
const block = 2048

// minimise clears what the recorded runs do not depend on, in large variables: pages of keys behind the text, other
// sessions' state.
func minimise(t *testing.T, dev gpu.Device, c *candidate) {
	t.Helper()
	r := rerun{t: t, dev: dev, c: c}
	r.compile()
	defer r.free()
	for i, b := range c.before {
		for from := 0; len(b) > 4*block && from < len(b); from += block {
			end := min(from+block, len(b))
			if bytes.Equal(b[from:end], make([]byte, end-from)) {
				continue
			}
			kept := bytes.Clone(b[from:end])
			clear(b[from:end])
			if !r.same(i, from, end) {
				copy(b[from:end], kept)
			} else if c.after[i] != nil {
				clear(c.after[i][from:end])
			}
		}
	}
}

type rerun struct {
	t       *testing.T
	dev     gpu.Device
	c       *candidate
	buffers []gpu.Buffer
	step    gpu.Buffer
	exec    gpu.Exec
}

func (r *rerun) alloc(n int64) gpu.Buffer {
	r.t.Helper()
	b, err := r.dev.Alloc(n)
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

func (r *rerun) compile() {
	r.t.Helper()
	s := Set{Blobs: r.c.before}
	v := Vector{Covers: []string{"minimise"}}
	for i := range r.c.before {
		v.Vars = append(v.Vars, Var{Before: i})
	}
	v.Ops = r.c.ops()
	p, regions, err := s.program(&v)
	if err != nil {
		r.t.Fatal(err)
	}
	bind := map[*gpu.Region]gpu.Buffer{}
	for i, b := range r.c.before {
		r.buffers = append(r.buffers, r.alloc(int64(len(b))))
		bind[regions[i]] = r.buffers[i]
	}
	r.step = r.alloc(kernels.StepBytes)
	if r.exec, err = r.dev.Compile(context.Background(), p, bind); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rerun) free() {
	r.exec.Free()
	for _, b := range append(r.buffers, r.step) {
		b.Free()
	}
}

// same runs from what is in before, and tells whether everything outside [from, end) of variable i comes out as
// recorded, and nothing is written inside.
func (r *rerun) same(i, from, end int) bool {
	r.t.Helper()
	for j, b := range r.c.before {
		copy(r.buffers[j].Bytes(), b)
	}
	copy(r.step.Bytes(), r.c.step)
	n, err := r.dev.Submit(r.exec, r.step)
	if err == nil {
		err = r.dev.Wait(r.t.Context(), n)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	for j, want := range r.c.after {
		got := r.buffers[j].Bytes()[:len(r.c.before[j])]
		switch {
		case want == nil:
		case j != i:
			if !bytes.Equal(got, want) {
				return false
			}
		case !bytes.Equal(got[:from], want[:from]) || !bytes.Equal(got[end:], want[end:]),
			!bytes.Equal(got[from:end], make([]byte, end-from)):
			return false
		}
	}
	return r.c.stepAfter == nil || bytes.Equal(r.step.Bytes()[:kernels.StepBytes], r.c.stepAfter)
}
