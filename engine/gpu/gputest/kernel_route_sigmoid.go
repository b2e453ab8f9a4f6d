package gputest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// KernelRouteSigmoid tests the choice of experts by sigmoid scores with a correction bias.
func KernelRouteSigmoid(t *testing.T, dev gpu.Device) {
	t.Run("sizes", func(t *testing.T) { sigmoidSizes(t, dev) })
	t.Run("special", func(t *testing.T) { sigmoidSpecial(t, dev) })
	t.Run("bias chooses, score weighs", func(t *testing.T) { sigmoidBias(t, dev) })
}

// refRouteSigmoid chooses and weighs for one row.
func refRouteSigmoid(s kernels.RouteSigmoid, logits, bias []float32) (ids []uint32, w []float64) {
	choice := make([]float64, s.Experts)
	all := make([]int, s.Experts)
	for e := range choice {
		choice[e], all[e] = refSigmoid(float64(logits[e]))+float64(bias[e]), e
	}
	if s.Groups > 1 {
		refKeepGroups(choice, s.Groups, s.Keep)
	}
	slices.SortStableFunc(all, func(a, b int) int { return refDescending(choice[a], choice[b]) })
	sum := 0.0
	for _, e := range all[:s.TopK] {
		ids, w = append(ids, uint32(e)), append(w, refSigmoid(float64(logits[e])))
		sum += w[len(w)-1]
	}
	for i := range w {
		if s.Norm && s.TopK > 1 {
			w[i] /= sum + 1e-20
		}
		w[i] *= float64(s.Scale)
		if slices.ContainsFunc(logits, func(l float32) bool { return l != l }) {
			w[i] = math.NaN()
		}
	}
	return ids, w
}

// refDescending orders numbers downwards, NaN last.
func refDescending(x, y float64) int {
	if nx, ny := x != x, y != y; nx || ny {
		return cmp.Compare(refBool(nx), refBool(ny))
	}
	return cmp.Compare(y, x)
}

// refKeepGroups makes the choices of all but some groups 0: those with the largest sums of their two best are kept.
func refKeepGroups(choice []float64, groups, keep int) {
	size := len(choice) / groups
	best, order := make([]float64, groups), make([]int, groups)
	for g := range groups {
		members := slices.Clone(choice[g*size : (g+1)*size])
		slices.SortFunc(members, refDescending)
		best[g], order[g] = members[0]+members[1], g
	}
	slices.SortStableFunc(order, func(a, b int) int { return refDescending(best[a], best[b]) })
	for _, g := range order[keep:] {
		clear(choice[g*size : (g+1)*size])
	}
}

// apart draws n numbers of which none are closer than a thousandth, so that roundings of scores decide nothing.
func apart(r *rand.Rand, n int, scale float32) []float32 {
	v := make([]float32, n)
	for i, p := range r.Perm(n) {
		v[i] = scale * (float32(p) - float32(n)/2) / float32(n)
	}
	return v
}

func sigmoidSizes(t *testing.T, dev gpu.Device) {
	rows := []int{1, 2, 5, 15, 33}
	for i, c := range []kernels.RouteSigmoid{
		{Experts: 1, TopK: 1},
		{Experts: 2, TopK: 2, Norm: true},
		{Experts: 8, TopK: 2, Norm: true},
		{Experts: 31, TopK: 3},
		{Experts: 64, TopK: 6, Norm: true},
		{Experts: 65, TopK: 16, Norm: true},
		{Experts: 128, TopK: 6, Norm: true},
		{Experts: 128, TopK: 1, Norm: true},
		{Experts: 512, TopK: 8, Norm: true},
		{Experts: 8, TopK: 2, Norm: true, Groups: 4, Keep: 2},
		{Experts: 256, TopK: 8, Norm: true, Groups: 8, Keep: 4},
		{Experts: 512, TopK: 16, Groups: 256, Keep: 100},
		{Experts: 66, TopK: 6, Norm: true, Groups: 1, Keep: 1},
	} {
		c.Rows, c.Scale, c.Stride = rows[i%len(rows)], 2.5, c.Experts+i%4
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			r := Rand(t.Name())
			bias := apart(r, c.Experts, 0.3)
			for live := c.Rows; live > 0; live -= 7 {
				checkSigmoid(t, dev, c, live, bias, func(_ int, l []float32) { copy(l, apart(r, len(l), 6)) })
			}
		})
	}
}

func sigmoidSpecial(t *testing.T, dev gpu.Device) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		name string
		put  func(row int, l []float32)
	}{
		{"all equal", func(_ int, l []float32) { fillF32(l, 0.5) }},
		{"one NaN", func(row int, l []float32) { copy(l, apart(Rand("x"), len(l), 4)); l[row%len(l)] = nan }},
		{"all NaN", func(_ int, l []float32) { fillF32(l, nan) }},
		{"infinities", func(row int, l []float32) {
			for i := range l {
				l[i] = []float32{inf, -inf, 1}[(i+row)%3]
			}
		}},
		{"all -Inf", func(_ int, l []float32) { fillF32(l, -inf) }},
		{"far out", func(_ int, l []float32) { fillF32(l, -200); l[len(l)-1] = 200 }},
	} {
		for _, experts := range []int{5, 64, 200} {
			for _, norm := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s experts %d norm %v", c.name, experts, norm), func(t *testing.T) {
					s := kernels.RouteSigmoid{
						Experts: experts, TopK: min(6, experts), Rows: 6, Stride: experts + 1, Norm: norm, Scale: 1,
					}
					checkSigmoid(t, dev, s, 6, make([]float32, experts), c.put)
				})
			}
		}
	}
}

// sigmoidBias lets the bias choose an expert whose score is small: its weight must stay small.
func sigmoidBias(t *testing.T, dev gpu.Device) {
	s := kernels.RouteSigmoid{Experts: 8, TopK: 2, Rows: 1, Stride: 8, Norm: true, Scale: 2.5}
	bias := make([]float32, 8)
	bias[3] = 2
	logits := F32s([]float32{1, 2, 0, -3, 0.5, 0, 0, 0})
	out := RunOp(t, dev, launch(t, s), liveRows(1), logits, F32s(bias), Out(8), Out(8))
	if got, want := ToU32(out[3]), []uint32{3, 1}; !slices.Equal(got, want) {
		t.Errorf("experts %v, want %v", got, want)
	}
	a, b := refSigmoid(-3), refSigmoid(2)
	Check(t, "weights", ToF32(out[4]), []float64{2.5 * a / (a + b), 2.5 * b / (a + b)}, TolOf(kernels.F32))
}

// checkSigmoid runs a class of rows of which some are live. Behind the experts of a row lies a logit that would win if
// it were read as one.
func checkSigmoid(t *testing.T, dev gpu.Device, s kernels.RouteSigmoid, live int, bias []float32,
	put func(int, []float32),
) {
	t.Helper()
	l := launch(t, s)
	logits := make([]float32, s.Rows*s.Stride)
	for r := range s.Rows {
		row := part(logits, s.Stride, r, 1)
		put(r, row[:s.Experts])
		fillF32(row[s.Experts:], 1e30)
	}
	if live%2 == 0 {
		l.Limits = nil // the whole grid must do as well
	}
	out := RunOp(t, dev, l, liveRows(live), F32s(logits), F32s(bias), Out(4*s.Rows*s.TopK), Out(4*s.Rows*s.TopK))
	for r := range live {
		got, gotW := part(ToU32(out[3]), s.TopK, r, 1), part(ToF32(out[4]), s.TopK, r, 1)
		want, wantW := refRouteSigmoid(s, part(logits, s.Stride, r, 1)[:s.Experts], bias)
		if !slices.Equal(got, want) {
			t.Fatalf("row %d: experts %v, want %v", r, got, want)
		}
		Check(t, fmt.Sprintf("weights of row %d", r), gotW, wantW, TolOf(kernels.F32))
	}
	checkPoison(t, "idx", out[3][4*live*s.TopK:])
	checkPoison(t, "w", out[4][4*live*s.TopK:])
}
