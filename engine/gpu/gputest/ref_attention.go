package gputest

import (
	"math"

	"sotto/kernels"
)

// refPrepare is RMS norm over a head with weights w (none when w is nil), then rotation of pairs (i, i+rotary/2) by
// pos * theta^(-2i/rotary).
func refPrepare(x, w []float32, eps float64, rotary int, theta float64, pos int) []float64 {
	y := make([]float64, len(x))
	sum := 0.0
	for i, v := range x {
		y[i] = float64(v)
		sum += y[i] * y[i]
	}
	if w != nil {
		scale := 1 / math.Sqrt(sum/float64(len(x))+eps)
		for i := range y {
			y[i] *= scale * float64(w[i])
		}
	}
	half := rotary / 2
	for i := range half {
		sin, cos := math.Sincos(float64(pos) * math.Pow(theta, -float64(i)/float64(half)))
		a, b := y[i], y[i+half]
		y[i], y[i+half] = a*cos-b*sin, b*cos+a*sin
	}
	return y
}

// refAttend is softmax(q . k_j / sqrt(dim)) over n keys, times their values, times the sigmoid of gate when there is
// one. keys and values return row j.
func refAttend(q []float32, n int, keys, values func(j int) []float32, gate []float32) []float64 {
	dim := len(q)
	scores := make([]float64, n)
	top := math.Inf(-1)
	for j := range scores {
		for i, v := range keys(j) {
			scores[j] += float64(q[i]) * float64(v)
		}
		scores[j] /= math.Sqrt(float64(dim))
		top = math.Max(top, scores[j])
	}
	out := make([]float64, dim)
	sum := 0.0
	for j, s := range scores {
		p := math.Exp(s - top)
		sum += p
		for i, v := range values(j) {
			out[i] += p * float64(v)
		}
	}
	for i := range out {
		out[i] /= sum
		if gate != nil {
			out[i] *= refSigmoid(float64(gate[i]))
		}
	}
	return out
}

// refCache reads caches k or v of layout T[pages][heads][KeyBlock][dim] through a page table.
type refCache struct {
	values []float32
	pages  []uint32
	heads  int
	dim    int
}

func newRefCache(d kernels.DType, mem []byte, pages []uint32, heads, dim int) refCache {
	return refCache{ToFloats(d, mem), pages, heads, dim}
}

// row is the key or value of a head at a position.
func (c refCache) row(head, pos int) []float32 {
	return part(c.values, c.dim, c.at(head, pos), 1)
}

// at is the index of that row.
func (c refCache) at(head, pos int) int {
	return (int(c.pages[pos/kernels.KeyBlock])*c.heads+head)*kernels.KeyBlock + pos%kernels.KeyBlock
}
