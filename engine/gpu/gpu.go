// Package gpu is the device contract. The layers above record a [Program], a flat list of Ops over symbolic
// regions; a driver binds regions to memory, compiles the list once and replays it in one call. Stages (where a
// barrier is needed) follow from the ranges that Ops read and write. Drivers live in subfolders and hold no
// model knowledge; gputest is a conformance suite for any of them.
package gpu

import (
	"context"
	"errors"
	"fmt"

	"sotto/kernels"
)

// Errors of devices, to be tested with errors.Is.
var (
	ErrClosed      = errors.New("device is closed")
	ErrOutOfMemory = errors.New("out of device memory")
	ErrLost        = errors.New("device lost")
)

// Error is a failure of one operation on a device.
type Error struct {
	Op     string // "compile", "submit"
	Kernel string // entry point, if one is to blame
	Err    error
}

func (e *Error) Error() string {
	if e.Kernel == "" {
		return fmt.Sprintf("%s: %v", e.Op, e.Err)
	}
	return fmt.Sprintf("%s: kernel %s: %v", e.Op, e.Kernel, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Caps describes a device.
type Caps struct {
	Driver      string // "host"
	Name        string // "AMD EPYC, 2 threads, x86-64-v3"
	Tier        string // "vector", "simdgroup", "tensor"
	TierReason  string // why this tier and no faster one
	SIMD        int    // lanes a simdgroup
	MaxGroup    int    // simdgroups a threadgroup
	MemoryLimit int64  // bytes that may be taken in all, see [Footprint]; 0 if unknown
	Chunk       int    // rows of a prompt to read at once to begin with: a guess of what takes about 100 ms
}

// Buffer is memory that both the CPU and the device see.
type Buffer interface {
	Size() int64
	// Bytes is the memory itself. Reading or writing what a submission in flight uses is a race.
	Bytes() []byte
	Free()
}

// Device runs compiled programs in the order of their submission. Methods but Wait are called by one goroutine.
type Device interface {
	Caps() Caps
	// Alloc returns zeroed memory, aligned to 16 KiB.
	Alloc(size int64) (Buffer, error)
	// Map makes page-aligned memory (such as a mapped file; pages are what the system uses, 16 KiB on Apple
	// silicon) visible without a copy. The caller keeps mem alive and unmaps it after Free. The device only
	// reads it.
	Map(mem []byte) (Buffer, error)
	// Compile checks the program, fixes its stages and binds its regions. All that can fail for a reason of
	// shape, type or missing kernels fails here. Where kernels are still being built it waits for those of the
	// program; when ctx ends first, its error is returned.
	Compile(ctx context.Context, p *Program, bind map[*Region]Buffer) (Exec, error)
	// Submit queues one replay with the given step buffer and returns its number, counted from 1. It does not
	// allocate and waits only when more than [MaxInFlight] submissions are unfinished.
	Submit(x Exec, step Buffer) (uint64, error)
	// Wait returns when submission n and all before it have finished, with the first error among them. When ctx
	// ends first, the submission goes on.
	Wait(ctx context.Context, n uint64) error
	// Close waits for what is in flight and frees everything. Other calls then fail with ErrClosed.
	Close() error
}

// What a device takes beside the bytes that it is asked for: buffers and mapped memory end at a page, a program's
// parameters lie in a buffer of their own, one op's apart from the next's, and zeroes stand for what is unbound.
const (
	Page       = 16 << 10
	ParamAlign = 256
	ZeroBytes  = 64 << 10
)

// Footprint is what memory of a size takes of a device, in bytes.
func Footprint(size int64) int64 { return (size + Page - 1) / Page * Page }

// MapFootprint is what mapped memory of a size takes of a device at most, in bytes: it may be seen through several
// buffers, about one a GiB, of which neighbours share a page that counts twice.
func MapFootprint(size int64) int64 { return Footprint(size) + (4+size>>29)*Page }

// MaxInFlight is the number of submissions that a device queues without waiting.
const MaxInFlight = 4

// Exec is a compiled program.
type Exec interface {
	Program() *Program
	Free()
}

// Region is a piece of memory by name: an arena of weights, activations or state. Programs refer to regions;
// buffers are bound at compile time, so a program of any size can be recorded and printed without memory.
type Region struct {
	Name string
	Size int64 // bytes
}

// Step stands for the step buffer, the only binding that changes between replays. It is bound to the argument
// named [kernels.StepArg], which gets the buffer's start; the Slice says how far the op reads or writes it.
var Step = &Region{Name: "step", Size: kernels.StepBytes}

// Slice is a byte range of a region.
type Slice struct {
	Region *Region
	Off    int64
	Len    int64
}

// At returns the part of s that starts at off and has n bytes.
func (s Slice) At(off, n int64) Slice { return Slice{s.Region, s.Off + off, n} }

// Op is one dispatch: a launch and the buffers of its arguments.
type Op struct {
	kernels.Launch
	Label string  // "layer 3: gdn step"
	Args  []Slice // one for each of Kernel.Args
	// Touch is the number of bytes that the op moves through each argument when that is less than the whole
	// range because it depends on data (chosen experts, keys in the cache). 0 means the whole range.
	Touch []int64
}

// Program is a flat list of ops for one row class.
type Program struct {
	Name string // "decode 1", "prefill 256"
	Rows int    // row class
	Ops  []Op
	// Serial puts every op in a stage of its own, to measure what running ops at the same time is worth.
	Serial bool
}
