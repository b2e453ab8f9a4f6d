package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// Device runs programs on the processor. Its methods follow the contract of [gpu.Device].
type Device struct {
	lib     *library
	caps    gpu.Caps
	queue   *queue
	zero    []byte // never written
	seed    uint64
	call    [4]uintptr // arguments of the C call, kept so that they are not allocated; the queue's goroutine owns it
	live    int64
	buffers map[*buffer]struct{}
	execs   map[*exec]struct{}
	closed  bool
}

var _ gpu.Device = (*Device)(nil)

// Open loads a kernel library and starts its threads.
func Open(o Options) (gpu.Device, error) {
	d, err := open(o)
	if err != nil {
		return nil, &gpu.Error{Op: "open host", Err: err}
	}
	return d, nil
}

func open(o Options) (*Device, error) {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA || !cpu.X86.HasBMI2 {
		return nil, errors.New("this processor lacks AVX2, FMA or BMI2 (x86-64-v3), which the kernels use")
	}
	threads := o.Threads
	if threads == 0 {
		threads = min(runtime.NumCPU(), maxThreads)
	}
	if threads < 1 || threads > maxThreads {
		return nil, fmt.Errorf("%d threads, want 1 to %d", threads, maxThreads)
	}
	lib, err := load(o.Library, threads)
	if err != nil {
		return nil, err
	}
	zero, err := unix.Mmap(-1, 0, gpu.ZeroBytes, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("zero page: %w", err), lib.close())
	}
	d := &Device{lib: lib, zero: zero, seed: o.Seed, buffers: map[*buffer]struct{}{}, execs: map[*exec]struct{}{}}
	name := cmp.Or(Processor(), "x86-64 processor")
	d.caps = gpu.Caps{
		Driver: "host", Name: fmt.Sprintf("%s, %d threads, x86-64-v3", name, threads), Tier: "vector",
		TierReason: "the host build computes in vector loops",
		SIMD:       lib.simd, MaxGroup: gpu.MaxSimdgroups, MemoryLimit: memory(), Chunk: chunkRows,
	}
	d.queue = newQueue(d.replay)
	if o.Logger != nil {
		o.Logger.Debug("host device opened", slog.String("name", d.caps.Name), slog.Int("simd", lib.simd),
			slog.Int("kernels", len(lib.kernels)))
	}
	return d, nil
}

// maxThreads is the library's bound.
const maxThreads = 64

// Caps describes the device.
func (d *Device) Caps() gpu.Caps { return d.caps }

// SetSeed shuffles the submissions that follow, as [Options].Seed does.
func (d *Device) SetSeed(seed uint64) { d.seed = seed }

// Submit queues one replay. It does not allocate.
func (d *Device) Submit(x gpu.Exec, step gpu.Buffer) (uint64, error) {
	if d.isClosed() {
		return 0, &gpu.Error{Op: "submit", Err: gpu.ErrClosed}
	}
	e, ok := x.(*exec)
	if !ok || e.dev != d || e.block == nil {
		return 0, &gpu.Error{Op: "submit", Err: errors.New("no live program of this device")}
	}
	b, ok := step.(*buffer)
	if !ok || b.dev != d || b.mapped || len(b.mem) < kernels.StepBytes {
		return 0, &gpu.Error{Op: "submit", Err: fmt.Errorf("program %s: the step buffer is not a live buffer of "+
			"this device with %d bytes", e.program.Name, kernels.StepBytes)}
	}
	for _, o := range e.buffers {
		if o.mem == nil {
			return 0, &gpu.Error{Op: "submit", Err: fmt.Errorf("program %s: a buffer of it was freed", e.program.Name)}
		}
	}
	return d.queue.submit(job{e, b, d.seed}), nil
}

// replay runs on the queue's goroutine.
func (d *Device) replay(j job) error {
	if len(j.x.ops) == 0 {
		return nil
	}
	d.call = [...]uintptr{
		uintptr(unsafe.Pointer(unsafe.SliceData(j.x.ops))), uintptr(len(j.x.ops)),
		j.step.addr(), uintptr(j.seed),
	}
	r, _, _ := purego.SyscallN(d.lib.run, d.call[:]...)
	if int32(r) != 0 {
		return &gpu.Error{Op: "run", Err: fmt.Errorf("program %s: %w", j.x.program.Name, d.lib.fault(r))}
	}
	return nil
}

// Wait returns when submission n has finished. It allocates only when more calls wait at a time than ever before.
func (d *Device) Wait(ctx context.Context, n uint64) error { return d.queue.wait(ctx, n) }

// Close waits for what is in flight, ends the threads, unlinks the library and frees everything. Closing twice does
// nothing.
func (d *Device) Close() error {
	if d.closed {
		return nil
	}
	d.closed = true
	d.queue.close()
	for x := range d.execs {
		d.discard(x)
	}
	for b := range d.buffers {
		d.release(b)
	}
	unmap(d.zero)
	d.zero = nil
	if err := d.lib.close(); err != nil {
		return &gpu.Error{Op: "close", Err: err}
	}
	return nil
}

func (d *Device) isClosed() bool { return d.closed }

// addressable is a bound of what a process can map.
const addressable = 1 << 47

// memory is the size of the machine's memory in bytes.
func memory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return addressable
	}
	return int64(info.Totalram) * int64(info.Unit)
}
