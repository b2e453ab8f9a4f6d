package sim

import (
	"unsafe"

	"sotto/engine/gpu"
)

// Bits of MTLResourceOptions.
const (
	storageMask       = 0xf0
	storageShared     = 0x00
	hazardMask        = 0x300
	hazardUntracked   = 0x100
	writeCombined     = 0x1
	resourceOptions   = storageMask | hazardMask | writeCombined
	pageBytes         = 16 << 10 // on Apple silicon, whatever this machine has
	memoryOverWorking = 2        // buffers may take this many working sets before there is no memory at all
)

// buffer is an MTLBuffer: memory of the host driver.
type buffer struct {
	memory    gpu.Buffer
	region    *gpu.Region // the same in programs of the host driver
	bytes     []byte
	base      uintptr
	options   uintptr
	readOnly  bool // the memory is the program's
	untracked bool
	sets      []*residencySet // that it is in
	mark      uint64          // the encoder that used it last
	flying    int             // command buffers in flight that use it without a reference
}

func (b *buffer) length() int64 { return int64(len(b.bytes)) }

func (b *buffer) charged() int64 {
	return (b.length() + pageBytes - 1) / pageBytes * pageBytes
}

func bufferBehaviours() behaviours {
	return behaviours{
		"MTLBuffer": {
			"-contents": func(_ *Runtime, o *object, _ *args) uintptr { return o.buffer.base },
			"-length":   func(_ *Runtime, o *object, _ *args) uintptr { return uintptr(o.buffer.length()) },
		},
		"MTLResource": labelled(map[string]behaviour{
			"-allocatedSize": func(_ *Runtime, o *object, _ *args) uintptr { return uintptr(o.buffer.charged()) },
			"-storageMode":   func(*Runtime, *object, *args) uintptr { return storageShared },
			"-hazardTrackingMode": func(_ *Runtime, o *object, _ *args) uintptr {
				return o.buffer.options & hazardMask >> 8
			},
		}),
	}
}

// mayAllocate checks what all ways to make a buffer have in common.
func (r *Runtime) mayAllocate(length, options uintptr) bool {
	switch {
	case length == 0:
		r.violate("the length is 0")
	case length > uintptr(r.gpu.MaxBuffer):
		r.violate("the length %d is beyond maxBufferLength %d", length, r.gpu.MaxBuffer)
	case options&^uintptr(resourceOptions) != 0 || options&hazardMask == hazardMask:
		r.violate("%#x are no resource options", options)
	case options&storageMask != storageShared:
		r.violate("storage mode %d: the CPU shall see all buffers, shared storage is 0", options&storageMask>>4)
	case r.removed, r.strikes(AllocationFails, "") != nil:
	case r.allocated+int64(length) > memoryOverWorking*r.gpu.WorkingSet:
	default:
		return true
	}
	return false
}

func newBuffer(r *Runtime, _ *object, a *args) uintptr {
	if !r.mayAllocate(a[0], a[1]) {
		return 0
	}
	m, err := r.host.Alloc(int64(a[0]))
	if err != nil {
		return 0
	}
	return r.addBuffer(m, a[1], false)
}

func newBufferNoCopy(r *Runtime, _ *object, a *args) uintptr {
	switch {
	case a[0] == 0:
		r.violate("the memory is NULL")
		return 0
	case a[0]%pageBytes != 0 || a[1]%pageBytes != 0:
		r.violate("memory %#x of %d bytes does not start and end at a page of %d", a[0], a[1], pageBytes)
		return 0
	case !r.mayAllocate(a[1], a[2]):
		return 0
	}
	m, err := r.host.Map(unsafe.Slice((*byte)(pointer(a[0])), int(a[1])))
	if err != nil {
		return 0
	}
	return r.addBuffer(m, a[2], true)
}

func (r *Runtime) addBuffer(m gpu.Buffer, options uintptr, readOnly bool) uintptr {
	o := r.make("MTLBuffer")
	b := &buffer{
		memory: m, bytes: m.Bytes(), base: address(m.Bytes()), options: options, readOnly: readOnly,
		untracked: options&hazardMask == hazardUntracked,
	}
	b.region = &gpu.Region{Name: o.String(), Size: b.length()}
	o.buffer = b
	r.allocated += b.charged()
	return uintptr(o.id)
}

// endBuffer gives the memory back, and what was compiled for it.
func (r *Runtime) endBuffer(o *object) {
	r.programs.discard(o.buffer)
	r.allocated -= o.buffer.charged()
	o.buffer.memory.Free()
}
