package metal

import (
	"fmt"
	"unsafe"

	"sotto/engine/gpu"
)

const (
	// storage is MTLResourceStorageModeShared with MTLResourceHazardTrackingModeUntracked: one memory for both
	// sides, and the driver orders accesses itself.
	storage   = 0x100
	pieceSize = 1 << 30 // bytes of a piece, where no single range needs more
)

// buffer is a Metal buffer, or memory of the caller that the device only reads, in pieces.
type buffer struct {
	dev    *Device
	mem    []byte // nil once freed
	mapped bool
	obj    object // MTLBuffer; none of mapped memory
	set    int    // of residency
	pieces []piece
	taken  int64  // bytes of the device's memory
	last   uint64 // submission that used it as a step buffer
}

func (b *buffer) Size() int64   { return int64(len(b.mem)) }
func (b *buffer) Bytes() []byte { return b.mem }

// Free waits for what is in flight, because that may use the memory. Freeing twice does nothing.
func (b *buffer) Free() {
	if b.mem == nil {
		return
	}
	b.dev.queue.drain()
	delete(b.dev.buffers, b)
	if !b.mapped {
		b.dev.live -= b.Size()
	}
	_ = b.dev.objc.pooled(func() error { // f returns no error
		b.dev.release(b)
		return nil
	})
}

// release gives a buffer back. A pool must be in place.
func (d *Device) release(b *buffer) {
	for i := range b.pieces {
		p := &b.pieces[i]
		d.residency.remove(p.set, p.obj.id, p.size())
		d.objects.drop(&p.obj)
	}
	if !b.mapped {
		d.residency.remove(b.set, b.obj.id, int64(len(b.mem)))
		d.objects.drop(&b.obj)
	}
	d.take(b, -b.taken)
	b.mem, b.pieces = nil, nil
}

// take counts what a buffer takes of the device's memory, beyond what it has been counted for.
func (d *Device) take(b *buffer, n int64) {
	b.taken += n
	d.taken += n
}

// Alloc returns zeroed memory, aligned to a page.
func (d *Device) Alloc(size int64) (gpu.Buffer, error) {
	if err := d.usable("alloc"); err != nil {
		return nil, err
	}
	b := &buffer{dev: d, set: noSet}
	if err := d.objc.pooled(func() error { return d.allocate(b, size) }); err != nil {
		return nil, &gpu.Error{Op: "alloc", Err: err}
	}
	d.buffers[b] = struct{}{}
	d.live += size
	return b, nil
}

// admit refuses sizes beyond what a buffer may have and beyond what is left of the device's memory.
func (d *Device) admit(size int64) error {
	switch {
	case size < 1:
		return fmt.Errorf("size %d", size)
	case size > d.maxBuffer:
		return fmt.Errorf("%d bytes, a buffer of this device has at most %d: %w", size, d.maxBuffer,
			gpu.ErrOutOfMemory)
	}
	return d.room(size)
}

// room refuses what is beyond the device's memory.
func (d *Device) room(size int64) error {
	if gpu.Footprint(size) <= d.caps.MemoryLimit-d.taken {
		return nil
	}
	return fmt.Errorf("%d bytes with %d in use and a limit of %d: %w", size, d.taken, d.caps.MemoryLimit,
		gpu.ErrOutOfMemory)
}

// allocate makes the memory of b. Metal clears it. A pool must be in place.
func (d *Device) allocate(b *buffer, size int64) error {
	if err := d.admit(size); err != nil {
		return err
	}
	b.obj = d.objects.keep(d.objc.object(deviceBuffer, d.device.id, uintptr(size), storage), "MTLBuffer", "")
	if b.obj.id == 0 {
		return fmt.Errorf("%d bytes: %w", size, gpu.ErrOutOfMemory)
	}
	p := pointer(d.objc.send(bufferContents, b.obj.id))
	if p == nil {
		d.objects.drop(&b.obj)
		return fmt.Errorf("%d bytes: the processor cannot see them", size)
	}
	b.mem = unsafe.Slice((*byte)(p), size)
	b.set = d.residency.add(b.obj.id, size)
	d.take(b, gpu.Footprint(size))
	return nil
}

// Map takes page-aligned memory as it is. The last page belongs to it as a whole. The Metal buffers over it are made
// when a program is compiled, which is when it is known which ranges must lie in one.
func (d *Device) Map(mem []byte) (gpu.Buffer, error) {
	if err := d.usable("map"); err != nil {
		return nil, err
	}
	size := int64(len(mem))
	if size == 0 || uintptr(unsafe.Pointer(unsafe.SliceData(mem)))%gpu.Page != 0 {
		return nil, &gpu.Error{Op: "map", Err: fmt.Errorf("%d bytes at an address that is not a multiple of %d",
			size, gpu.Page)}
	}
	if err := d.room(size); err != nil {
		return nil, &gpu.Error{Op: "map", Err: err}
	}
	b := &buffer{dev: d, mem: mem, mapped: true}
	d.take(b, gpu.Footprint(size))
	d.buffers[b] = struct{}{}
	return b, nil
}

// wrap sees to it that every range of mapped memory lies in a piece. A pool must be in place.
func (d *Device) wrap(b *buffer, ranges []span) error {
	var open []span
	for _, r := range ranges {
		if inside(b.pieces, r) == nil {
			open = append(open, r)
		}
	}
	pieces, err := cut(open, gpu.Page, min(pieceSize, d.maxBuffer), d.maxBuffer)
	if err != nil {
		return err
	}
	for _, s := range pieces {
		start := uintptr(unsafe.Pointer(unsafe.SliceData(b.mem))) + uintptr(s.off)
		id := d.objc.object(deviceBufferNoCopy, d.device.id, start, uintptr(s.size()), storage, 0)
		if id == 0 {
			return fmt.Errorf("%d bytes at %d of mapped memory: %w", s.size(), s.off, gpu.ErrOutOfMemory)
		}
		p := piece{span: s, obj: d.objects.keep(id, "MTLBuffer", "mapped")}
		p.set = d.residency.add(id, s.size())
		b.pieces = append(b.pieces, p)
	}
	d.take(b, max(b.wrapped()-b.taken, 0))
	return nil
}

// wrapped is the size of all pieces; pages that lie in two count twice.
func (b *buffer) wrapped() int64 {
	n := int64(0)
	for i := range b.pieces {
		n += b.pieces[i].size()
	}
	return n
}

// Live is the number of bytes that Alloc has handed out and Free has not taken back.
func (d *Device) Live() int64 { return d.live }
