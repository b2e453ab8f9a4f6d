package metal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"sotto/engine/gpu"
)

// exec is a program laid out as messages.
type exec struct {
	dev     *Device
	program *gpu.Program
	params  buffer // of the parameter structs; without memory where no op has any
	buffers []*buffer
	tape    *tape // nil once freed
}

func (x *exec) Program() *gpu.Program { return x.program }

// Free waits for what is in flight. Freeing twice does nothing.
func (x *exec) Free() {
	if x.tape == nil {
		return
	}
	x.dev.queue.drain()
	_ = x.dev.objc.pooled(func() error { // f returns no error
		x.release()
		return nil
	})
}

// release gives the program back. A pool must be in place.
func (x *exec) release() {
	delete(x.dev.execs, x)
	x.dev.release(&x.params)
	x.clear()
}

func (x *exec) clear() { x.tape, x.buffers = nil, nil }

// Compile checks the program, waits for its kernels and lays it out.
func (d *Device) Compile(ctx context.Context, p *gpu.Program, bind map[*gpu.Region]gpu.Buffer) (gpu.Exec, error) {
	if err := d.usable("compile"); err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, &gpu.Error{Op: "compile", Err: err}
	}
	x := &exec{dev: d, program: p, params: buffer{dev: d, set: noSet}}
	err := d.objc.pooled(func() error {
		if err := d.compile(ctx, x, bind); err != nil {
			x.release()
			return err
		}
		return nil
	})
	var named *gpu.Error
	switch {
	case errors.As(err, &named):
		return nil, named
	case err != nil:
		return nil, &gpu.Error{Op: "compile", Err: fmt.Errorf("program %s: %w", p.Name, err)}
	}
	d.execs[x] = struct{}{}
	return x, nil
}

// compile fills x. What it leaves behind on an error, release takes away.
func (d *Device) compile(ctx context.Context, x *exec, bind map[*gpu.Region]gpu.Buffer) error {
	bound, err := gpu.Bindings(x.program, bind, d.owns)
	if err != nil {
		return err
	}
	x.buffers = slices.Collect(maps.Values(bound))
	if err := d.wrapRanges(x.program, bound); err != nil {
		return err
	}
	pipelines, err := d.pipelines(ctx, x.program)
	if err != nil {
		return err
	}
	offsets, err := d.pack(x)
	if err != nil {
		return err
	}
	x.tape = d.record(x, bound, pipelines, offsets)
	return nil
}

// owns tells gpu.Bindings about a buffer.
func (d *Device) owns(b *buffer) (live, mapped bool) { return b.dev == d && b.mem != nil, b.mapped }

// wrapRanges makes the Metal buffers of mapped memory that p binds.
func (d *Device) wrapRanges(p *gpu.Program, bound map[*gpu.Region]*buffer) error {
	ranges := map[*gpu.Region][]span{}
	for i := range p.Ops {
		for _, s := range p.Ops[i].Args {
			if b := bound[s.Region]; b != nil && b.mapped && s.Len > 0 {
				ranges[s.Region] = append(ranges[s.Region], span{s.Off, s.Off + s.Len})
			}
		}
	}
	for r, list := range ranges {
		if err := d.wrap(bound[r], list); err != nil {
			return fmt.Errorf("region %s: %w", r.Name, err)
		}
	}
	return nil
}

// pipelines waits for the kernels of p and returns them in the order of its ops.
func (d *Device) pipelines(ctx context.Context, p *gpu.Program) ([]ID, error) {
	d.builder.hurry(p)
	defer context.AfterFunc(ctx, d.builder.wake)()
	all := make([]ID, len(p.Ops))
	for i := range p.Ops {
		op := &p.Ops[i]
		q, err := d.builder.need(ctx, op.Kernel.Name)
		if err != nil && ctx.Err() != nil { // no kernel is to blame
			return nil, context.Cause(ctx)
		}
		if threads := int(op.Simdgroups) * simdWidth; err == nil && threads > q.maxThreads {
			err = fmt.Errorf("%d threads a threadgroup, at most %d", threads, q.maxThreads)
		}
		if err != nil {
			return nil, &gpu.Error{Op: "compile", Kernel: op.Kernel.Name, Err: fmt.Errorf("op %s: %w", op.Label, err)}
		}
		all[i] = q.obj.id
	}
	return all, nil
}

// pack lays the parameter structs out in one buffer and returns where each op's starts.
func (d *Device) pack(x *exec) ([]int64, error) {
	ops := x.program.Ops
	offsets := make([]int64, len(ops))
	size := int64(0)
	for i := range ops {
		offsets[i] = size
		size += ops[i].ParamBytes()
	}
	if size == 0 {
		return offsets, nil
	}
	if err := d.allocate(&x.params, size); err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	for i := range ops {
		copy(x.params.mem[offsets[i]:], ops[i].Params)
	}
	return offsets, nil
}
