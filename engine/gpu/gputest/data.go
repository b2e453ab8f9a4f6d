package gputest

import (
	"encoding/binary"
	"math"

	"sotto/kernels"
)

// Data is one argument of an op under test: initial bytes, or only a size. Make it with the functions below.
type Data struct {
	init []byte
	size int64
	step bool // the step buffer
}

// Bytes is an argument that starts with these bytes.
func Bytes(b []byte) Data { return Data{init: b, size: int64(len(b))} }

// F32s is an argument that starts with these floats.
func F32s(v []float32) Data { return Bytes(F32Bytes(v)) }

// U32s is an argument that starts with these words.
func U32s(v []uint32) Data { return Bytes(U32Bytes(v)) }

// BF16s is an argument that starts with v rounded to bfloat16.
func BF16s(v []float32) Data { return Bytes(BF16Bytes(v)) }

// Floats is an argument of activation type d that starts with v, rounded to it.
func Floats(d kernels.DType, v []float32) Data { return Bytes(FloatBytes(d, v)) }

// Out is an argument of n bytes that starts as NaN in every type.
func Out(n int) Data {
	b := make([]byte, n)
	fill(b, poison)
	return Bytes(b)
}

// OutFloats is an output of n elements of activation type d.
func OutFloats(d kernels.DType, n int) Data { return Out(n * int(d.Size())) }

// None is an argument that is not bound: the kernel sees 64 KiB of zeroes.
func None() Data { return Data{} }

// StepRecord is a whole step buffer: the record, and the row ids and pages that start it.
type StepRecord struct {
	Params kernels.StepParams
	IDs    []uint32 // at most kernels.MaxRows
	Pages  []uint32 // at most kernels.MaxPages
}

// StepData is the argument [kernels.StepArg]. Its output is the whole step buffer after the run.
func StepData(r StepRecord) Data {
	b := make([]byte, kernels.StepBytes)
	if _, err := binary.Encode(b, binary.LittleEndian, r.Params); err != nil {
		panic(err) // StepParams has a fixed size
	}
	copy(b[kernels.IDsOffset:], U32Bytes(r.IDs[:min(len(r.IDs), kernels.MaxRows)]))
	copy(b[kernels.PagesOffset:], U32Bytes(r.Pages[:min(len(r.Pages), kernels.MaxPages)]))
	return Data{init: b, size: kernels.StepBytes, step: true}
}

// Poison is NaN as float32 and as bfloat16, and a huge index; guard is another such word.
const (
	poison uint32 = 0x7fc17fc1
	guard  uint32 = 0xffa5ffa5
)

// fill repeats a word over b, from its first byte on.
func fill(b []byte, word uint32) {
	var w [4]byte
	binary.LittleEndian.PutUint32(w[:], word)
	for n := copy(b, w[:]); n > 0 && n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// F32Bytes is the memory of v.
func F32Bytes(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// U32Bytes is the memory of v.
func U32Bytes(v []uint32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

// BF16Bytes is the memory of v rounded to bfloat16, ties to even; NaN stays NaN.
func BF16Bytes(v []float32) []byte {
	b := make([]byte, 0, 2*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint16(b, BF16Bits(x))
	}
	return b
}

// FloatBytes is the memory of v as activation type d.
func FloatBytes(d kernels.DType, v []float32) []byte {
	if d == kernels.BF16 {
		return BF16Bytes(v)
	}
	return F32Bytes(v)
}

// BF16Bits rounds to bfloat16, ties to even; NaN stays NaN.
func BF16Bits(x float32) uint16 {
	u := math.Float32bits(x)
	if x != x {
		return uint16(u>>16) | 0x40
	}
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

// BF16 is x rounded to bfloat16.
func BF16(x float32) float32 { return math.Float32frombits(uint32(BF16Bits(x)) << 16) }

// Round is x as activation type d holds it.
func Round(d kernels.DType, x float32) float32 {
	if d == kernels.BF16 {
		return BF16(x)
	}
	return x
}

// ToF32 reads float32 memory.
func ToF32(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

// ToU32 reads words.
func ToU32(b []byte) []uint32 {
	v := make([]uint32, len(b)/4)
	for i := range v {
		v[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return v
}

// ToBF16 reads bfloat16 memory.
func ToBF16(b []byte) []float32 {
	v := make([]float32, len(b)/2)
	for i := range v {
		v[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16)
	}
	return v
}

// ToFloats reads memory of activation type d.
func ToFloats(d kernels.DType, b []byte) []float32 {
	if d == kernels.BF16 {
		return ToBF16(b)
	}
	return ToF32(b)
}
