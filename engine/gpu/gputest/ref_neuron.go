package gputest

import "math/bits"

// refRelu2 is one expert's hidden row, max(w x, 0)^2, from rows first, first+1, ... of w.
func refRelu2(w *Weights, first, n int, x []float32) []float64 {
	h := make([]float64, n)
	for i := range h {
		v := refDot(w.Row(first+i), x)
		if v < 0 {
			v = 0
		}
		h[i] = v * v
	}
	return h
}

// refNeuronDown is the product of a hidden row with neurons first, first+1, ... of w.
func refNeuronDown(w *Neurons, first int, h []float32) []float64 {
	y := make([]float64, w.D)
	for n, x := range h {
		if x == 0 {
			continue
		}
		for o, v := range w.Values[(first+n)*w.D : (first+n+1)*w.D] {
			y[o] += float64(x) * v
		}
	}
	return y
}

// refBits is the bitmap of a hidden row: bit n%32 of word n/32 is set unless h[n] is 0.
func refBits(h []float32) []uint32 {
	words := make([]uint32, len(h)/32)
	for n, x := range h {
		if x != 0 {
			words[n/32] |= 1 << (n % 32)
		}
	}
	return words
}

// refPartSums is the residual row y plus, for each slot, its weight times the sum of its slices, and the slices of the
// shared expert.
func refPartSums(p, w, shared, y []float32) []float64 {
	d := len(y)
	out := make([]float64, d)
	slices := len(p) / d / len(w)
	for i := range out {
		out[i] = float64(y[i])
		for k := range len(p) / d {
			out[i] += float64(w[k/slices]) * float64(p[k*d+i])
		}
		for k := range len(shared) / d {
			out[i] += float64(shared[k*d+i])
		}
	}
	return out
}

// refCount is the number of set bits.
func refCount(words []uint32) int {
	n := 0
	for _, w := range words {
		n += bits.OnesCount32(w)
	}
	return n
}
