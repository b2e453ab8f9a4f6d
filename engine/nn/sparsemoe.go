package nn

import (
	"math"

	"sotto/engine/gpu"
	"sotto/engine/model"
	"sotto/engine/weights"
	"sotto/kernels"
)

// denseFrom is the number of live neurons from which on a tile of rows reads all neurons, 0 for never: on vector units
// picking costs less at any share (BenchmarkUnion: 59 ms at 95 of 100, 64 ms at 100).
const denseFrom = 0

// sparse holds what both forms of a sparse mixture of experts share.
type sparse struct {
	*model.SparseMoE
	up, down, sharedUp, sharedDown weights.Item
	masks                          Masks
	w                              gpu.Slice // f32 [rows][TopK]
	part, ds                       gpu.Slice // f32 partial sums of the experts and of the shared expert
	slices, sharedSlices           int       // partial sums of an output
}

// sparseMoE records a mixture of experts whose neurons are mostly dead: the up projections leave a bitmap of live
// neurons, and the down projections read no others. Few rows read each chosen expert once a row; many rows are sorted
// by expert, and tiles of them read the union of their live neurons. Both give the same bits, and so does reading all
// neurons. The op that adds everything to the residual stream also applies the norm that follows, if there is one;
// then it returns true.
func (r *recorder) sparseMoE(m *model.SparseMoE, block int, x, xn gpu.Slice) bool {
	e := sparse{SparseMoE: m, slices: 1, sharedSlices: 1}
	for _, w := range []struct {
		item   *weights.Item
		matrix model.Matrix
	}{{&e.up, m.Up}, {&e.down, m.Down}, {&e.sharedUp, m.SharedUp}, {&e.sharedDown, m.SharedDown}} {
		it, ok := r.whole(w.matrix)
		if !ok {
			return false
		}
		*w.item = it
	}
	few := r.Rows <= MaxDecodeRows
	if few {
		e.slices, e.sharedSlices = kernels.NeuronSlices(m.Inner), kernels.NeuronSlices(m.SharedInner)
	}
	e.masks = r.newMasks(m, block)
	stride := roundUp(m.Experts, rowAlign)
	logits := r.alloc(r.Rows, stride, 4)
	e.w = r.alloc(r.Rows, m.TopK, 4)
	e.ds = r.alloc(r.Rows*e.sharedSlices, r.Spec.Hidden, 4)
	e.part = r.alloc(r.Rows*m.TopK*e.slices, r.Spec.Hidden, 4)
	hs := r.alloc(r.Rows, m.SharedInner, r.dtype.Size())

	r.linear("router", m.Router, kernels.StoreF32, xn, logits, stride)
	l, err := kernels.UpRelu2{
		Format: r.format(e.sharedUp), DType: r.dtype, Rows: r.Rows, I: m.SharedInner, K: r.Spec.Hidden,
	}.Launch()
	r.emit("shared up", l, err, all(xn), r.matrix(e.sharedUp, 0, 0), all(hs, e.masks.Shared))
	l, err = kernels.RouteSigmoid{
		Experts: m.Experts, TopK: m.TopK, Rows: r.Rows, Stride: stride, Groups: m.Groups, Keep: m.TopGroups,
		Norm: m.Normalise, Scale: m.Scale,
	}.Launch()
	r.emit("route top-k", l, err, all(logits, r.vector(m.Correction), e.masks.Chosen, e.w))
	if few {
		r.sparseFew(e, hs, xn)
	} else {
		r.sparseMany(e, hs, xn)
	}
	return r.combine(e, block, x, xn)
}

// sparseFew works row by row on the chosen experts.
func (r *recorder) sparseFew(e sparse, hs, xn gpu.Slice) {
	l, err := kernels.NeuronDown{
		Format: r.format(e.sharedDown), DType: r.dtype, Rows: r.Rows, N: e.SharedInner, D: r.Spec.Hidden,
		Dense: r.dense(),
	}.Launch()
	r.emit("shared down", l, err, all(hs, e.masks.Shared), r.neurons(e.sharedDown, 1, 1, r.Rows), all(e.ds))

	h := r.alloc(r.Rows*e.TopK, e.Inner, r.dtype.Size())
	chosen := min(r.Rows*e.TopK, e.Experts)
	l, err = kernels.ExpertUpRelu2{
		Format: r.format(e.up), DType: r.dtype, Rows: r.Rows, TopK: e.TopK, Experts: e.Experts, I: e.Inner,
		K: r.Spec.Hidden,
	}.Launch()
	r.emit("experts up", l, err, all(xn, e.masks.Chosen), r.matrix(e.up, chosen, e.Experts), all(h, e.masks.Routed))
	l, err = kernels.ExpertNeuronDown{
		Format: r.format(e.down), DType: r.dtype, Rows: r.Rows, TopK: e.TopK, Experts: e.Experts, N: e.Inner,
		D: r.Spec.Hidden, Dense: r.dense(),
	}.Launch()
	r.emit("experts down", l, err, all(h, e.masks.Routed, e.masks.Chosen), r.neurons(e.down, chosen, e.Experts, 1),
		all(e.part))
}

// sparseMany sorts the rows' choices by expert. Of the shared expert almost every neuron is alive for one row or
// another: it is read whole.
func (r *recorder) sparseMany(e sparse, hs, xn gpu.Slice) {
	l, err := kernels.NeuronDownRows{
		Format: r.format(e.sharedDown), DType: r.dtype, Rows: r.Rows, N: e.SharedInner, D: r.Spec.Hidden,
	}.Launch()
	r.emit("shared down", l, err, all(hs), r.matrix(e.sharedDown, 0, 0), all(e.ds))

	slots := r.Rows * e.TopK
	order, tiles, ntiles := r.sort(e)
	h := r.alloc(slots, e.Inner, r.dtype.Size())
	join := r.alloc(kernels.MaxNeuronTiles(e.Experts, e.TopK, r.Rows), e.Inner/maskBits, 4)
	chosen := min(slots, e.Experts)
	l, err = kernels.ExpertUpRelu2Rows{
		Format: r.format(e.up), DType: r.dtype, Rows: r.Rows, TopK: e.TopK, Experts: e.Experts, I: e.Inner,
		K: r.Spec.Hidden,
	}.Launch()
	r.emit("experts up", l, err, all(xn, order, tiles, ntiles), r.matrix(e.up, chosen, e.Experts),
		all(h, e.masks.Routed))
	dense := denseFrom
	if r.dense() {
		dense = 1
	}
	l, err = kernels.NeuronUnion{
		Rows: r.Rows, TopK: e.TopK, Experts: e.Experts, N: e.Inner, Dense: dense,
	}.Launch()
	r.emit("live neurons", l, err, all(e.masks.Routed, order, tiles, ntiles, join))
	l, err = kernels.ExpertNeuronDownRows{
		Format: r.format(e.down), DType: r.dtype, Rows: r.Rows, TopK: e.TopK, Experts: e.Experts, N: e.Inner,
		D: r.Spec.Hidden,
	}.Launch()
	r.emit("experts down", l, err, all(h, join, order, tiles, ntiles), r.matrix(e.down, chosen, e.Experts), all(e.part))
}

// sort records the stable sort of slots by expert, in tiles of kernels.NeuronTile.
func (r *recorder) sort(e sparse) (order, tiles, ntiles gpu.Slice) {
	slots := r.Rows * e.TopK
	rank := r.alloc(slots, 1, 4)
	counts := r.alloc(kernels.RouteBlocks(r.Rows), e.Experts, 4)
	order = r.alloc(slots, 1, 4)
	tiles = r.alloc(kernels.MaxNeuronTiles(e.Experts, e.TopK, r.Rows), 3, 4)
	ntiles = r.alloc(1, 1, 4)
	l, err := kernels.RouteHist{Experts: e.Experts, TopK: e.TopK, Rows: r.Rows}.Launch()
	r.emit("route histogram", l, err, all(e.masks.Chosen, counts, rank))
	l, err = kernels.RouteScan{Experts: e.Experts, TopK: e.TopK, Rows: r.Rows, Tile: kernels.NeuronTile}.Launch()
	r.emit("route scan", l, err, all(counts, tiles, ntiles))
	l, err = kernels.RouteScatter{Experts: e.Experts, TopK: e.TopK, Rows: r.Rows}.Launch()
	r.emit("route scatter", l, err, all(e.masks.Chosen, counts, rank, order))
	return order, tiles, ntiles
}

// combine adds up the experts and applies the next norm.
func (r *recorder) combine(e sparse, block int, x, xn gpu.Slice) bool {
	norm, ok := r.nextNorm(block)
	l, err := kernels.NeuronCombine{
		DType: r.dtype, Rows: r.Rows, TopK: e.TopK, Slices: e.slices, Shared: e.sharedSlices, D: r.Spec.Hidden,
		Norm: ok, Eps: r.Spec.Eps,
	}.Launch()
	args := all(e.part, e.w, e.ds, x)
	if ok {
		args = append(args, all(r.vector(norm), xn)...)
	}
	r.emit("experts combine", l, err, args)
	return ok
}

// neurons binds a matrix that is stored by neuron, chosen of so many experts, of which rows read the neurons that one
// of them has alive, and the metadata of the groups of these.
func (r *recorder) neurons(it weights.Item, chosen, of, rows int) []arg {
	args := r.matrix(it, chosen, of)
	if r.Live == 0 || r.dense() {
		return args
	}
	dead := math.Pow(1-r.Live, float64(rows))
	for i := range args {
		read := 1 - dead
		if i > 0 {
			read = 1 - math.Pow(dead, weights.Group)
		}
		args[i].touch = int64(float64(args[i].Len) / float64(of) * float64(chosen) * read)
	}
	return args
}

// dense says that dead neurons are read too, as if they were alive.
func (r *recorder) dense() bool { return r.Without&Sparse != 0 }
