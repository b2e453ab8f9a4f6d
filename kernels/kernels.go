// Package kernels holds the Metal sources, the parameter structs they share with Go, and the catalogue of
// every entry point. It is the only place that names a kernel: a [Launch] made by one of its constructors
// carries the entry point, the packed parameters and the geometry, so callers bind buffers and nothing else.
//
// Conventions of every kernel: buffer 0 is its parameter struct (constant), buffers 1.. are [Kernel.Args] in
// order. Geometry counts simdgroups, never threads: a device has 32 lanes a simdgroup or 1 (fast host build).
package kernels

import "fmt"

// Access says what a kernel does with a buffer.
type Access uint8

// Accesses of a buffer argument.
const (
	Read Access = 1 << iota
	Write
	ReadWrite = Read | Write
)

// Arg is one buffer argument of a kernel.
type Arg struct {
	Name   string // as in the source
	Access Access
}

// StepArg is the name of the argument that is bound to the session's step record at every replay.
const StepArg = "step"

// Kernel is one entry point: a function template with its types and sizes filled in.
type Kernel struct {
	Name   string // entry point, as [[host_name]] spells it
	File   string // source in this folder, "gemv.metal"
	Params any    // zero value of the parameter struct at buffer 0
	Args   []Arg  // buffers 1, 2, ...
}

// Limit lets a driver shrink a grid to the live part: grid[Dim] = min(grid[Dim], ceil(u32 at Offset of the
// step record / Div)). It saves work only; a kernel must also be right on the whole grid.
type Limit struct {
	Dim    int
	Offset uint32 // bytes from the start of StepParams
	Div    uint32
}

// Launch is one dispatch without its buffers.
type Launch struct {
	Kernel     *Kernel
	Params     []byte    // packed parameter struct
	Grid       [3]uint32 // threadgroups
	Simdgroups uint32    // a threadgroup
	Limits     []Limit   // at most two
}

// UnsupportedError reports a shape or type that no instantiation covers.
type UnsupportedError struct {
	Op     string // "gemv"
	Detail string // "K=100 is not a multiple of 64"
}

func (e *UnsupportedError) Error() string { return fmt.Sprintf("kernel %s: %s", e.Op, e.Detail) }

// DType is the type of activations: every kernel that touches them is instantiated for both.
type DType uint8

// Activation types.
const (
	BF16 DType = iota
	F32
)

// String is the suffix that entry points use.
func (d DType) String() string { return [...]string{"bf16", "f32"}[d] }

// Size is the number of bytes of one element.
func (d DType) Size() int64 { return [...]int64{2, 4}[d] }

// Format is the storage of a weight matrix: rows of output neurons along K inputs, groups of 64 along K.
type Format uint8

// Weight formats. Q4 and Q8 have three streams: codes u32 (least significant element first), scales bf16,
// biases bf16, one pair a group of 64; w = scale*code + bias. B16 is plain bf16 in the codes stream.
//
// NM and NM20 hold the transpose of a Q4 matrix [D][n], neuron by neuron, so that neurons that are off need not be
// read: codes u32[n][D/8], least significant output first, biases bf16[n/64][D], and for each bias a scale: NM bf16
// [n/64][D]; NM20 four bits q, u32[n/64][D/8], least significant output first, and the scale is bf16(bias / -(q+7)).
const (
	Q4 Format = iota
	Q8
	B16
	NM
	NM20
)

// String is the infix that entry points use.
func (f Format) String() string { return [...]string{"q4", "q8", "b16", "nm", "nm20"}[f] }

// CodeBytes is the size of n elements of the codes stream.
func (f Format) CodeBytes(n int64) int64 { return [...]int64{n / 2, n, 2 * n, n / 2, n / 2}[f] }
