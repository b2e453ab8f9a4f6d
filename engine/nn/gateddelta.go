package nn

import (
	"sotto/engine/gpu"
	"sotto/engine/model"
	"sotto/engine/state"
	"sotto/kernels"
)

// gatedDelta records a gated delta net (Yang et al., "Gated Delta Networks", arXiv 2412.06464): one stacked
// projection, then convolution, delta rule and gated norm, in one op for one row and in two for more, then the output
// projection onto the residual stream. One row and many rows give the same bits.
func (r *recorder) gatedDelta(m *model.GatedDelta, st state.Block, x, xn gpu.Slice) {
	size := r.dtype.Size()
	values := m.ValueHeads * m.ValueDim
	stride := roundUp(m.In.Rows, rowAlign)
	p := r.alloc(r.Rows, stride, size)
	y := r.alloc(r.Rows, values, size)
	r.linear("delta in", m.In, kernels.Store, xn, p, stride)

	slots := int64(r.State.Slots)
	conv := arg{st.Conv, st.Conv.Len / slots} // half of a slot is read, the other half written
	s := arg{st.S, 2 * st.S.Len / slots}
	convW, aLog, dtBias, norm := r.vector(m.ConvWeight), r.vector(m.ALog), r.vector(m.DtBias), r.vector(m.Norm)
	if r.Rows == 1 {
		l, err := kernels.DeltaStep{
			DType: r.dtype, KeyHeads: m.KeyHeads, ValueHeads: m.ValueHeads, KeyDim: m.KeyDim, ValueDim: m.ValueDim,
			Eps: r.Spec.Eps, PStride: stride,
		}.Launch()
		r.emit("delta step", l, err, all(p, convW), []arg{conv}, all(aLog, dtBias, norm), []arg{s}, all(y))
	} else {
		qkv := r.alloc(r.Rows, m.Channels(), size)
		gb := r.alloc(r.Rows, 2*m.ValueHeads, 4)
		l, err := kernels.DeltaConv{
			DType: r.dtype, KeyHeads: m.KeyHeads, ValueHeads: m.ValueHeads, KeyDim: m.KeyDim, ValueDim: m.ValueDim,
			Eps: r.Spec.Eps, PStride: stride, Rows: r.Rows,
		}.Launch()
		r.emit("delta conv", l, err, all(p, convW), []arg{conv}, all(aLog, dtBias, qkv, gb))
		l, err = kernels.DeltaScan{
			DType: r.dtype, KeyHeads: m.KeyHeads, ValueHeads: m.ValueHeads, KeyDim: m.KeyDim, ValueDim: m.ValueDim,
			Eps: r.Spec.Eps, PStride: stride, Rows: r.Rows,
		}.Launch()
		r.emit("delta scan", l, err, all(qkv, gb, p, norm), []arg{s}, all(y))
	}
	r.linear("delta out", m.Out, kernels.Residual, y, x, r.Spec.Hidden)
}

// rowAlign rounds up the elements of a row, so that rows of stacked projections start at 16 bytes.
const rowAlign = 8
