package gputest

import (
	"math"

	"sotto/kernels"
)

// refMamba holds the sizes and weights of a Mamba-2 mixer, in the formula's terms.
type refMamba struct {
	dtype                    kernels.DType
	heads, dim, groups, size int // size of the state of a channel
	least, most              float64
	convW, convB             []float32 // [C][4], [C]
	aLog, dtBias, skip       []float32
}

func (m *refMamba) values() int   { return m.heads * m.dim }
func (m *refMamba) channels() int { return m.values() + 2*m.groups*m.size }
func (m *refMamba) width() int    { return m.values() + m.channels() + m.heads }

// conv is the causal convolution with bias of raw rows u[0..3] (the last one is the current row), with SiLU.
func (m *refMamba) conv(u [4][]float32) []float64 {
	c := make([]float64, m.channels())
	for ch := range c {
		c[ch] = float64(m.convB[ch])
		for j := range u {
			c[ch] += float64(m.convW[4*ch+j]) * float64(u[j][ch])
		}
		c[ch] *= refSigmoid(c[ch])
	}
	return c
}

// gates is decay and time step of each head of one row of projections.
func (m *refMamba) gates(p []float32) []float64 {
	var g []float64
	for h := range m.heads {
		x := float64(p[m.values()+m.channels()+h]) + float64(m.dtBias[h])
		dt := math.Min(math.Max(refSoftplus(x), m.least), m.most)
		g = append(g, math.Exp(-math.Exp(float64(m.aLog[h]))*dt), dt)
	}
	return g
}

// step is the recurrence on state s [heads][dim][size] for one row of x | B | C.
func (m *refMamba) step(s []float64, xbc, gates []float32) []float64 {
	y := make([]float64, 0, m.values())
	for h := range m.heads {
		g := h / (m.heads / m.groups)
		b := part(xbc[m.values():], m.size, g, 1)
		c := part(xbc[m.values():], m.size, m.groups+g, 1)
		for i := range m.dim {
			x := float64(xbc[h*m.dim+i])
			row := part(s, m.size, h*m.dim+i, 1)
			for j := range row {
				row[j] = float64(gates[2*h])*row[j] + float64(gates[2*h+1])*x*float64(b[j])
			}
			y = append(y, refDot(row, c)+float64(m.skip[h])*x)
		}
	}
	return y
}

// refGroupNorm is the gated norm of one row in groups.
func refGroupNorm(y, z, w []float32, groups int, eps float64) []float64 {
	size := len(y) / groups
	out := make([]float64, len(y))
	for g := range groups {
		sum := 0.0
		for i := g * size; i < (g+1)*size; i++ {
			gate := float64(z[i])
			out[i] = float64(y[i]) * gate * refSigmoid(gate)
			sum += out[i] * out[i]
		}
		scale := 1 / math.Sqrt(sum/float64(size)+eps)
		for i := g * size; i < (g+1)*size; i++ {
			out[i] *= scale * float64(w[i])
		}
	}
	return out
}
