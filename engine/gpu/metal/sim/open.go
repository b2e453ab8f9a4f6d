package sim

import (
	"context"
	"errors"

	"sotto/engine/gpu"
	"sotto/engine/gpu/metal"
)

// Device is the Metal driver on a simulated runtime. It tells the runtime of the programs that are compiled, so that
// the ranges that dispatches use are known exactly.
type Device struct {
	gpu.Device // the driver
	runtime    *Runtime
}

// exec is a program of the driver and its ops in the registry.
type exec struct {
	gpu.Exec
	device *Device
	ops    []*registered
}

// Open opens the Metal driver on a runtime of its own. The driver's messenger is set here.
func Open(o Options, driver metal.Options) (*Device, error) {
	return openThrough(o, driver, func(r *Runtime) metal.Messenger { return r })
}

// openThrough opens with what the driver sees of the runtime.
func openThrough(o Options, driver metal.Options, seen func(*Runtime) metal.Messenger) (*Device, error) {
	r, err := New(o)
	if err != nil {
		return nil, err
	}
	driver.Messenger = seen(r)
	inner, err := metal.Open(driver)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &Device{inner, r}, nil
}

// Runtime is the runtime under the driver.
func (d *Device) Runtime() *Runtime { return d.runtime }

// Compile compiles by the driver and registers the ranges of all ops.
func (d *Device) Compile(ctx context.Context, p *gpu.Program, bind map[*gpu.Region]gpu.Buffer) (gpu.Exec, error) {
	inner, err := d.Device.Compile(ctx, p, bind)
	if err != nil {
		return nil, err
	}
	x := &exec{Exec: inner, device: d}
	d.runtime.mu.Lock()
	defer d.runtime.mu.Unlock()
	for i := range p.Ops {
		x.ops = append(x.ops, d.runtime.registry.add(&p.Ops[i], bind))
	}
	return x, nil
}

// Free frees the program and forgets its ranges. Freeing twice does nothing.
func (x *exec) Free() {
	x.Exec.Free()
	r := x.device.runtime
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range x.ops {
		r.registry.remove(o)
	}
	x.ops = nil
}

// Submit submits by the driver.
func (d *Device) Submit(x gpu.Exec, step gpu.Buffer) (uint64, error) {
	if e, ok := x.(*exec); ok {
		x = e.Exec
	}
	return d.Device.Submit(x, step)
}

// Live is the number of bytes that the driver has handed out, or 0 if it does not count.
func (d *Device) Live() int64 {
	if l, ok := d.Device.(interface{ Live() int64 }); ok {
		return l.Live()
	}
	return 0
}

// SetSeed shuffles what follows on the host driver, if that can: results must not depend on an order.
func (d *Device) SetSeed(seed uint64) {
	d.runtime.mu.Lock()
	defer d.runtime.mu.Unlock()
	if h, ok := d.runtime.host.(interface{ SetSeed(seed uint64) }); ok {
		h.SetSeed(seed)
	}
}

// Close closes the driver and the runtime. Everything that was wrong, and every object that is left, is in the error.
func (d *Device) Close() error {
	return errors.Join(d.Device.Close(), d.runtime.Close())
}
