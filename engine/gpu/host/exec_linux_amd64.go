package host

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"unsafe"

	"sotto/engine/gpu"
)

// The structures that the kernel library reads; they mirror its C side field by field.
type (
	cArgs struct {
		buf   [31]uintptr // 0: parameters
		tgoff [31]uint32
		pad   uint32
	}
	cLimit struct{ dim, offset, div, pad uint32 }
	cOp    struct {
		fn        uintptr
		args      uintptr
		pad0      uintptr
		grid, tg  [3]uint32
		stage     uint32
		nlimits   uint32
		limits    [gpu.MaxLimits]cLimit
		stepIndex int32
		pad1      uint32
	}
)

// noStep is the stepIndex of an op that does not see the step buffer.
const noStep = -1

// paramAlign keeps parameter structs apart in cache.
const paramAlign = 64

// exec is a program packed for the library: ops sorted by stage, their arguments and parameters, all in one
// block outside the Go heap.
type exec struct {
	dev     *Device
	program *gpu.Program
	block   []byte // nil once freed
	ops     []cOp
	buffers []*buffer // bound
}

func (x *exec) Program() *gpu.Program { return x.program }

// Free waits for what is in flight. Freeing twice does nothing.
func (x *exec) Free() {
	if x.block == nil {
		return
	}
	x.dev.queue.drain()
	x.dev.discard(x)
}

func (d *Device) discard(x *exec) {
	delete(d.execs, x)
	unmap(x.block)
	x.block, x.ops = nil, nil
}

// Compile checks the program against the library and the buffers, and packs it. It waits for nothing.
func (d *Device) Compile(_ context.Context, p *gpu.Program, bind map[*gpu.Region]gpu.Buffer) (gpu.Exec, error) {
	if d.isClosed() {
		return nil, &gpu.Error{Op: "compile", Err: gpu.ErrClosed}
	}
	if err := p.Validate(); err != nil {
		return nil, &gpu.Error{Op: "compile", Err: err}
	}
	x := &exec{dev: d, program: p}
	bound, err := gpu.Bindings(p, bind, d.owns)
	if err != nil {
		return nil, &gpu.Error{Op: "compile", Err: fmt.Errorf("program %s: %w", p.Name, err)}
	}
	for _, b := range bound {
		x.buffers = append(x.buffers, b)
	}
	if err := x.pack(bound); err != nil {
		return nil, err
	}
	d.execs[x] = struct{}{}
	return x, nil
}

// owns tells gpu.Bindings about a buffer.
func (d *Device) owns(b *buffer) (live, mapped bool) { return b.dev == d && b.mem != nil, b.mapped }

// pack lays the program out in one block: ops, then arguments, then parameters.
func (x *exec) pack(bound map[*gpu.Region]*buffer) error {
	p := x.program
	size := len(p.Ops) * int(unsafe.Sizeof(cOp{})+unsafe.Sizeof(cArgs{}))
	for i := range p.Ops {
		size += len(p.Ops[i].Params) + paramAlign
	}
	mem, block, err := anonymous(int64(size) + paramAlign)
	if err != nil {
		return &gpu.Error{Op: "compile", Err: fmt.Errorf("program %s: %w", p.Name, err)}
	}
	base := unsafe.Pointer(unsafe.SliceData(mem))
	ops := unsafe.Slice((*cOp)(base), len(p.Ops))
	args := unsafe.Slice((*cArgs)(unsafe.Add(base, len(ops)*int(unsafe.Sizeof(cOp{})))), len(ops))
	free := len(ops) * int(unsafe.Sizeof(cOp{})+unsafe.Sizeof(cArgs{}))
	stages, order := p.Stages(), make([]int, len(ops))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(stages[a], stages[b]) })
	for at, i := range order {
		free = (free + paramAlign - 1) / paramAlign * paramAlign
		params := mem[free : free+len(p.Ops[i].Params)]
		free += copy(params, p.Ops[i].Params)
		if err := x.packOp(&ops[at], &args[at], &p.Ops[i], params, bound); err != nil {
			unmap(block)
			return err
		}
		ops[at].stage = uint32(stages[i])
	}
	x.block, x.ops = block, ops
	return nil
}

func (x *exec) packOp(o *cOp, a *cArgs, op *gpu.Op, params []byte, bound map[*gpu.Region]*buffer) error {
	l := x.dev.lib
	k, ok := l.kernels[op.Kernel.Name]
	if !ok {
		return &gpu.Error{Op: "compile", Kernel: op.Kernel.Name, Err: fmt.Errorf("op %s: not in the kernel library",
			op.Label)}
	}
	threads := op.Simdgroups * uint32(l.simd)
	if k.maxThreads != 0 && threads > k.maxThreads {
		return &gpu.Error{Op: "compile", Kernel: op.Kernel.Name, Err: fmt.Errorf(
			"op %s: %d threads a threadgroup, at most %d", op.Label, threads, k.maxThreads)}
	}
	*o = cOp{
		fn: k.fn, args: uintptr(unsafe.Pointer(a)), grid: op.Grid, tg: [3]uint32{threads, 1, 1},
		nlimits: uint32(len(op.Limits)), stepIndex: noStep,
	}
	for i, lim := range op.Limits {
		o.limits[i] = cLimit{dim: uint32(lim.Dim), offset: lim.Offset, div: lim.Div}
	}
	zero := uintptr(unsafe.Pointer(unsafe.SliceData(x.dev.zero)))
	for i := range a.buf {
		a.buf[i] = zero
	}
	if len(params) > 0 {
		a.buf[0] = uintptr(unsafe.Pointer(unsafe.SliceData(params)))
	}
	for i, s := range op.Args {
		switch {
		case s.Len == 0:
		case s.Region == gpu.Step:
			o.stepIndex = int32(1 + i)
		default:
			a.buf[1+i] = bound[s.Region].addr() + uintptr(s.Off)
		}
	}
	return nil
}
