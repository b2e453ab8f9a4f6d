package gputest

import (
	"math"

	"sotto/kernels"
)

// refDelta holds the sizes and weights of a gated delta net, and its state, in the formula's terms.
type refDelta struct {
	dtype                kernels.DType
	keyHeads, valueHeads int
	dim                  int
	eps                  float64
	convW                []float32 // [C][4]
	aLog, dtBias, norm   []float32
}

func (d *refDelta) channels() int { return (2*d.keyHeads + d.valueHeads) * d.dim }
func (d *refDelta) values() int   { return d.valueHeads * d.dim }
func (d *refDelta) width() int    { return d.channels() + d.values() + 2*d.valueHeads }

// refSoftplus is log(1+e^x).
func refSoftplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// conv is the causal convolution of raw rows u[0..3] (the last one is the current row) with SiLU, the L2 norm of q
// and k heads, and the division of q by the root of the head size.
func (d *refDelta) conv(u [4][]float32) []float64 {
	c := make([]float64, d.channels())
	for ch := range c {
		for j := range u {
			c[ch] += float64(d.convW[4*ch+j]) * float64(u[j][ch])
		}
		c[ch] *= refSigmoid(c[ch])
	}
	for h := range 2 * d.keyHeads {
		head := part(c, d.dim, h, 1)
		sum := d.eps
		for _, x := range head {
			sum += x * x
		}
		scale := 1 / math.Sqrt(sum)
		if h < d.keyHeads {
			scale /= math.Sqrt(float64(d.dim))
		}
		for i := range head {
			head[i] *= scale
		}
	}
	return c
}

// gates is decay and beta of each value head of one row of projections.
func (d *refDelta) gates(p []float32) []float64 {
	b, a := p[d.channels()+d.values():], p[d.channels()+d.values()+d.valueHeads:]
	var g []float64
	for h := range d.valueHeads {
		rate := math.Exp(float64(d.aLog[h])) * refSoftplus(float64(a[h])+float64(d.dtBias[h]))
		g = append(g, math.Exp(-rate), refSigmoid(float64(b[h])))
	}
	return g
}

// step is the delta rule on state s [valueHeads][dim values][dim keys] for one row, and the gated norm of its output.
func (d *refDelta) step(s []float64, qkv, gb, z []float32) []float64 {
	y := make([]float64, 0, d.values())
	for h := range d.valueHeads {
		key := h / (d.valueHeads / d.keyHeads)
		q, k := part(qkv, d.dim, key, 1), part(qkv, d.dim, d.keyHeads+key, 1)
		v := part(qkv, d.dim, 2*d.keyHeads+h, 1)
		o := make([]float64, d.dim)
		for i := range o {
			row := part(s, d.dim, h*d.dim+i, 1)
			for j := range row {
				row[j] *= float64(gb[2*h])
			}
			delta := (float64(v[i]) - refDot(row, k)) * float64(gb[2*h+1])
			for j := range row {
				row[j] += delta * float64(k[j])
			}
			o[i] = refDot(row, q)
		}
		y = append(y, d.gatedNorm(o, part(z, d.dim, h, 1))...)
	}
	return y
}

func (d *refDelta) gatedNorm(o []float64, z []float32) []float64 {
	sum := 0.0
	for _, x := range o {
		sum += x * x
	}
	scale := 1 / math.Sqrt(sum/float64(d.dim)+d.eps)
	y := make([]float64, d.dim)
	for i := range y {
		gate := float64(z[i])
		y[i] = o[i] * scale * float64(d.norm[i]) * gate * refSigmoid(gate)
	}
	return y
}
