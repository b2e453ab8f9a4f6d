package gputest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// KernelRoute tests the choice of experts and the sort of slots by expert.
func KernelRoute(t *testing.T, dev gpu.Device) {
	t.Run("topk", func(t *testing.T) { routeTopK(t, dev) })
	t.Run("topk special", func(t *testing.T) { routeSpecial(t, dev) })
	t.Run("sort", func(t *testing.T) { routeSort(t, dev) })
}

func routeTopK(t *testing.T, dev gpu.Device) {
	rows := []int{1, 2, 5, 15, 16, 17, 33}
	for i, experts := range []int{1, 2, 7, 8, 31, 32, 33, 63, 64, 65, 128, 255, 256, 257, 511, 512} {
		for _, topK := range []int{1, 4, 8, 16} {
			topK = min(topK, experts)
			n := rows[(i+topK)%len(rows)]
			t.Run(fmt.Sprintf("experts %d top %d rows %d", experts, topK, n), func(t *testing.T) {
				r := Rand(t.Name())
				checkTopK(t, dev, experts, topK, n, n, experts+i%3, normalLogits(r))
			})
		}
	}
	t.Run("live rows", func(t *testing.T) {
		for live := 17; live < 20; live++ {
			checkTopK(t, dev, 40, 4, 64, live, 41, normalLogits(Rand(t.Name())))
		}
	})
	t.Run("rows 4095", func(t *testing.T) {
		checkTopK(t, dev, 8, 3, kernels.MaxRows, 4095, 9, normalLogits(Rand(t.Name())))
	})
}

// normalLogits fills rows with numbers of a few units, in steps so coarse that ties are common.
func normalLogits(r *rand.Rand) func(row int, l []float32) {
	return func(_ int, l []float32) {
		for i := range l {
			l[i] = float32(math.Round(r.NormFloat64()*16)) / 8
		}
	}
}

func routeSpecial(t *testing.T, dev gpu.Device) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	zero := float32(0)
	cases := []struct {
		name string
		put  func(row int, l []float32)
	}{
		{"all equal", func(_ int, l []float32) { l[0] = 0 }},
		{"signed zeroes", func(row int, l []float32) {
			for i := range l {
				if (i+row)%3 == 0 {
					l[i] = -zero
				}
			}
		}},
		{"ties at the cut", func(row int, l []float32) { l[row%len(l)], l[len(l)-1] = 2, 2 }},
		{"one NaN", func(row int, l []float32) { l[row%len(l)] = nan }},
		{"negative NaN", func(row int, l []float32) { l[row%len(l)] = float32(math.Copysign(math.NaN(), -1)) }},
		{"all NaN", func(_ int, l []float32) { fillF32(l, nan) }},
		{"NaN and infinities", func(row int, l []float32) {
			for i := range l {
				l[i] = []float32{nan, inf, -inf, 1}[(i+row)%4]
			}
		}},
		{"all -Inf", func(_ int, l []float32) { fillF32(l, -inf) }},
		{"-Inf but one", func(row int, l []float32) { fillF32(l, -inf); l[row%len(l)] = -3 }},
		{"all +Inf", func(_ int, l []float32) { fillF32(l, inf) }},
		{"large", func(row int, l []float32) {
			for i := range l {
				l[i] = float32(math.Ldexp(float64(i%5)-2, 120))
			}
		}},
		{"denormal", func(row int, l []float32) {
			for i := range l {
				l[i] = math.Float32frombits(uint32((i * 7) % 5))
			}
		}},
	}
	for _, c := range cases {
		for _, experts := range []int{5, 64, 200, 512} {
			topK := min(8, experts)
			t.Run(fmt.Sprintf("%s experts %d", c.name, experts), func(t *testing.T) {
				checkTopK(t, dev, experts, topK, 6, 6, experts+1, c.put)
			})
		}
	}
}

func fillF32(v []float32, x float32) {
	for i := range v {
		v[i] = x
	}
}

// checkTopK runs RouteTopK on a class of rows of which some are live. Behind the experts of a row lies a logit that
// would win if it were read as one.
func checkTopK(t *testing.T, dev gpu.Device, experts, topK, rows, live, stride int, put func(int, []float32)) {
	t.Helper()
	l, err := kernels.RouteTopK{Experts: experts, TopK: topK, Rows: rows, Stride: stride}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	logits := make([]float32, rows*stride)
	for r := range rows {
		row := logits[r*stride : (r+1)*stride]
		put(r, row[:experts])
		fillF32(row[experts:], 1e30)
	}
	if live%2 == 0 {
		l.Limits = nil // the whole grid must do as well
	}
	out := RunOp(t, dev, l, liveRows(live), F32s(logits), Out(4*rows*topK), Out(4*rows*topK))
	idx, w := ToU32(out[2]), ToF32(out[3])
	for r := range live {
		got, gotW := idx[r*topK:(r+1)*topK], w[r*topK:(r+1)*topK]
		want, wantW := refTopK(logits[r*stride:r*stride+experts], topK)
		if !slices.Equal(got, want) {
			t.Fatalf("row %d: experts %v, want %v", r, got, want)
		}
		Check(t, fmt.Sprintf("weights of row %d", r), gotW, wantW, Tolerance{1e-6, 1e-6, "a few units of 2^-24"})
	}
	checkPoison(t, "idx", out[2][4*live*topK:])
	checkPoison(t, "w", out[3][4*live*topK:])
}

func liveRows(n int) Data {
	return StepData(StepRecord{Params: kernels.StepParams{Rows: uint32(n), Active: 1}})
}

func checkPoison(t *testing.T, what string, b []byte) {
	t.Helper()
	for i, w := range ToU32(b) {
		if w != poison {
			t.Fatalf("%s: word %d behind the live part was written", what, i)
		}
	}
}

func routeSort(t *testing.T, dev gpu.Device) {
	cases := []struct{ experts, topK, rows, live int }{
		{1, 1, 1, 1},
		{8, 4, 1, 1},
		{8, 8, 5, 5},
		{16, 16, 16, 15},
		{256, 8, 16, 16},
		{256, 8, 64, 17},
		{512, 16, 64, 31},
		{5, 2, 33, 33},
		{512, 16, 64, 63},
		{3, 3, 256, 65},
		{257, 7, 256, 256},
		{8, 4, 4096, 4095},
		{64, 1, 1024, 1000},
	}
	for _, c := range cases {
		for _, p := range []struct {
			name string
			pick func(r *rand.Rand, row, experts, topK int) []uint32
		}{{"even", pickEven}, {"skewed", pickSkewed}, {"same", pickSame}} {
			name := fmt.Sprintf("%s experts %d top %d rows %d of %d", p.name, c.experts, c.topK, c.live, c.rows)
			t.Run(name, func(t *testing.T) {
				r := Rand(name)
				idx := make([]uint32, 0, c.rows*c.topK)
				for row := range c.rows {
					idx = append(idx, p.pick(r, row, c.experts, c.topK)...)
				}
				for i := c.live * c.topK; i < len(idx); i++ {
					idx[i] = poison
				}
				for _, whole := range []bool{false, true} {
					checkSort(t, dev, c.experts, c.topK, c.rows, c.live, idx, kernels.ExpertTile, whole)
				}
				checkSort(t, dev, c.experts, c.topK, c.rows, c.live, idx, kernels.NeuronTile, false)
			})
		}
	}
}

// pickEven chooses among all experts with equal chance.
func pickEven(r *rand.Rand, _, experts, topK int) []uint32 {
	ids := make([]uint32, topK)
	for i, e := range r.Perm(experts)[:topK] {
		ids[i] = uint32(e)
	}
	return ids
}

// pickSkewed prefers low ids and leaves many experts without rows.
func pickSkewed(r *rand.Rand, _, experts, topK int) []uint32 {
	ids := pickEven(r, 0, min(experts, topK+2), topK)
	if r.IntN(4) == 0 {
		ids = pickEven(r, 0, experts, topK)
	}
	return ids
}

// pickSame sends every row to the last experts, in descending order.
func pickSame(_ *rand.Rand, _, experts, topK int) []uint32 {
	ids := make([]uint32, topK)
	for i := range ids {
		ids[i] = uint32(experts - 1 - i)
	}
	return ids
}

func checkSort(t *testing.T, dev gpu.Device, experts, topK, rows, live int, idx []uint32, tile int, whole bool) {
	t.Helper()
	rig := NewRig(t, dev)
	s := addSortTiles(t, rig, rig.Var(liveRows(live)), rig.Var(U32s(idx)), experts, topK, rows, tile, whole)
	rig.Run()
	order, tiles := refSort(idx[:live*topK], experts, tile)
	if got := ToU32(s.order.Out())[:live*topK]; !slices.Equal(got, order) {
		t.Fatalf("order %v, want %v", clip(got), clip(order))
	}
	checkPoison(t, "order", s.order.Out()[4*live*topK:])
	if got := ToU32(s.ntiles.Out())[0]; got != uint32(len(tiles)) {
		t.Fatalf("%d tiles, want %d", got, len(tiles))
	}
	got := ToU32(s.tiles.Out())
	for i, want := range tiles {
		if tile := (refTile{got[3*i], got[3*i+1], got[3*i+2]}); tile != want {
			t.Fatalf("tile %d is %v, want %v", i, tile, want)
		}
	}
	checkPoison(t, "tiles", s.tiles.Out()[12*len(tiles):])
}

func clip(v []uint32) []uint32 { return v[:min(len(v), 64)] }

// sorted are the outputs of the sort.
type sorted struct{ order, tiles, ntiles *Var }

// addSort records the three ops of the sort, without their limits if the whole grids are to run.
func addSort(t *testing.T, rig *Rig, step, idx *Var, experts, topK, rows int, whole bool) sorted {
	t.Helper()
	return addSortTiles(t, rig, step, idx, experts, topK, rows, kernels.ExpertTile, whole)
}

// addSortTiles is addSort with tiles of so many slots.
func addSortTiles(t *testing.T, rig *Rig, step, idx *Var, experts, topK, rows, tile int, whole bool) sorted {
	t.Helper()
	hist, err := kernels.RouteHist{Experts: experts, TopK: topK, Rows: rows}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	scan, err := kernels.RouteScan{Experts: experts, TopK: topK, Rows: rows, Tile: tile}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	scatter, err := kernels.RouteScatter{Experts: experts, TopK: topK, Rows: rows}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	if whole {
		hist.Limits, scan.Limits, scatter.Limits = nil, nil, nil
	}
	tiles := kernels.MaxTiles(experts, topK, rows)
	if tile == kernels.NeuronTile {
		tiles = kernels.MaxNeuronTiles(experts, topK, rows)
	}
	counts, rank := rig.Var(Out(4*kernels.RouteBlocks(rows)*experts)), rig.Var(Out(4*rows*topK))
	s := sorted{
		order:  rig.Var(Out(4 * rows * topK)),
		tiles:  rig.Var(Out(12 * tiles)),
		ntiles: rig.Var(Out(4)),
	}
	rig.Op(hist, step, idx, counts, rank)
	rig.Op(scan, step, counts, s.tiles, s.ntiles)
	rig.Op(scatter, step, idx, counts, rank, s.order)
	return s
}
