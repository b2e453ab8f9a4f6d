package nn

import (
	"sotto/engine/gpu"
	"sotto/engine/model"
	"sotto/engine/state"
	"sotto/kernels"
)

// mamba2 records a Mamba-2 mixer: one stacked projection, then convolution and recurrence, in one op for one row and
// in two for more, then the norm gated by the first outputs of the projection, then the output projection onto the
// residual stream. One row and many rows give the same bits.
func (r *recorder) mamba2(m *model.Mamba2, st state.Block, x, xn gpu.Slice) {
	size := r.dtype.Size()
	inner := m.Heads * m.Dim
	stride := roundUp(m.In.Rows, rowAlign)
	p := r.alloc(r.Rows, stride, size)
	y, yn := r.alloc(r.Rows, inner, size), r.alloc(r.Rows, inner, size)
	r.linear("mamba in", m.In, kernels.Store, xn, p, stride)

	shape := kernels.Mamba{
		DType: r.dtype, Heads: m.Heads, Dim: m.Dim, Groups: m.Groups, State: m.State,
		DTMin: m.MinStep, DTMax: m.MaxStep, PStride: stride, Rows: r.Rows,
	}
	slots := int64(r.State.Slots)
	conv := arg{st.Conv, st.Conv.Len / slots} // half of a slot is read, the other half written
	s := arg{st.S, 2 * st.S.Len / slots}
	convW, convB := r.vector(m.ConvWeight), r.vector(m.ConvBias)
	aLog, dtBias, d := r.vector(m.ALog), r.vector(m.DtBias), r.vector(m.D)
	if r.Rows == 1 {
		l, err := kernels.MambaStep(shape).Launch()
		r.emit("mamba step", l, err, all(p, convW, convB), []arg{conv}, all(aLog, dtBias, d), []arg{s}, all(y))
	} else {
		xbc, gates := r.alloc(r.Rows, m.Channels(), size), r.alloc(r.Rows, 2*m.Heads, 4)
		l, err := kernels.MambaConv(shape).Launch()
		r.emit("mamba conv", l, err, all(p, convW, convB), []arg{conv}, all(aLog, dtBias, xbc, gates))
		l, err = kernels.MambaScan(shape).Launch()
		r.emit("mamba scan", l, err, all(xbc, gates, d), []arg{s}, all(y))
	}
	l, err := kernels.GroupNorm{
		DType: r.dtype, Rows: r.Rows, D: inner, Groups: m.Groups, ZStride: stride, Eps: r.Spec.Eps,
	}.Launch()
	z := arg{p, int64(r.Rows) * int64(inner) * size}
	r.emit("mamba norm", l, err, all(y), []arg{z}, all(r.vector(m.Norm), yn))
	r.linear("mamba out", m.Out, kernels.Residual, yn, x, r.Spec.Hidden)
}
