package nn

import (
	"fmt"

	"sotto/engine/gpu"
	"sotto/engine/model"
	"sotto/engine/weights"
	"sotto/kernels"
)

// embed looks up the rows and applies the first block's norm.
func (r *recorder) embed(norm weights.Item, x, xn gpu.Slice) {
	it, ok := r.whole(r.Spec.Embed)
	if !ok {
		return
	}
	l, err := kernels.Embed{
		Format: r.format(it), DType: r.dtype, Rows: r.Rows, N: r.Spec.Vocab, D: r.Spec.Hidden, Eps: r.Spec.Eps,
	}.Launch()
	r.emit("embed", l, err, r.matrix(it, min(r.Rows, r.Spec.Vocab), r.Spec.Vocab), all(r.vector(norm), x, xn))
}

// norm scales rows; with last only the last live row, to row 0 of y.
func (r *recorder) norm(w weights.Item, x, y gpu.Slice, last bool) {
	l, err := kernels.RMSNorm{DType: r.dtype, Rows: r.Rows, D: r.Spec.Hidden, Eps: r.Spec.Eps, Last: last}.Launch()
	args := all(x, r.vector(w), y)
	if last {
		row := int64(r.Spec.Hidden) * r.dtype.Size()
		args[0].touch, args[2].touch = row, row
	}
	r.emit("norm", l, err, args)
}

// linear multiplies x by every part of a matrix. y has stride elements a row; parts write their own columns.
func (r *recorder) linear(label string, m model.Matrix, e kernels.Epilogue, x, y gpu.Slice, stride int) {
	size := r.dtype.Size()
	if e == kernels.StoreF32 {
		size = 4
	}
	for _, p := range m.Parts {
		off := int64(p.First) * size
		if off%gpu.Align != 0 {
			r.fail(fmt.Errorf("%s%s: parts of different bits meet at output %d, which is not aligned to %d bytes",
				r.label, label, p.First, gpu.Align))
			return
		}
		l, err := kernels.Gemv{
			Format: r.format(p.Item), DType: r.dtype, Epilogue: e, Rows: r.Rows, N: p.Rows, K: m.Cols, YStride: stride,
		}.Launch()
		out := arg{Slice: y.At(off, y.Len-off)}
		if len(m.Parts) > 1 {
			out = arg{y.At(off, y.Len-off-int64(stride-p.First-p.Rows)*size), int64(r.Rows) * int64(p.Rows) * size}
		}
		r.emit(label, l, err, all(x), r.matrix(p.Item, 0, 0), []arg{out})
	}
}

// whole returns the item of a matrix that must be in one format.
func (r *recorder) whole(m model.Matrix) (weights.Item, bool) {
	if len(m.Parts) != 1 {
		r.fail(fmt.Errorf("%sa matrix of %d parts where one is needed", r.label, len(m.Parts)))
		return weights.Item{}, false
	}
	return m.Parts[0].Item, true
}

// head ends the pass: final norm, unless xn holds it already, logits and sampler, as far as they are asked for.
func (r *recorder) head(x, xn gpu.Slice, normed bool) gpu.Slice {
	if r.Logits == NoLogits {
		return gpu.Slice{}
	}
	if !normed {
		r.norm(r.Spec.Norm, x, xn, r.Logits == LastLogits)
	}
	vocab := r.Spec.Vocab
	if r.Logits == AllLogits {
		logits := r.alloc(r.Rows, vocab, 4)
		r.linear("head", r.Spec.Head, kernels.StoreF32, xn, logits, vocab)
		return logits
	}
	it, ok := r.whole(r.Spec.Head)
	if !ok {
		return gpu.Slice{}
	}
	h := kernels.Head{Format: r.format(it), DType: r.dtype, N: vocab, K: r.Spec.Hidden}
	logits, part := r.alloc(1, vocab, 4), r.alloc(h.Parts(), 2, 4)
	l, err := h.Launch()
	row := xn.At(0, int64(r.Spec.Hidden)*r.dtype.Size())
	r.emit("head", l, err, all(row), r.matrix(it, 0, 0), all(logits, part))
	r.sample(h.Parts(), logits, part)
	return logits
}

// sample chooses the token, hands it to the next pass and moves the step on.
func (r *recorder) sample(parts int, logits, part gpu.Slice) {
	switch r.Sampler {
	case NoSampler:
	case Greedy:
		l, err := kernels.Argmax{N: r.Spec.Vocab, Parts: parts}.Launch()
		r.emit("argmax", l, err, all(part))
	case Sampled:
		s := kernels.Sampler{N: r.Spec.Vocab, Parts: parts}
		stats, lists := r.alloc(1, 1, s.StatsBytes()), r.alloc(1, 1, s.ListBytes())
		l, err := s.Process()
		r.emit("sample process", l, err, all(logits, part, stats, lists))
		l, err = s.Final()
		r.emit("sample final", l, err, all(logits, part, stats, lists))
	}
}
