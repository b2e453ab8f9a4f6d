package host

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"sotto/engine/gpu"
)

// buffer is anonymous memory of the driver, or memory of the caller that the device only reads.
type buffer struct {
	dev    *Device
	mem    []byte // nil once freed
	block  []byte // the mapping that mem lies in; nil if mem is the caller's
	mapped bool
}

func (b *buffer) Size() int64   { return int64(len(b.mem)) }
func (b *buffer) Bytes() []byte { return b.mem }

// Free waits for what is in flight, because that may use the memory. Freeing twice does nothing.
func (b *buffer) Free() { b.dev.free(b) }

func (b *buffer) addr() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b.mem))) }

// Alloc returns zeroed memory, aligned to 16 KiB.
func (d *Device) Alloc(size int64) (gpu.Buffer, error) {
	if size < 1 {
		return nil, &gpu.Error{Op: "alloc", Err: fmt.Errorf("size %d", size)}
	}
	if d.isClosed() {
		return nil, &gpu.Error{Op: "alloc", Err: gpu.ErrClosed}
	}
	if size > d.caps.MemoryLimit-d.live {
		return nil, &gpu.Error{Op: "alloc", Err: fmt.Errorf("%d bytes with %d in use and a limit of %d: %w",
			size, d.live, d.caps.MemoryLimit, gpu.ErrOutOfMemory)}
	}
	mem, block, err := anonymous(size)
	if err != nil {
		return nil, &gpu.Error{Op: "alloc", Err: fmt.Errorf("%d bytes: %w", size, err)}
	}
	b := &buffer{dev: d, mem: mem, block: block}
	d.buffers[b] = struct{}{}
	d.live += size
	return b, nil
}

// anonymous maps size zeroed bytes at a multiple of 16 KiB: mem lies inside block, which is to be unmapped.
func anonymous(size int64) (mem, block []byte, err error) {
	block, err = unix.Mmap(-1, 0, int(size+gpu.Page), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if errors.Is(err, unix.ENOMEM) {
		err = errors.Join(gpu.ErrOutOfMemory, err)
	}
	if err != nil {
		return nil, nil, err
	}
	off := -uintptr(unsafe.Pointer(unsafe.SliceData(block))) % gpu.Page
	return block[off : off+uintptr(size) : off+uintptr(size)], block, nil
}

// Map makes page-aligned memory visible without a copy. Pages here have the size that the system uses (4 KiB).
func (d *Device) Map(mem []byte) (gpu.Buffer, error) {
	if d.isClosed() {
		return nil, &gpu.Error{Op: "map", Err: gpu.ErrClosed}
	}
	page := uintptr(unix.Getpagesize())
	if len(mem) == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(mem)))%page != 0 {
		return nil, &gpu.Error{Op: "map", Err: fmt.Errorf("%d bytes at an address that is not a multiple of %d",
			len(mem), page)}
	}
	b := &buffer{dev: d, mem: mem, mapped: true}
	d.buffers[b] = struct{}{}
	return b, nil
}

// Live is the number of bytes that Alloc has handed out and Free has not taken back.
func (d *Device) Live() int64 { return d.live }

func (d *Device) free(b *buffer) {
	if b.mem == nil {
		return
	}
	d.queue.drain()
	d.release(b)
}

func (d *Device) release(b *buffer) {
	delete(d.buffers, b)
	if b.block != nil {
		d.live -= int64(len(b.mem))
		unmap(b.block)
	}
	b.mem, b.block = nil, nil
}

// unmap takes back a block of anonymous. That cannot fail for a block that is mapped as a whole.
func unmap(block []byte) {
	if err := unix.Munmap(block); err != nil {
		panic(fmt.Sprintf("unmap %d bytes: %v", len(block), err))
	}
}
