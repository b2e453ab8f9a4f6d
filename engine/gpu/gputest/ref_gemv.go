package gputest

import "math"

// refMatVec multiplies each row of x by the matrix: y[r][n] = sum_k x[r][k] * w[n][k].
func refMatVec(w *Weights, x []float32) []float64 {
	var y []float64
	for ; len(x) > 0; x = x[w.K:] {
		for n := range w.N {
			sum := 0.0
			for k, v := range w.Row(n) {
				sum += v * float64(x[k])
			}
			y = append(y, sum)
		}
	}
	return y
}

// refSwiGLU is silu(g) * u for each pair g, u of v; silu(g) = g / (1 + exp(-g)).
func refSwiGLU(v []float64) []float64 {
	var h []float64
	for i := 0; i < len(v); i += 2 {
		h = append(h, v[i]/(1+math.Exp(-v[i]))*v[i+1])
	}
	return h
}
