package nn

import (
	"sotto/engine/gpu"
	"sotto/engine/model"
	"sotto/engine/state"
	"sotto/kernels"
)

// attention records grouped softmax attention: one stacked projection, then for one row the work on key blocks and
// their merge, for more rows the storing of keys and values and the rows' own attention, then the output projection
// onto the residual stream. Both ways give the same bits.
func (r *recorder) attention(m *model.Attention, st state.Block, x, xn gpu.Slice) {
	size := r.dtype.Size()
	stride := roundUp(m.In.Rows, rowAlign)
	p := r.alloc(r.Rows, stride, size)
	a := r.alloc(r.Rows, m.Heads*m.Dim, size)
	r.linear("attention in", m.In, kernels.Store, xn, p, stride)

	shape := kernels.Attention{
		DType: r.dtype, Heads: m.Heads, KVHeads: m.KVHeads, Dim: m.Dim, Gate: m.Gate, QKNorm: m.QNorm.Name != "",
		Rotary: m.Rotary, Theta: m.Theta, Eps: r.Spec.Eps, PStride: stride, Rows: r.Rows,
		MaxBlocks: keyBlocks(r.State.Window),
	}
	var qNorm, kNorm gpu.Slice
	if shape.QKNorm {
		qNorm, kNorm = r.vector(m.QNorm), r.vector(m.KNorm)
	}
	position := int64(m.KVHeads*m.Dim) * size // bytes of the keys of one position
	cached, fresh := int64(r.Context)*position, int64(r.Rows)*position
	if r.Rows == 1 {
		r.attentionStep(shape, cached+fresh, st, p, qNorm, kNorm, a)
	} else {
		q := r.alloc(r.Rows, m.Heads*m.Dim, size)
		l, err := kernels.AttnStore(shape).Launch()
		r.emit("attention store", l, err, all(p, qNorm, kNorm, q), []arg{{st.K, fresh}, {st.V, fresh}})
		l, err = kernels.AttnRows(shape).Launch()
		r.emit("attention rows", l, err, all(q), []arg{{st.K, cached}, {st.V, cached}}, all(p, a))
	}
	r.linear("attention out", m.Out, kernels.Residual, a, x, r.Spec.Hidden)
}

// attentionStep is the middle of a one-row pass; touched are the bytes of keys that it reads and writes.
func (r *recorder) attentionStep(
	shape kernels.Attention, touched int64, st state.Block, p, qNorm, kNorm, a gpu.Slice,
) {
	lines := shape.Heads * shape.MaxBlocks
	partO, partML := arg{Slice: r.alloc(lines, shape.Dim, 4)}, arg{Slice: r.alloc(lines, 2, 4)}
	blocks := int64(keyBlocks(r.Context))
	partO.touch = partO.Len / int64(shape.MaxBlocks) * blocks
	partML.touch = partML.Len / int64(shape.MaxBlocks) * blocks
	l, err := kernels.AttnDecode(shape).Launch()
	r.emit("attention keys", l, err, all(p, qNorm, kNorm), []arg{{st.K, touched}, {st.V, touched}, partO, partML})
	l, err = kernels.AttnMerge(shape).Launch()
	r.emit("attention merge", l, err, []arg{partO, partML}, all(p, a))
}

// keyBlocks is the number of key blocks that n positions take.
func keyBlocks(n int) int { return roundUp(n, kernels.KeyBlock) / kernels.KeyBlock }
