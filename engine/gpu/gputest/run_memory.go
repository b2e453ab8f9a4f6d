package gputest

import (
	"errors"
	"math"
	"testing"
	"unsafe"

	"sotto/engine/gpu"
)

const pageBytes = 16 << 10

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

func checkAlloc(t *testing.T, dev gpu.Device) {
	for _, size := range []int64{1, 100, pageBytes, 100_001, 4 << 20} {
		b, err := dev.Alloc(size)
		if err != nil {
			t.Fatalf("alloc %d: %v", size, err)
		}
		mem := b.Bytes()
		if int64(len(mem)) != size || b.Size() != size {
			t.Errorf("alloc %d: got %d bytes, size %d", size, len(mem), b.Size())
		}
		if address(mem)%pageBytes != 0 {
			t.Errorf("alloc %d: address %#x is not a multiple of %d", size, address(mem), pageBytes)
		}
		for i, v := range mem {
			if v != 0 {
				t.Fatalf("alloc %d: byte %d is %#x, want 0", size, i, v)
			}
			mem[i] = 0xff
		}
		b.Free()
		if b.Bytes() != nil || b.Size() != 0 {
			t.Errorf("alloc %d: a freed buffer still has bytes", size)
		}
		b.Free() // twice does nothing
	}
}

func checkAllocRefused(t *testing.T, dev gpu.Device) {
	for _, size := range []int64{0, -1, math.MinInt64} {
		if b, err := dev.Alloc(size); err == nil {
			b.Free()
			t.Errorf("alloc %d: got a buffer, want an error", size)
		}
	}
	for _, size := range []int64{math.MaxInt64, math.MaxInt64 - pageBytes, 1 << 56} {
		b, err := dev.Alloc(size)
		if err == nil {
			b.Free()
		}
		if !errors.Is(err, gpu.ErrOutOfMemory) {
			t.Errorf("alloc %d: got %v, want %v", size, err, gpu.ErrOutOfMemory)
		}
	}
}

// page returns n bytes at a page boundary.
func page(n int) []byte {
	block := make([]byte, n+pageBytes)
	off := int(-address(block) % pageBytes)
	return block[off : off+n : off+n]
}

func checkMap(t *testing.T, dev gpu.Device) {
	mem := page(3 * pageBytes)
	if _, err := dev.Map(mem[16:]); err == nil {
		t.Error("mapped memory that does not start at a page")
	}
	if _, err := dev.Map(nil); err == nil {
		t.Error("mapped nothing")
	}
	// The weights of a norm lie in the mapped memory, which is not written.
	b := newBench(t, dev)
	copy(mem, BF16Bytes(b.weights))
	m, err := dev.Map(mem)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	b.buffers[b.w] = m
	p := b.chain(1)
	b.run(b.compile(p), b.step(StepRecord{}.live(benchRows)))
	b.check("y", b.slot(1), b.reference(1))

	// Nothing may write to it.
	b.w.Size = int64(len(mem))
	p.Ops[0].Args[3] = gpu.Slice{Region: b.w, Off: pageBytes, Len: benchBytes}
	if x, err := dev.Compile(t.Context(), p, b.buffers); err == nil {
		x.Free()
		t.Error("compiled a program that writes to mapped memory")
	}
}

func checkLive(t *testing.T, dev gpu.Device) {
	d, ok := dev.(interface{ Live() int64 })
	if !ok {
		t.Skip("this driver does not account for its memory")
	}
	before := d.Live()
	a, err := dev.Alloc(1000)
	if err != nil {
		t.Fatal(err)
	}
	b, err := dev.Alloc(70_000)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := d.Live()-before, int64(71_000); got != want {
		t.Errorf("got %d live bytes, want %d", got, want)
	}
	a.Free()
	a.Free()
	if got, want := d.Live()-before, int64(70_000); got != want {
		t.Errorf("got %d live bytes, want %d", got, want)
	}
	b.Free()
	if got := d.Live(); got != before {
		t.Errorf("got %d live bytes, want %d", got, before)
	}
}
