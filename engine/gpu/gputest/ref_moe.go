package gputest

import (
	"cmp"
	"math"
	"slices"
)

// refTopK chooses the k largest logits, ties to the lower id, NaN last, and weighs them by the softmax over all
// logits, renormalised over the chosen.
func refTopK(logits []float32, k int) (ids []uint32, w []float64) {
	all := make([]int, len(logits))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int {
		x, y := logits[a], logits[b]
		if nx, ny := x != x, y != y; nx || ny {
			return cmp.Compare(refBool(nx), refBool(ny))
		}
		return cmp.Compare(y, x)
	})
	top, denominator := math.Inf(-1), 0.0
	for _, l := range logits {
		top = math.Max(top, float64(l)) // NaN when any is
	}
	for _, l := range logits {
		denominator += math.Exp(float64(l) - top)
	}
	sum := 0.0
	for _, i := range all[:k] {
		ids = append(ids, uint32(i))
		w = append(w, math.Exp(float64(logits[i])-top)/denominator)
		sum += w[len(w)-1]
	}
	for i := range w {
		w[i] /= sum
	}
	return ids, w
}

func refBool(b bool) int {
	if b {
		return 1
	}
	return 0
}

// refTile is a run of slots of one expert in the sorted order.
type refTile struct{ expert, first, slots uint32 }

// refSort sorts slots by expert, stably, and cuts each expert's run into tiles of at most so many slots.
func refSort(idx []uint32, experts, most int) (order []uint32, tiles []refTile) {
	for e := range uint32(experts) {
		first := len(order)
		for s, x := range idx {
			if x == e {
				order = append(order, uint32(s))
			}
		}
		for at := first; at < len(order); at += most {
			n := min(most, len(order)-at)
			tiles = append(tiles, refTile{e, uint32(at), uint32(n)})
		}
	}
	return order, tiles
}

func refDot(w []float64, x []float32) float64 {
	sum := 0.0
	for i := range w {
		sum += w[i] * float64(x[i])
	}
	return sum
}

func refSigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// refGateUp is one expert's hidden row: silu(gate x) * up x, gate row 2i beside up row 2i+1 of w.
func refGateUp(w *Weights, expert, width int, x []float32) []float64 {
	h := make([]float64, width)
	for i := range h {
		row := (expert*width + i) * 2
		g, u := refDot(w.Row(row), x), refDot(w.Row(row+1), x)
		h[i] = g * refSigmoid(g) * u
	}
	return h
}

// refCombine is one row of the layer's output: the residual y, plus each chosen expert's down projection of its
// hidden row h[j] times its weight, plus the gated shared expert ds.
func refCombine(w *Weights, n int, y []float32, idx []uint32, weight []float32, h [][]float32, gate float32,
	ds []float32,
) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(y[i]) + refSigmoid(float64(gate))*float64(ds[i])
		for j, e := range idx {
			out[i] += float64(weight[j]) * refDot(w.Row(int(e)*n+i), h[j])
		}
	}
	return out
}
