package nn

import (
	"sotto/engine/gpu"
	"sotto/engine/model"
	"sotto/engine/weights"
	"sotto/kernels"
)

// routed holds what both forms of a mixture of experts share after routing.
type routed struct {
	*model.MoE
	gateUp, down       weights.Item
	stride             int // of the router's logits
	logits, idx, w, ds gpu.Slice
}

// moe records a mixture of experts with a shared expert. Router and shared expert come before the routed experts:
// they share stages, and the small ones hide behind the large ones. Few rows read each chosen expert once a row;
// many rows are sorted by expert on the device first. Both give the same bits.
func (r *recorder) moe(m *model.MoE, x, xn gpu.Slice) {
	size := r.dtype.Size()
	gateUp, ok1 := r.whole(m.GateUp)
	down, ok2 := r.whole(m.Down)
	shared, ok3 := r.whole(m.SharedGateUp)
	if !ok1 || !ok2 || !ok3 {
		return
	}
	e := routed{MoE: m, gateUp: gateUp, down: down, stride: roundUp(m.Experts+1, rowAlign)}
	e.logits = r.alloc(r.Rows, e.stride, 4)
	e.idx, e.w = r.alloc(r.Rows, m.TopK, 4), r.alloc(r.Rows, m.TopK, 4)
	e.ds = r.alloc(r.Rows, r.Spec.Hidden, 4)
	hs := r.alloc(r.Rows, m.SharedInner, size)

	r.linear("router", m.Router, kernels.StoreF32, xn, e.logits, e.stride)
	l, err := kernels.GateUp{
		Format: r.format(shared), DType: r.dtype, Rows: r.Rows, I: m.SharedInner, K: r.Spec.Hidden,
	}.Launch()
	r.emit("shared gate up", l, err, all(xn), r.matrix(shared, 0, 0), all(hs))
	l, err = kernels.RouteTopK{Experts: m.Experts, TopK: m.TopK, Rows: r.Rows, Stride: e.stride}.Launch()
	r.emit("route top-k", l, err, all(e.logits, e.idx, e.w))
	r.linear("shared down", m.SharedDown, kernels.StoreF32, hs, e.ds, r.Spec.Hidden)
	if r.Rows <= MaxDecodeRows {
		r.expertsFew(e, x, xn)
	} else {
		r.expertsMany(e, x, xn)
	}
}

// expertsFew works row by row on the chosen experts.
func (r *recorder) expertsFew(e routed, x, xn gpu.Slice) {
	h := r.alloc(r.Rows*e.TopK, e.Inner, r.dtype.Size())
	chosen := min(r.Rows*e.TopK, e.Experts)
	l, err := kernels.ExpertGateUp{
		Format: r.format(e.gateUp), DType: r.dtype, Rows: r.Rows, TopK: e.TopK, Experts: e.Experts,
		I: e.Inner, K: r.Spec.Hidden,
	}.Launch()
	r.emit("experts gate up", l, err, all(xn, e.idx), r.matrix(e.gateUp, chosen, e.Experts), all(h))
	l, err = kernels.ExpertDown{
		Format: r.format(e.down), DType: r.dtype, Rows: r.Rows, TopK: e.TopK, Experts: e.Experts,
		N: r.Spec.Hidden, K: e.Inner, Stride: e.stride,
	}.Launch()
	r.emit("experts down", l, err, all(h, e.idx, e.w), r.matrix(e.down, chosen, e.Experts), all(e.ds, e.logits, x))
}

// expertsMany sorts the rows' choices by expert, so that an expert's weights serve several rows at once.
func (r *recorder) expertsMany(e routed, x, xn gpu.Slice) {
	slots := r.Rows * e.TopK
	rank, order := r.alloc(slots, 1, 4), r.alloc(slots, 1, 4)
	counts := r.alloc(kernels.RouteBlocks(r.Rows), e.Experts, 4)
	tiles := r.alloc(kernels.MaxTiles(e.Experts, e.TopK, r.Rows), 3, 4)
	ntiles := r.alloc(1, 1, 4)
	h, d := r.alloc(slots, e.Inner, r.dtype.Size()), r.alloc(slots, r.Spec.Hidden, 4)

	l, err := kernels.RouteHist{Experts: e.Experts, TopK: e.TopK, Rows: r.Rows}.Launch()
	r.emit("route histogram", l, err, all(e.idx, counts, rank))
	l, err = kernels.RouteScan{Experts: e.Experts, TopK: e.TopK, Rows: r.Rows}.Launch()
	r.emit("route scan", l, err, all(counts, tiles, ntiles))
	l, err = kernels.RouteScatter{Experts: e.Experts, TopK: e.TopK, Rows: r.Rows}.Launch()
	r.emit("route scatter", l, err, all(e.idx, counts, rank, order))

	chosen := min(slots, e.Experts)
	l, err = kernels.ExpertGateUpRows{
		Format: r.format(e.gateUp), DType: r.dtype, Rows: r.Rows, TopK: e.TopK, Experts: e.Experts,
		I: e.Inner, K: r.Spec.Hidden,
	}.Launch()
	r.emit("experts gate up", l, err, all(xn, order, tiles, ntiles), r.matrix(e.gateUp, chosen, e.Experts), all(h))
	l, err = kernels.ExpertDownRows{
		Format: r.format(e.down), DType: r.dtype, Rows: r.Rows, TopK: e.TopK, Experts: e.Experts,
		N: r.Spec.Hidden, K: e.Inner,
	}.Launch()
	r.emit("experts down", l, err, all(h, order, tiles, ntiles), r.matrix(e.down, chosen, e.Experts), all(d))
	l, err = kernels.CombineRows{
		DType: r.dtype, Rows: r.Rows, TopK: e.TopK, Experts: e.Experts, N: r.Spec.Hidden, Stride: e.stride,
	}.Launch()
	r.emit("experts combine", l, err, all(d, e.w, e.ds, e.logits, x))
}
