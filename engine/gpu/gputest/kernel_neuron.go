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

// KernelNeuron tests the down projections that read live neurons only: against the reference, and in every form, format
// and cut of rows against each other bit for bit.
func KernelNeuron(t *testing.T, dev gpu.Device) {
	t.Run("shapes", func(t *testing.T) { neuronShapes(t, dev) })
	t.Run("live sets", func(t *testing.T) { neuronLiveSets(t, dev) })
	t.Run("dead groups are not read", func(t *testing.T) { neuronDeadGroups(t, dev) })
	t.Run("every scale", func(t *testing.T) { neuronScales(t, dev) })
	t.Run("union", func(t *testing.T) { neuronUnions(t, dev) })
	t.Run("combine", func(t *testing.T) { neuronCombines(t, dev) })
}

var neuronFormats = []kernels.Format{kernels.NM, kernels.NM20}

// hiddenRow draws n hidden values of which a share is live.
func hiddenRow(r *rand.Rand, d kernels.DType, n int, share float64) []float32 {
	h := make([]float32, n)
	for i := range h {
		if r.Float64() < share {
			v := r.NormFloat64()
			h[i] = Round(d, float32(v*v+1e-3))
		}
	}
	return h
}

// hidden is hidden rows and their bitmaps.
type hidden struct {
	dtype kernels.DType
	n     int
	h     []float32
	live  []uint32
}

func newHidden(d kernels.DType, rows ...[]float32) hidden {
	v := hidden{dtype: d, n: len(rows[0])}
	for _, row := range rows {
		v.h = append(v.h, row...)
		v.live = append(v.live, refBits(row)...)
	}
	return v
}

func (v hidden) rows() int { return len(v.h) / v.n }

// cut is rows from, from+1, ... as arguments of a class of rows; what lies beyond is poison.
func (v hidden) cut(class, from, live int) (h, bits Data) {
	return padded(FloatBytes(v.dtype, part(v.h, v.n, from, live)), class, live),
		padded(U32Bytes(part(v.live, v.n/32, from, live)), class, live)
}

// down runs rows from, from+1, ... through NeuronDown and returns the slices of the live ones.
func (v hidden) down(t *testing.T, dev gpu.Device, w *Neurons, f kernels.Format, dense bool, class, from, live int,
) []float32 {
	t.Helper()
	l, err := kernels.NeuronDown{
		Format: f, DType: v.dtype, Rows: class, N: v.n, D: w.D, Dense: dense,
	}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	h, bits := v.cut(class, from, live)
	if dense {
		bits = None() // the control reads no bitmap
	}
	size := 4 * kernels.NeuronSlices(v.n) * w.D
	args := slices.Concat([]Data{liveRows(live), h, bits}, w.Streams(f), []Data{Out(class * size)})
	out := RunOp(t, dev, l, args...)
	got := out[len(out)-1]
	checkPoison(t, "part", got[live*size:])
	return ToF32(got[:live*size])
}

// many runs all rows through NeuronDownRows.
func (v hidden) many(t *testing.T, dev gpu.Device, w *Neurons, f kernels.Format, class int) []float32 {
	t.Helper()
	l, err := kernels.NeuronDownRows{Format: f, DType: v.dtype, Rows: class, N: v.n, D: w.D}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	h, _ := v.cut(class, 0, v.rows())
	args := slices.Concat([]Data{liveRows(v.rows()), h}, w.Streams(f), []Data{Out(4 * class * w.D)})
	out := RunOp(t, dev, l, args...)
	got := out[len(out)-1]
	checkPoison(t, "d", got[4*v.rows()*w.D:])
	return ToF32(got[:4*v.rows()*w.D])
}

// sumSlices adds the slices of rows upwards in float32, as NeuronCombine does.
func sumSlices(p []float32, slices, d int) []float32 {
	y := make([]float32, len(p)/slices)
	for i := range y {
		for s := range slices {
			y[i] += p[(i/d*slices+s)*d+i%d]
		}
	}
	return y
}

func sameFloats(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if i := differ(F32Bytes(got), F32Bytes(want)); i >= 0 {
		t.Errorf("%s: value %d is %v, want %v", what, i/4, got[i/4], want[i/4])
	}
}

// check runs the rows in every way: at most five of them in decode kernels.
func (v hidden) check(t *testing.T, dev gpu.Device, w *Neurons) {
	t.Helper()
	rows, d := v.rows(), w.D
	few := min(rows, 5)
	whole := v.down(t, dev, w, kernels.NM, false, few, 0, few)
	n := kernels.NeuronSlices(v.n)
	sums := sumSlices(whole, n, d)
	for r := range few {
		want := refNeuronDown(w, 0, part(v.h, v.n, r, 1))
		if slices.Contains(part(v.h, v.n, r, 1), float32(math.Inf(1))) {
			for i := range want { // scale and bias meet an infinity one by one: of other signs they make NaN
				want[i] = math.NaN()
			}
		}
		Check(t, fmt.Sprintf("row %d", r), nanForInf(part(sums, d, r, 1)), want, TolOf(kernels.F32))
		one := v.down(t, dev, w, kernels.NM, false, 1, r, 1)
		sameFloats(t, fmt.Sprintf("row %d alone", r), one, part(whole, n*d, r, 1))
	}
	if few > 1 {
		cut := v.down(t, dev, w, kernels.NM, false, few, 1, few-1)
		sameFloats(t, "a class that is not full", cut, whole[n*d:])
	}
	sameFloats(t, "dense", v.down(t, dev, w, kernels.NM, true, few, 0, few), whole)
	sameFloats(t, "scales from biases", v.down(t, dev, w, kernels.NM20, false, few, 0, few), whole)
	for _, f := range neuronFormats {
		many := v.many(t, dev, w, f, rows+rows%3)
		sameFloats(t, fmt.Sprintf("many rows %v", f), many[:few*d], sums)
	}
}

// nanForInf makes infinities NaN.
func nanForInf(v []float32) []float32 {
	v = slices.Clone(v)
	for i, x := range v {
		if math.IsInf(float64(x), 0) {
			v[i] = float32(math.NaN())
		}
	}
	return v
}

func neuronShapes(t *testing.T, dev gpu.Device) {
	type shape struct{ n, d, rows int }
	shapes := []shape{
		{64, 64, 1},
		{128, 320, 2},
		{192, 256, 3},
		{1024, 64, 4},   // one slice, full
		{1088, 128, 5},  // two slices of nine and eight groups
		{1856, 448, 5},  // 29 groups
		{256, 2688, 33}, // half a band at the end
		{2176, 64, 67},  // three slices
	}
	if dev.Caps().SIMD == 1 {
		shapes = append(shapes, shape{3712, 2688, 2}) // full size
	}
	for i, c := range shapes {
		for _, dtype := range []kernels.DType{kernels.BF16, kernels.F32} {
			t.Run(fmt.Sprintf("%v %d neurons %d outputs %d rows", dtype, c.n, c.d, c.rows), func(t *testing.T) {
				r := Rand(t.Name())
				var rows [][]float32
				for range c.rows {
					rows = append(rows, hiddenRow(r, dtype, c.n, 0.1+0.2*float64(i%3)))
				}
				newHidden(dtype, rows...).check(t, dev, RandomNeurons(r, c.n, c.d))
			})
		}
	}
}

func neuronLiveSets(t *testing.T, dev gpu.Device) {
	const n, d = 1088, 320
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	only := func(x float32, at ...int) []float32 {
		h := make([]float32, n)
		for _, i := range at {
			h[i] = x
		}
		return h
	}
	r := Rand(t.Name())
	w := RandomNeurons(r, n, d)
	for _, c := range []struct {
		name string
		rows [][]float32
	}{
		{"all dead", [][]float32{only(0), only(0)}},
		{"all live", [][]float32{hiddenRow(r, kernels.F32, n, 1), hiddenRow(r, kernels.F32, n, 1)}},
		{"one live", [][]float32{only(1.5, 0), only(2, 63), only(3, 64), only(4, n-1), only(5, 600)}},
		{"a dead row among live ones", [][]float32{hiddenRow(r, kernels.F32, n, 0.3), only(0), only(7, 31, 32)}},
		{"one group", [][]float32{only(0.5, 128, 150, 151, 190), only(1, 160)}},
		{"NaN", [][]float32{only(nan, 70), hiddenRow(r, kernels.F32, n, 0.1), only(1, 70)}},
		{"infinity", [][]float32{only(inf, 5), hiddenRow(r, kernels.F32, n, 0.1)}},
		{"tiny", [][]float32{only(1e-30, 1, 2, 3), only(1, 2)}},
	} {
		t.Run(c.name, func(t *testing.T) { newHidden(kernels.F32, c.rows...).check(t, dev, w) })
	}
}

// neuronDeadGroups spoils the scales and biases of groups that are dead: the result must not show it.
func neuronDeadGroups(t *testing.T, dev gpu.Device) {
	const n, d = 1856, 128
	for _, f := range neuronFormats {
		t.Run(f.String(), func(t *testing.T) {
			r := Rand(t.Name())
			w := RandomNeurons(r, n, d)
			rows := [][]float32{hiddenRow(r, kernels.BF16, n, 0.2), hiddenRow(r, kernels.BF16, n, 0.2)}
			dead := []int{0, 7, 14, 15, 28}
			for _, row := range rows {
				for _, g := range dead {
					clear(row[g*group : (g+1)*group])
				}
			}
			v := newHidden(kernels.BF16, rows...)
			want := v.down(t, dev, w, f, false, 2, 0, 2)
			for _, g := range dead {
				w.spoil(g)
			}
			sameFloats(t, "with spoilt groups", v.down(t, dev, w, f, false, 2, 0, 2), want)
		})
	}
}

// neuronScales compares both formats on every divisor, every significand of a bias, both signs, and exponents far out.
func neuronScales(t *testing.T, dev gpu.Device) {
	const n, d = group, 16 * 128 * 2 * 3
	w := &Neurons{N: n, D: d, Codes: make([]byte, n*d/2)}
	for o := range d {
		q, exp := o%16, []int{-120, -6, 110}[o/(16*128*2)]
		bias := float32(math.Ldexp(1+float64(o/16%128)/128, exp))
		if o/(16*128)%2 != 0 {
			bias = -bias
		}
		w.Biases = append(w.Biases, BF16Bytes([]float32{bias})...)
		w.Scales = append(w.Scales, BF16Bytes([]float32{bias / -float32(q+7)})...)
		if o%2 != 0 {
			w.Quads = append(w.Quads, byte(q-1|q<<4))
		}
	}
	fill(w.Codes, 0x11111111)
	h := make([]float32, n)
	h[5] = 1
	v := newHidden(kernels.F32, h)
	want := make([]float32, d)
	for o := range want {
		want[o] = ToBF16(w.Biases[2*o : 2*o+2])[0] + ToBF16(w.Scales[2*o : 2*o+2])[0]
	}
	for _, f := range neuronFormats {
		sameFloats(t, f.String(), v.down(t, dev, w, f, false, 1, 0, 1), want)
	}
}

// neuronUnions joins bitmaps of tiles, with and without a share from which on a tile counts as live.
func neuronUnions(t *testing.T, dev gpu.Device) {
	for _, c := range []struct{ experts, topK, rows, live, n int }{
		{1, 1, 1, 1, 64},
		{3, 2, 33, 33, 1856},
		{8, 4, 64, 50, 192},
		{2, 1, 256, 131, 2112},
		{128, 6, 64, 61, 128},
	} {
		for _, dense := range []int{0, c.n / 3} {
			t.Run(fmt.Sprintf("%v dense from %d", c, dense), func(t *testing.T) {
				r := Rand(t.Name())
				var idx, live []uint32
				for row := range c.rows {
					idx = append(idx, pickEven(r, row, c.experts, c.topK)...)
				}
				for range c.rows * c.topK {
					live = append(live, refBits(hiddenRow(r, kernels.F32, c.n, 0.02*float64(r.IntN(3))))...)
				}
				l, err := kernels.NeuronUnion{
					Rows: c.rows, TopK: c.topK, Experts: c.experts, N: c.n, Dense: dense,
				}.Launch()
				if err != nil {
					t.Fatal(err)
				}
				rig := NewRig(t, dev)
				step := rig.Var(liveRows(c.live))
				s := addSortTiles(t, rig, step, rig.Var(U32s(idx)), c.experts, c.topK, c.rows, kernels.NeuronTile,
					false)
				words := c.n / 32
				join := rig.Var(Out(4 * words * kernels.MaxNeuronTiles(c.experts, c.topK, c.rows)))
				rig.Op(l, step, rig.Var(U32s(live)), s.order, s.tiles, s.ntiles, join)
				rig.Run()
				checkUnions(t, idx[:c.live*c.topK], c.experts, live, words, dense, join.Out())
			})
		}
	}
}

func checkUnions(t *testing.T, idx []uint32, experts int, live []uint32, words, dense int, join []byte) {
	t.Helper()
	order, tiles := refSort(idx, experts, kernels.NeuronTile)
	got := ToU32(join)
	for i, tile := range tiles {
		want := make([]uint32, words)
		for _, s := range order[tile.first : tile.first+tile.slots] {
			for j, w := range part(live, words, int(s), 1) {
				want[j] |= w
			}
		}
		if n := refCount(want); dense > 0 && n >= dense {
			for j := range want {
				want[j] = math.MaxUint32
			}
		}
		if !slices.Equal(part(got, words, i, 1), want) {
			t.Fatalf("tile %d: %x, want %x", i, part(got, words, i, 1), want)
		}
	}
	checkPoison(t, "join", join[4*words*len(tiles):])
}

func neuronCombines(t *testing.T, dev gpu.Device) {
	for _, c := range []struct{ class, live, topK, slices, shared, d int }{
		{1, 1, 6, 2, 4, 2688},
		{1, 1, 1, 1, 1, 64},
		{5, 3, 2, 1, 2, 320},
		{5, 5, 16, 3, 1, 256},
		{64, 33, 6, 1, 1, 192},
	} {
		for _, dtype := range []kernels.DType{kernels.BF16, kernels.F32} {
			t.Run(fmt.Sprintf("%v %+v", dtype, c), func(t *testing.T) {
				r := Rand(t.Name())
				p := Normal(r, kernels.F32, c.live*c.topK*c.slices*c.d)
				shared := Normal(r, kernels.F32, c.live*c.shared*c.d)
				w, y := Normal(r, kernels.F32, c.live*c.topK), Normal(r, dtype, c.live*c.d)
				norm := Normal(r, kernels.BF16, c.d)
				run := func(with bool) [][]byte {
					l, err := kernels.NeuronCombine{
						DType: dtype, Rows: c.class, TopK: c.topK, Slices: c.slices, Shared: c.shared, D: c.d,
						Norm: with, Eps: benchEps,
					}.Launch()
					if err != nil {
						t.Fatal(err)
					}
					args := []Data{
						liveRows(c.live), padded(F32Bytes(p), c.class, c.live),
						padded(F32Bytes(w), c.class, c.live), padded(F32Bytes(shared), c.class, c.live),
						padded(FloatBytes(dtype, y), c.class, c.live),
					}
					if with {
						args = append(args, BF16s(norm), OutFloats(dtype, c.class*c.d))
					}
					return RunOp(t, dev, l, args...)
				}
				plain, both := run(false)[4], run(true)
				size := c.live * c.d * int(dtype.Size())
				checkPoison(t, "y", plain[size:])
				if i := differ(plain, both[4]); i >= 0 {
					t.Errorf("with and without the norm byte %d of y differs", i)
				}
				var want []float64
				for row := range c.live {
					want = append(want, refPartSums(part(p, c.topK*c.slices*c.d, row, 1), part(w, c.topK, row, 1),
						part(shared, c.shared*c.d, row, 1), part(y, c.d, row, 1))...)
				}
				Check(t, "y", ToFloats(dtype, plain[:size]), want, TolOf(dtype))
				l, err := kernels.RMSNorm{DType: dtype, Rows: c.class, D: c.d, Eps: benchEps}.Launch()
				if err != nil {
					t.Fatal(err)
				}
				xn := RunOp(t, dev, l, liveRows(c.live), Bytes(plain), BF16s(norm), OutFloats(dtype, c.class*c.d))[3]
				if i := differ(xn, both[6]); i >= 0 {
					t.Errorf("xn differs from rms_norm at byte %d", i)
				}
			})
		}
	}
}
