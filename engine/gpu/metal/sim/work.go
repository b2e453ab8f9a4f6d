package sim

import (
	"bytes"
	"context"
	"fmt"

	"sotto/engine/gpu"
	"sotto/kernels"
)

const argumentAlign = gpu.Align

// dispatch is one dispatch of a command buffer.
type dispatch struct {
	pipe       *pipeline
	grid       [3]uint32
	simdgroups uint32
	params     []byte // in the buffer that holds them
	first      int    // its arguments in work.bound
	known      *registered
}

// length is the size of argument i in bytes, 0 where it is not known.
func (d *dispatch) length(i int) int64 {
	if d.known == nil {
		return 0
	}
	return d.known.sizes[i]
}

// work is what a command buffer dispatches.
type work struct {
	dispatches []dispatch
	bound      []binding
}

func (w *work) arguments(d *dispatch) []binding {
	return w.bound[d.first : d.first+len(d.pipe.kernel.Args)]
}

// step is the step buffer of a dispatch, or nil.
func (w *work) step(d *dispatch) *buffer {
	if d.pipe.step < 0 {
		return nil
	}
	return w.bound[d.first+d.pipe.step].object.buffer
}

// segment is the longest run of dispatches from first on, before last, that see one step buffer and are
// the host driver's.
func (w *work) segment(first, last int) (end int, step *buffer) {
	for end = first; end < last; end++ {
		if w.dispatches[end].pipe.emulation != nil {
			break
		}
		s := w.step(&w.dispatches[end])
		if s != nil && step != nil && s != step {
			break
		}
		if s != nil {
			step = s
		}
	}
	return end, step
}

// program is a run of dispatches compiled for the host driver.
type program struct {
	exec    gpu.Exec
	ops     []programOp
	buffers map[*buffer]bool
	used    uint64 // when it ran last
}

// programOp is what makes a dispatch what it is.
type programOp struct {
	pipe       *pipeline
	grid       [3]uint32
	simdgroups uint32
	params     []byte
	known      *registered
	args       []argument
}

type argument struct {
	buffer *buffer // nil: the step buffer
	off    int64
}

// programs are compiled by content, so that what is encoded again costs little.
type programs struct {
	byHash map[uint64][]*program
	count  int
	clock  uint64
}

// maxPrograms bounds how many are kept.
const maxPrograms = 256

func (ps *programs) init() { ps.byHash = map[uint64][]*program{} }

// hash mixes what tells programs apart but the parameters' content.
func (w *work) hash(first, end int) uint64 {
	h := uint64(14695981039346656037)
	mix := func(v uint64) { h = (h ^ v) * 1099511628211; h ^= h >> 29 }
	for i := first; i < end; i++ {
		d := &w.dispatches[i]
		mix(d.pipe.id)
		mix(uint64(d.grid[0])<<32 | uint64(d.grid[1]))
		mix(uint64(d.grid[2])<<32 | uint64(d.simdgroups))
		for j, b := range w.arguments(d) {
			if j != d.pipe.step {
				mix(uint64(b.object.buffer.base) + uint64(b.off))
			}
		}
	}
	return h
}

// is reports whether a program is exactly these dispatches.
func (p *program) is(w *work, first, end int) bool {
	if len(p.ops) != end-first {
		return false
	}
	for i := range p.ops {
		o, d := &p.ops[i], &w.dispatches[first+i]
		if o.pipe != d.pipe || o.grid != d.grid || o.simdgroups != d.simdgroups || o.known != d.known ||
			!bytes.Equal(o.params, d.params) {
			return false
		}
		for j, b := range w.arguments(d) {
			if j != d.pipe.step && (o.args[j].buffer != b.object.buffer || o.args[j].off != b.off) {
				return false
			}
		}
	}
	return true
}

// program returns dispatches first to end as a program of the host driver.
func (r *Runtime) program(w *work, first, end int) (*program, error) {
	h := w.hash(first, end)
	r.programs.clock++
	for _, p := range r.programs.byHash[h] {
		if p.is(w, first, end) {
			p.used = r.programs.clock
			return p, nil
		}
	}
	p, err := r.compile(w, first, end)
	if err != nil {
		return nil, err
	}
	r.programs.makeRoom()
	r.programs.byHash[h] = append(r.programs.byHash[h], p)
	r.programs.count++
	r.stats.Programs++
	return p, nil
}

// compile makes a program. The host driver orders ops by the ranges that they use, in the order of encoding, so it
// runs them as barriers in the right places would; a barrier that is missing has been found before.
func (r *Runtime) compile(w *work, first, end int) (*program, error) {
	p := &program{buffers: map[*buffer]bool{}, used: r.programs.clock}
	g := &gpu.Program{Name: "command buffer", Rows: 1}
	bind := map[*gpu.Region]gpu.Buffer{}
	for i := first; i < end; i++ {
		d := &w.dispatches[i]
		o := programOp{d.pipe, d.grid, d.simdgroups, bytes.Clone(d.params), d.known, nil}
		op := gpu.Op{Label: fmt.Sprintf("dispatch %d", i), Launch: kernels.Launch{
			Kernel: d.pipe.kernel, Params: o.params, Grid: d.grid, Simdgroups: d.simdgroups,
		}}
		for j, b := range w.arguments(d) {
			n := d.length(j)
			if j == d.pipe.step {
				if n == 0 {
					n = kernels.StepBytes
				}
				op.Args = append(op.Args, gpu.Slice{Region: gpu.Step, Len: n})
				o.args = append(o.args, argument{})
				continue
			}
			m := b.object.buffer
			if n == 0 {
				n = m.length() - b.off
			}
			p.buffers[m] = true
			bind[m.region] = m.memory
			op.Args = append(op.Args, gpu.Slice{Region: m.region, Off: b.off, Len: n})
			o.args = append(o.args, argument{m, b.off})
		}
		g.Ops = append(g.Ops, op)
		p.ops = append(p.ops, o)
	}
	x, err := r.host.Compile(context.Background(), g, bind)
	p.exec = x
	return p, err
}

// makeRoom frees the program that was not used for the longest time when there are too many.
func (ps *programs) makeRoom() {
	if ps.count < maxPrograms {
		return
	}
	var oldest *program
	for _, list := range ps.byHash {
		for _, p := range list {
			if oldest == nil || p.used < oldest.used {
				oldest = p
			}
		}
	}
	ps.drop(func(p *program) bool { return p == oldest })
}

// discard frees the programs that use a buffer, or all.
func (ps *programs) discard(b *buffer) {
	ps.drop(func(p *program) bool { return b == nil || p.buffers[b] })
}

func (ps *programs) drop(which func(*program) bool) {
	for h, list := range ps.byHash {
		kept := list[:0]
		for _, p := range list {
			if which(p) {
				p.exec.Free()
				ps.count--
			} else {
				kept = append(kept, p)
			}
		}
		clear(list[len(kept):])
		if ps.byHash[h] = kept; len(kept) == 0 {
			delete(ps.byHash, h)
		}
	}
}
