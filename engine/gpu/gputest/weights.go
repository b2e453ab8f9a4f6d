package gputest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"sotto/kernels"
)

// group is the number of weights along K that share a scale and a bias.
const group = 64

// Weights is a random matrix [N,K] in a storage format, and what it stands for.
type Weights struct {
	Format kernels.Format
	N, K   int
	Codes  []byte    // Q4: K/2 bytes a row; Q8: K; B16: 2K
	Scales []byte    // bf16[N][K/64]; nil for B16
	Biases []byte    // bf16[N][K/64]; nil for B16
	Values []float64 // [N][K], exactly scale*code+bias of the stored numbers
}

// Streams are the matrix as the arguments of a kernel: codes, scales, biases, or codes alone for B16.
func (w *Weights) Streams() []Data {
	if w.Format == kernels.B16 {
		return []Data{Bytes(w.Codes)}
	}
	return []Data{Bytes(w.Codes), Bytes(w.Scales), Bytes(w.Biases)}
}

// Row is what row n stands for.
func (w *Weights) Row(n int) []float64 { return w.Values[n*w.K : (n+1)*w.K] }

// RandomWeights draws a matrix of zero mean and about unit variance / K, so that products with unit inputs are
// of order one. A third of the scales are negative, as in published checkpoints. K is a multiple of 64.
func RandomWeights(r *rand.Rand, f kernels.Format, n, k int) *Weights {
	if k%group != 0 {
		panic(fmt.Sprintf("gputest: K=%d is not a multiple of %d", k, group))
	}
	w := &Weights{Format: f, N: n, K: k, Values: make([]float64, 0, n*k)}
	if f == kernels.B16 {
		for range n * k {
			x := BF16(float32(r.NormFloat64() / math.Sqrt(float64(k))))
			w.Codes = binary.LittleEndian.AppendUint16(w.Codes, BF16Bits(x))
			w.Values = append(w.Values, float64(x))
		}
		return w
	}
	levels := map[kernels.Format]int{kernels.Q4: 16, kernels.Q8: 256}[f]
	for range n * k / group {
		w.addGroup(r, levels)
	}
	return w
}

func (w *Weights) addGroup(r *rand.Rand, levels int) {
	amp := (0.5 + r.Float64()) * math.Sqrt(12/float64(w.K)) / float64(levels)
	if r.IntN(3) == 0 {
		amp = -amp
	}
	scale := BF16(float32(amp))
	bias := BF16(float32(-amp * (float64(levels-1)/2 + r.NormFloat64())))
	w.Scales = binary.LittleEndian.AppendUint16(w.Scales, BF16Bits(scale))
	w.Biases = binary.LittleEndian.AppendUint16(w.Biases, BF16Bits(bias))
	var low byte
	for i := range group {
		code := byte(r.IntN(levels))
		w.Values = append(w.Values, float64(scale)*float64(code)+float64(bias))
		switch {
		case levels == 256:
			w.Codes = append(w.Codes, code)
		case i%2 == 0:
			low = code
		default:
			w.Codes = append(w.Codes, low|code<<4)
		}
	}
}

// Rand is a generator for test data: the same name gives the same numbers.
func Rand(name string) *rand.Rand {
	h := uint64(14695981039346656037) // FNV-1a
	for _, c := range []byte(name) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(h, 1))
}

// Normal draws n numbers of unit variance, rounded to activation type d.
func Normal(r *rand.Rand, d kernels.DType, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = Round(d, float32(r.NormFloat64()))
	}
	return v
}
