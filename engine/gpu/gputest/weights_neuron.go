package gputest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"sotto/kernels"
)

// Neurons is a random neuron-major matrix: N neurons of D outputs, groups of 64 neurons sharing scale and bias. Every
// scale can be rebuilt from its bias, so the matrix exists in both formats and means the same.
type Neurons struct {
	N, D   int
	Codes  []byte    // u32[N][D/8]
	Scales []byte    // bf16[N/64][D]
	Quads  []byte    // u32[N/64][D/8]: four bits q, scale = bf16(bias / -(q+7))
	Biases []byte    // bf16[N/64][D]
	Values []float64 // [N][D], exactly scale*code+bias of the stored numbers
}

// Streams are the matrix in a format as the arguments of a kernel: codes, scales, biases.
func (w *Neurons) Streams(f kernels.Format) []Data {
	if f == kernels.NM20 {
		return []Data{Bytes(w.Codes), Bytes(w.Quads), Bytes(w.Biases)}
	}
	return []Data{Bytes(w.Codes), Bytes(w.Scales), Bytes(w.Biases)}
}

// RandomNeurons draws a matrix whose products with hidden rows of order one are of order one. n and d are multiples of
// 64.
func RandomNeurons(r *rand.Rand, n, d int) *Neurons {
	w := &Neurons{N: n, D: d, Values: make([]float64, n*d)}
	amp := math.Sqrt(12/float64(n)) / 16
	for g := range n / group {
		var quad byte
		codes := make([]byte, group*d/2)
		for o := range d {
			q := byte(r.IntN(16))
			bias := BF16(float32((0.5 + r.Float64()) * amp * float64(q+7)))
			if r.IntN(2) == 0 {
				bias = -bias
			}
			scale := BF16(bias / -float32(q+7))
			w.Biases = binary.LittleEndian.AppendUint16(w.Biases, BF16Bits(bias))
			w.Scales = binary.LittleEndian.AppendUint16(w.Scales, BF16Bits(scale))
			if quad |= q << (o % 2 * 4); o%2 != 0 {
				w.Quads, quad = append(w.Quads, quad), 0
			}
			for i := range group {
				code := byte(r.IntN(16))
				codes[(i*d+o)/2] |= code << (o % 2 * 4)
				w.Values[(g*group+i)*d+o] = float64(scale)*float64(code) + float64(bias)
			}
		}
		w.Codes = append(w.Codes, codes...)
	}
	return w
}

// spoil makes the scales and biases of a group NaN: a kernel that uses them leaves NaN.
func (w *Neurons) spoil(g int) {
	fill(w.Scales[2*g*w.D:2*(g+1)*w.D], poison)
	fill(w.Biases[2*g*w.D:2*(g+1)*w.D], poison)
}

// deaden makes all weights of row n of a Q4 matrix negative.
func (w *Weights) deaden(n int) {
	for g := range w.K / group {
		at := n*w.K/group + g
		scale := math.Float32frombits(uint32(binary.LittleEndian.Uint16(w.Scales[2*at:])) << 16)
		old := math.Float32frombits(uint32(binary.LittleEndian.Uint16(w.Biases[2*at:])) << 16)
		bias := BF16(-16 * float32(math.Abs(float64(scale))))
		binary.LittleEndian.PutUint16(w.Biases[2*at:], BF16Bits(bias))
		for i := range group {
			w.Values[n*w.K+g*group+i] += float64(bias) - float64(old)
		}
	}
}
