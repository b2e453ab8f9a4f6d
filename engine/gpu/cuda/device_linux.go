//go:build amd64 || arm64

package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"unsafe"

	"sotto/engine/gpu"
)

const (
	chunkRows = 256
	warp      = 32
)

// Device is one GPU. Its methods follow the contract of [gpu.Device].
type Device struct {
	api     *api
	dir     string
	caps    gpu.Caps
	ordinal int32
	calls   chan func() // run on the thread that holds the context
	ended   chan struct{}
	zero    uintptr // device memory that is never written
	modules map[string]uintptr
	buffers map[*buffer]struct{}
	execs   map[*exec]struct{}
	live    int64

	closed bool
	runs   results
}

var _ gpu.Device = (*Device)(nil)

// Open takes the first GPU.
func Open(o Options) (gpu.Device, error) {
	a, err := loadAPI()
	if err != nil {
		return nil, &gpu.Error{Op: "open cuda", Err: err}
	}
	d := &Device{
		api: a, dir: o.Dir, calls: make(chan func()), ended: make(chan struct{}),
		modules: map[string]uintptr{}, buffers: map[*buffer]struct{}{}, execs: map[*exec]struct{}{},
	}
	go d.loop()
	if err := d.do(d.start); err != nil {
		close(d.calls)
		<-d.ended
		return nil, &gpu.Error{Op: "open cuda", Err: err}
	}
	if o.Logger != nil {
		o.Logger.Debug("cuda device opened", slog.String("name", d.caps.Name))
	}
	return d, nil
}

// loop runs calls on one thread, since a context belongs to the thread that made it current.
func (d *Device) loop() {
	runtime.LockOSThread()
	defer close(d.ended)
	for f := range d.calls {
		f()
	}
}

// do runs f on the context's thread.
func (d *Device) do(f func() error) error {
	done := make(chan error, 1)
	d.calls <- func() { done <- f() }
	return <-done
}

func (d *Device) start() error {
	a := d.api
	if err := a.call(a.init, 0); err != nil {
		return err
	}
	var ctx uintptr
	var total uint64
	name := make([]byte, 128)
	if err := a.call(a.deviceGet, uintptr(unsafe.Pointer(&d.ordinal)), 0); err != nil {
		return err
	}
	dev := uintptr(d.ordinal)
	if err := errors.Join(
		a.call(a.deviceGetName, at(name), uintptr(len(name)), dev),
		a.call(a.deviceTotalMem, uintptr(unsafe.Pointer(&total)), dev),
		a.call(a.primaryCtxRetain, uintptr(unsafe.Pointer(&ctx)), dev),
	); err != nil {
		return err
	}
	if err := a.call(a.ctxSetCurrent, ctx); err != nil {
		return err
	}
	text, _, _ := bytes.Cut(name, []byte{0})
	d.caps = gpu.Caps{
		Driver: "cuda", Name: string(text), Tier: "vector", SIMD: warp, MaxGroup: gpu.MaxSimdgroups,
		TierReason:  "kernels are built without matrix code",
		MemoryLimit: int64(total), Chunk: chunkRows,
	}
	return d.zeroed(&d.zero, gpu.ZeroBytes)
}

// zeroed allocates n zeroed bytes of device memory.
func (d *Device) zeroed(addr *uintptr, n int64) error {
	a := d.api
	if err := a.call(a.memAlloc, uintptr(unsafe.Pointer(addr)), uintptr(n)); err != nil {
		return err
	}
	return a.call(a.memsetD8, *addr, 0, uintptr(n))
}

// Caps describes the device.
func (d *Device) Caps() gpu.Caps { return d.caps }

// Live is the number of bytes that Alloc has handed out and Free has not taken back.
func (d *Device) Live() int64 { return d.live }

// Wait returns the first error of submissions up to n. They have all finished.
func (d *Device) Wait(_ context.Context, n uint64) error { return d.runs.upTo(n) }

// Close frees everything. Closing twice does nothing.
func (d *Device) Close() error {
	if d.closed {
		return nil
	}
	d.closed = true
	err := d.do(d.stop)
	close(d.calls)
	<-d.ended
	if err != nil {
		return &gpu.Error{Op: "close", Err: err}
	}
	return nil
}

func (d *Device) stop() error {
	var errs []error
	for x := range d.execs {
		errs = append(errs, d.discard(x))
	}
	for b := range d.buffers {
		errs = append(errs, d.release(b))
	}
	for _, m := range d.modules {
		errs = append(errs, d.api.call(d.api.moduleUnload, m))
	}
	errs = append(errs, d.api.call(d.api.memFree, d.zero),
		d.api.call(d.api.primaryCtxRelease, uintptr(d.ordinal)))
	return errors.Join(errs...)
}

func (d *Device) usable(op string) error {
	if d.closed {
		return &gpu.Error{Op: op, Err: gpu.ErrClosed}
	}
	return nil
}

func (d *Device) checkSize(op string, size int64) error {
	if size < 1 {
		return &gpu.Error{Op: op, Err: fmt.Errorf("size %d", size)}
	}
	if size > d.caps.MemoryLimit-d.live {
		return &gpu.Error{Op: op, Err: fmt.Errorf("%d bytes with %d in use and a limit of %d: %w", size, d.live,
			d.caps.MemoryLimit, gpu.ErrOutOfMemory)}
	}
	return nil
}
