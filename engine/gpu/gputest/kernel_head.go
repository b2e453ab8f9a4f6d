package gputest

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// KernelHead tests the logits, and the arg-max of each part of them, which must be exact.
func KernelHead(t *testing.T, dev gpu.Device) {
	for _, f := range []kernels.Format{kernels.Q4, kernels.Q8, kernels.B16} {
		for _, d := range []kernels.DType{kernels.BF16, kernels.F32} {
			for _, s := range []struct{ n, k int }{{1, 64}, {4, 64}, {255, 64}, {257, 192}, {1030, 128}} {
				head(t, dev, kernels.Head{Format: f, DType: d, N: s.n, K: s.k}, nil)
			}
		}
	}
	t.Run("not a number", func(t *testing.T) { headNaN(t, dev) })
	t.Run("ties", func(t *testing.T) { headTies(t, dev) })
	if dev.Caps().SIMD == 1 {
		t.Run("vocabulary", func(t *testing.T) {
			head(t, dev, kernels.Head{Format: kernels.Q4, DType: kernels.BF16, N: 248320, K: 64}, nil)
		})
	}
}

// head runs one case, with rows of the matrix changed by edit.
func head(t *testing.T, dev gpu.Device, h kernels.Head, edit func(w *Weights)) (logits []float32) {
	t.Helper()
	r := Rand(fmt.Sprint(h))
	w, x := RandomWeights(r, h.Format, h.N, h.K), Normal(r, h.DType, h.K)
	if edit != nil {
		edit(w)
	}
	l, err := h.Launch()
	if err != nil {
		t.Fatal(err)
	}
	out := RunOp(t, dev, l, slices.Concat([]Data{liveRows(1), Floats(h.DType, x)}, w.Streams(),
		[]Data{Out(4 * h.N), Out(8 * h.Parts())})...)
	logits = ToF32(out[len(out)-2])
	if edit == nil {
		Check(t, fmt.Sprintf("%+v", h), logits, refMatVec(w, x), TolOf(kernels.F32))
	}
	parts := ToU32(out[len(out)-1])
	for i := range h.Parts() {
		from, to := i*256, min(i*256+256, h.N)
		best, id, nan := refArgMax(logits[from:to])
		value, at := math.Float32frombits(parts[2*i]), int(parts[2*i+1])
		switch {
		case nan && value == value:
			t.Errorf("%+v: part %d holds a NaN, but its value is %v", h, i, value)
		case !nan && (value != best || at != from+id):
			t.Errorf("%+v: part %d: got %v at %d, want %v at %d", h, i, value, at, best, from+id)
		}
	}
	return logits
}

// headNaN puts a NaN into the scale of one row.
func headNaN(t *testing.T, dev gpu.Device) {
	h := kernels.Head{Format: kernels.Q4, DType: kernels.BF16, N: 600, K: 64}
	for _, row := range []int{0, 299, 599} {
		logits := head(t, dev, h, func(w *Weights) { binary.LittleEndian.PutUint16(w.Scales[2*row:], 0x7fc0) })
		for i, v := range logits {
			if (v != v) != (i == row) {
				t.Errorf("NaN in row %d: logit %d is %v", row, i, v)
			}
		}
	}
}

// headTies makes all rows the same.
func headTies(t *testing.T, dev gpu.Device) {
	h := kernels.Head{Format: kernels.B16, DType: kernels.F32, N: 515, K: 64}
	logits := head(t, dev, h, func(w *Weights) {
		for n := range w.N {
			copy(w.Codes[n*2*w.K:], w.Codes[:2*w.K])
		}
	})
	for i, v := range logits {
		if v != logits[0] {
			t.Fatalf("logit %d of equal rows: got %v, want %v", i, v, logits[0])
		}
	}
}
