//go:build amd64 || arm64

package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// args is the one parameter of every entry point, passed by value.
type args struct {
	buf   [31]uintptr // 0: parameters
	tgoff [31]uint32
	pad   uint32
}

// launch is an op made ready.
type launch struct {
	op     *gpu.Op
	fn     uintptr
	args   args
	params [1]unsafe.Pointer // of args
	step   int               // index in args.buf of the step buffer; 0: none
}

// exec is a compiled program.
type exec struct {
	dev       *Device
	program   *gpu.Program
	launches  []launch
	block     uintptr // device memory of the parameter structs; 0 once freed
	bound     map[*gpu.Region]*buffer
	written   map[*buffer]bool
	writeStep bool
}

func (x *exec) Program() *gpu.Program { return x.program }

// Free gives the parameter memory back. Freeing twice does nothing.
func (x *exec) Free() {
	if x.block == 0 {
		return
	}
	if err := x.dev.do(func() error { return x.dev.discard(x) }); err != nil {
		x.dev.runs.fail(&gpu.Error{Op: "free", Err: err})
	}
}

func (d *Device) discard(x *exec) error {
	delete(d.execs, x)
	err := d.api.call(d.api.memFree, x.block)
	x.block = 0
	return err
}

// Compile checks the program, loads its kernels and copies its parameters to the device. It waits for nothing else.
func (d *Device) Compile(_ context.Context, p *gpu.Program, bind map[*gpu.Region]gpu.Buffer) (gpu.Exec, error) {
	if err := d.usable("compile"); err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, &gpu.Error{Op: "compile", Err: err}
	}
	x := &exec{dev: d, program: p, written: map[*buffer]bool{}}
	if err := x.bind(bind); err != nil {
		return nil, &gpu.Error{Op: "compile", Err: fmt.Errorf("program %s: %w", p.Name, err)}
	}
	if err := d.do(x.build); err != nil {
		return nil, err
	}
	d.execs[x] = struct{}{}
	return x, nil
}

// bind finds the buffers of the program, and which of them it writes.
func (x *exec) bind(bind map[*gpu.Region]gpu.Buffer) (err error) {
	if x.bound, err = gpu.Bindings(x.program, bind, x.dev.owns); err != nil {
		return err
	}
	for i := range x.program.Ops {
		op := &x.program.Ops[i]
		for j, s := range op.Args {
			if s.Region == nil || op.Kernel.Args[j].Access&kernels.Write == 0 {
				continue
			}
			if s.Region == gpu.Step {
				x.writeStep = true
			} else {
				x.written[x.bound[s.Region]] = true
			}
		}
	}
	return nil
}

// owns tells gpu.Bindings about a buffer.
func (d *Device) owns(b *buffer) (live, mapped bool) { return b.dev == d && b.addr != 0, b.mapped }

// build runs on the context's thread.
func (x *exec) build() error {
	const paramAlign = 256
	host := []byte{}
	at0 := make([]int, len(x.program.Ops))
	for i := range x.program.Ops {
		at0[i] = len(host)
		host = append(host, x.program.Ops[i].Params...)
		host = append(host, make([]byte, paramAlign-len(host)%paramAlign)...)
	}
	if err := x.dev.zeroed(&x.block, int64(len(host))+paramAlign); err != nil {
		return &gpu.Error{Op: "compile", Err: fmt.Errorf("program %s: %w", x.program.Name, err)}
	}
	err := x.fill(host, at0)
	if err != nil {
		err = errors.Join(err, x.dev.discard(x))
	}
	return err
}

func (x *exec) fill(host []byte, at0 []int) error {
	a := x.dev.api
	if len(host) > 0 {
		if err := a.call(a.memcpyHtoD, x.block, at(host), uintptr(len(host))); err != nil {
			return &gpu.Error{Op: "compile", Err: err}
		}
	}
	x.launches = make([]launch, len(x.program.Ops))
	for i := range x.program.Ops {
		l := &x.launches[i]
		l.op = &x.program.Ops[i]
		fn, err := x.dev.function(l.op)
		if err != nil {
			return &gpu.Error{Op: "compile", Kernel: l.op.Kernel.Name, Err: fmt.Errorf("op %s: %w", l.op.Label, err)}
		}
		l.fn, l.params[0] = fn, unsafe.Pointer(&l.args)
		for j := range l.args.buf {
			l.args.buf[j] = x.dev.zero
		}
		l.args.buf[0] = x.block + uintptr(at0[i])
		for j, s := range l.op.Args {
			switch {
			case s.Len == 0:
			case s.Region == gpu.Step:
				l.step = 1 + j
			default:
				l.args.buf[1+j] = x.bound[s.Region].addr + uintptr(s.Off)
			}
		}
	}
	return nil
}

// maxGridYZ bounds the second and third dimension of a grid.
const maxGridYZ = 65535

// attribute that says how many threads a function may have in a block.
const attrMaxThreads = 0

func (d *Device) function(op *gpu.Op) (uintptr, error) {
	if op.Grid[1] > maxGridYZ || op.Grid[2] > maxGridYZ {
		return 0, fmt.Errorf("grid %v: at most %d along y and z", op.Grid, maxGridYZ)
	}
	m, err := d.module(op.Kernel.File)
	if err != nil {
		return 0, err
	}
	var fn uintptr
	var most int32
	name := append([]byte(op.Kernel.Name), 0)
	a := d.api
	if err := a.call(a.moduleGetFunction, uintptr(unsafe.Pointer(&fn)), m, at(name)); err != nil {
		if r := (*resultError)(nil); errors.As(err, &r) && r.code == resultNotFound {
			return 0, fmt.Errorf("not among the kernels of %s", op.Kernel.File)
		}
		return 0, err
	}
	if err := a.call(a.getFuncAtt, uintptr(unsafe.Pointer(&most)), attrMaxThreads, fn); err != nil {
		return 0, err
	}
	if threads := op.Simdgroups * warp; int64(threads) > int64(most) {
		return 0, fmt.Errorf("%d threads a threadgroup, at most %d", threads, most)
	}
	return fn, nil
}

// module loads the compiled form of a kernel source.
func (d *Device) module(file string) (uintptr, error) {
	if m, ok := d.modules[file]; ok {
		return m, nil
	}
	base := filepath.Join(d.dir, strings.TrimSuffix(filepath.Base(file), ".metal"))
	image, err := os.ReadFile(base + ".cubin")
	if errors.Is(err, os.ErrNotExist) {
		image, err = os.ReadFile(base + ".ptx")
	}
	if err != nil {
		return 0, err
	}
	image = append(image, 0) // PTX is text that ends with a zero
	var m uintptr
	if err := d.api.call(d.api.moduleLoadData, uintptr(unsafe.Pointer(&m)), at(image)); err != nil {
		return 0, fmt.Errorf("load %s: %w", file, err)
	}
	d.modules[file] = m
	return m, nil
}

// Submit runs one replay to its end. After a failure nothing runs any more.
func (d *Device) Submit(x gpu.Exec, step gpu.Buffer) (uint64, error) {
	if err := d.usable("submit"); err != nil {
		return 0, err
	}
	e, ok := x.(*exec)
	if !ok || e.dev != d || e.block == 0 {
		return 0, &gpu.Error{Op: "submit", Err: errors.New("no live program of this device")}
	}
	b, ok := step.(*buffer)
	if !ok || b.dev != d || b.mapped || b.Size() < kernels.StepBytes {
		return 0, &gpu.Error{Op: "submit", Err: fmt.Errorf("program %s: the step buffer is not a live buffer of "+
			"this device with %d bytes", e.program.Name, kernels.StepBytes)}
	}
	for r, o := range e.bound {
		if o.addr == 0 {
			return 0, &gpu.Error{Op: "submit", Err: fmt.Errorf("program %s: the buffer of region %s was freed",
				e.program.Name, r.Name)}
		}
	}
	if d.runs.failed() {
		return d.runs.next(nil), nil
	}
	return d.runs.next(d.do(func() error { return e.run(b) })), nil
}

// run is on the context's thread.
func (x *exec) run(step *buffer) error {
	a := x.dev.api
	if err := x.copyAll(step, true); err != nil {
		return &gpu.Error{Op: "copy in", Err: err}
	}
	for i := range x.launches {
		l := &x.launches[i]
		if l.step > 0 {
			l.args.buf[l.step] = step.addr
		}
		g := l.op.Grid
		err := a.call(a.launchKernel, l.fn, uintptr(g[0]), uintptr(g[1]), uintptr(g[2]),
			uintptr(l.op.Simdgroups*warp), 1, 1, 0, 0, uintptr(unsafe.Pointer(&l.params[0])), 0)
		if err == nil {
			err = a.call(a.ctxSynchronize)
		}
		if err != nil {
			return &gpu.Error{Op: "run", Kernel: l.op.Kernel.Name, Err: fmt.Errorf("op %s: %w", l.op.Label, err)}
		}
	}
	if err := x.copyAll(step, false); err != nil {
		return &gpu.Error{Op: "copy out", Err: err}
	}
	return nil
}

// copyAll moves the shadows that the caller has seen: all of them in, the written ones out.
func (x *exec) copyAll(step *buffer, in bool) error {
	move := func(b *buffer, written bool) error {
		switch {
		case b.shadow == nil || b.mapped:
			return nil
		case in:
			return b.copyIn()
		case written:
			return b.copyOut()
		}
		return nil
	}
	for _, b := range x.bound {
		if err := move(b, x.written[b]); err != nil {
			return err
		}
	}
	return move(step, x.writeStep)
}
