//go:build amd64 || arm64

package cuda

import (
	"errors"
	"fmt"
	"sync"

	"sotto/engine/gpu"
)

const allocAlign = 16 << 10

// buffer is device memory and its shadow on the host, which is made when Bytes is first called.
type buffer struct {
	dev    *Device
	addr   uintptr // device memory; 0 once freed
	size   int64
	shadow []byte
	mapped bool // shadow is the caller's and was copied in once
}

func (b *buffer) Size() int64 {
	if b.addr == 0 {
		return 0
	}
	return b.size
}

// Bytes is the shadow. Every submission that uses the buffer copies it in first and, if it writes the buffer,
// out again.
func (b *buffer) Bytes() []byte {
	if b.addr == 0 {
		return nil
	}
	if b.shadow == nil {
		b.shadow = aligned(b.size)
		if err := b.dev.do(func() error { return b.copyOut() }); err != nil {
			b.dev.runs.fail(&gpu.Error{Op: "read buffer", Err: err})
		}
	}
	return b.shadow
}

func aligned(size int64) []byte {
	block := make([]byte, size+allocAlign)
	off := int64(-at(block) % allocAlign)
	return block[off : off+size : off+size]
}

// Free gives the memory back. Freeing twice does nothing.
func (b *buffer) Free() {
	if b.addr == 0 {
		return
	}
	if err := b.dev.do(func() error { return b.dev.release(b) }); err != nil {
		b.dev.runs.fail(&gpu.Error{Op: "free", Err: err})
	}
}

func (b *buffer) copyIn() error {
	return b.dev.api.call(b.dev.api.memcpyHtoD, b.addr, at(b.shadow), uintptr(b.size))
}

func (b *buffer) copyOut() error {
	return b.dev.api.call(b.dev.api.memcpyDtoH, at(b.shadow), b.addr, uintptr(b.size))
}

// release runs on the context's thread.
func (d *Device) release(b *buffer) error {
	err := d.api.call(d.api.memFree, b.addr)
	delete(d.buffers, b)
	if !b.mapped {
		d.live -= b.size
	}
	b.addr, b.shadow = 0, nil
	return err
}

// Alloc returns zeroed memory. Its shadow is aligned to 16 KiB.
func (d *Device) Alloc(size int64) (gpu.Buffer, error) {
	if err := errors.Join(d.usable("alloc"), d.checkSize("alloc", size)); err != nil {
		return nil, err
	}
	b := &buffer{dev: d, size: size}
	if err := d.do(func() error { return d.zeroed(&b.addr, size) }); err != nil {
		return nil, &gpu.Error{Op: "alloc", Err: fmt.Errorf("%d bytes: %w", size, err)}
	}
	d.buffers[b] = struct{}{}
	d.live += size
	return b, nil
}

// Map copies page-aligned memory to the device.
func (d *Device) Map(mem []byte) (gpu.Buffer, error) {
	if err := errors.Join(d.usable("map"), d.checkSize("map", int64(len(mem)))); err != nil {
		return nil, err
	}
	if at(mem)%pageAlign != 0 {
		return nil, &gpu.Error{Op: "map", Err: fmt.Errorf("%d bytes at an address that is not a multiple of %d",
			len(mem), pageAlign)}
	}
	b := &buffer{dev: d, size: int64(len(mem)), shadow: mem, mapped: true}
	err := d.do(func() error {
		if err := d.zeroed(&b.addr, b.size); err != nil {
			return err
		}
		return b.copyIn()
	})
	if err != nil {
		return nil, &gpu.Error{Op: "map", Err: fmt.Errorf("%d bytes: %w", len(mem), err)}
	}
	d.buffers[b] = struct{}{}
	return b, nil
}

// pageAlign is the smallest page of the platforms that this driver runs on.
const pageAlign = 4 << 10

// results counts submissions and keeps the first failure.
type results struct {
	mu    sync.Mutex
	n     uint64
	err   error
	errAt uint64
}

func (r *results) next(err error) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	if err != nil && r.err == nil {
		r.err, r.errAt = err, r.n
	}
	return r.n
}

// fail records an error outside a submission; it belongs to all that follow.
func (r *results) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err, r.errAt = err, r.n
	}
}

// failed reports whether anything has failed so far.
func (r *results) failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil
}

func (r *results) upTo(n uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case n > r.n:
		return fmt.Errorf("submission %d does not exist, the last is %d", n, r.n)
	case r.err != nil && r.errAt <= n:
		return r.err
	}
	return nil
}
