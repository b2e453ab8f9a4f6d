package weights

import (
	"encoding/binary"
	"math"
)

// convert copies elements, converting between BF16 and F32 where the dtypes differ. dst and src hold the same
// number of elements, little endian. BF16 to F32 is exact.
func convert(dst []byte, to Dtype, src []byte, from Dtype) {
	switch to {
	case from:
		copy(dst, src)
	case F32:
		for i := range len(src) / 2 {
			half := binary.LittleEndian.Uint16(src[2*i:])
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(half)<<16)
		}
	default:
		for i := range len(src) / 4 {
			binary.LittleEndian.PutUint16(dst[2*i:], roundBF16(binary.LittleEndian.Uint32(src[4*i:])))
		}
	}
}

// roundBF16 rounds the bits of an F32 to those of a BF16: to nearest, ties to even; values beyond the largest
// become infinite; a NaN stays a (quiet) NaN.
func roundBF16(b uint32) uint16 {
	if f := math.Float32frombits(b); f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
