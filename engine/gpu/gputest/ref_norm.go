package gputest

import "math"

// refRMSNorm is x * w / sqrt(mean(x^2) + eps) of one row.
func refRMSNorm(x, w []float32, eps float64) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	scale := 1 / math.Sqrt(sum/float64(len(x))+eps)
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v) * scale * float64(w[i])
	}
	return y
}
