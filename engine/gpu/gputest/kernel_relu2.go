package gputest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// KernelRelu2 tests the up projections with squared ReLU and the whole layer that they begin: few rows and many, in any
// cut, against the reference and against each other bit for bit.
func KernelRelu2(t *testing.T, dev gpu.Device) {
	t.Run("up", func(t *testing.T) { relu2Up(t, dev) })
	t.Run("NaN is live", func(t *testing.T) { relu2NaN(t, dev) })
	t.Run("layer", func(t *testing.T) { neuronLayers(t, dev) })
	t.Run("dead tile", func(t *testing.T) { neuronDeadTile(t, dev) })
}

// relu2 runs rows from, from+1, ... of x through UpRelu2.
func relu2(t *testing.T, dev gpu.Device, w *Weights, d kernels.DType, x []float32, class, from, live int,
) (h, bits []byte) {
	t.Helper()
	l, err := kernels.UpRelu2{DType: d, Rows: class, I: w.N, K: w.K}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	in := padded(FloatBytes(d, part(x, w.K, from, live)), class, live)
	args := slices.Concat([]Data{liveRows(live), in}, w.Streams(), []Data{
		OutFloats(d, class*w.N), Out(4 * class * w.N / 32),
	})
	out := RunOp(t, dev, l, args...)
	h, bits = out[len(out)-2], out[len(out)-1]
	size, words := live*w.N*int(d.Size()), live*w.N/32*4
	checkPoison(t, "h", h[size:])
	checkPoison(t, "live", bits[words:])
	return h[:size], bits[:words]
}

// checkBits compares a bitmap with what is stored.
func checkBits(t *testing.T, d kernels.DType, h, bits []byte) {
	t.Helper()
	if got, want := ToU32(bits), refBits(ToFloats(d, h)); !slices.Equal(got, want) {
		t.Errorf("live neurons %x, want %x", clip(got), clip(want))
	}
}

func relu2Up(t *testing.T, dev gpu.Device) {
	for _, c := range []struct{ n, k, class, live int }{
		{64, 64, 1, 1},
		{192, 320, 2, 2},
		{64, 1856, 3, 3},
		{128, 192, 4, 4},
		{1856, 64, 5, 5},
		{64, 128, 5, 3},
		{128, 64, 16, 7},
		{192, 64, 64, 33},
	} {
		for _, d := range []kernels.DType{kernels.BF16, kernels.F32} {
			t.Run(fmt.Sprintf("%v %+v", d, c), func(t *testing.T) {
				r := Rand(t.Name())
				w, x := RandomWeights(r, kernels.Q4, c.n, c.k), Normal(r, d, c.live*c.k)
				h, bits := relu2(t, dev, w, d, x, c.class, 0, c.live)
				checkBits(t, d, h, bits)
				for row := range c.live {
					got := ToFloats(d, part(h, c.n*int(d.Size()), row, 1))
					Check(t, "hidden row", got, refRelu2(w, 0, c.n, part(x, c.k, row, 1)), TolOf(d))
					one, _ := relu2(t, dev, w, d, x, 1, row, 1)
					if i := differ(one, part(h, len(one), row, 1)); i >= 0 {
						t.Errorf("row %d alone differs at byte %d", row, i)
					}
				}
			})
		}
	}
}

func relu2NaN(t *testing.T, dev gpu.Device) {
	for _, d := range []kernels.DType{kernels.BF16, kernels.F32} {
		r := Rand(t.Name())
		w, x := RandomWeights(r, kernels.Q4, 64, 64), Normal(r, d, 3*64)
		x[64+17] = float32(math.NaN())
		h, bits := relu2(t, dev, w, d, x, 3, 0, 3)
		checkBits(t, d, h, bits)
		if got := ToU32(bits)[2:4]; got[0]&got[1] != math.MaxUint32 {
			t.Errorf("%v: live neurons of a row of NaN: %x", d, got)
		}
	}
}

// neuronShape is a layer: a shared expert and routed ones.
type neuronShape struct {
	dtype                            kernels.DType
	format                           kernels.Format
	experts, topK, n, shared, hidden int
}

// neuronLayer is a layer with inputs for some rows.
type neuronLayer struct {
	neuronShape
	up, upShared     *Weights
	down, downShared *Neurons
	x, y, w, norm    []float32
	idx              []uint32
}

// newNeuronLayer draws a layer in which about a tenth of the neurons are live.
func newNeuronLayer(name string, s neuronShape, rows int) *neuronLayer {
	r := Rand(name)
	l := &neuronLayer{
		neuronShape: s,
		up:          RandomWeights(r, kernels.Q4, s.experts*s.n, s.hidden),
		upShared:    RandomWeights(r, kernels.Q4, s.shared, s.hidden),
		down:        RandomNeurons(r, s.experts*s.n, s.hidden), downShared: RandomNeurons(r, s.shared, s.hidden),
		x: Normal(r, s.dtype, rows*s.hidden), y: Normal(r, s.dtype, rows*s.hidden),
		norm: Normal(r, kernels.BF16, s.hidden),
	}
	for i, x := range l.x {
		l.x[i] = float32(math.Abs(float64(x))) // so that a neuron with negative weights is dead
	}
	for _, w := range []*Weights{l.up, l.upShared} {
		for n := range w.N {
			if r.IntN(5) != 0 {
				w.deaden(n)
			}
		}
	}
	for row := range rows {
		l.idx = append(l.idx, pickEven(r, row, s.experts, s.topK)...)
		for range s.topK {
			l.w = append(l.w, float32(r.Float64()))
		}
	}
	return l
}

// neuronResult is what a pass made of its live rows.
type neuronResult struct{ h, bits, y, xn []byte }

// neuronVars are the variables of a pass.
type neuronVars struct {
	step, x, y, idx, w, h, bits, hs, bitsShared, norm, xn *Var
	up, upShared, down, downShared                        []*Var
}

func (l *neuronLayer) vars(rig *Rig, class, from, live int) neuronVars {
	floats := func(v []float32) *Var {
		return rig.Var(padded(FloatBytes(l.dtype, part(v, l.hidden, from, live)), class, live))
	}
	streams := func(d []Data) (v []*Var) {
		for _, s := range d {
			v = append(v, rig.Var(s))
		}
		return v
	}
	slots := class * l.topK
	return neuronVars{
		step: rig.Var(liveRows(live)), x: floats(l.x), y: floats(l.y), norm: rig.Var(BF16s(l.norm)),
		idx: rig.Var(padded(U32Bytes(part(l.idx, l.topK, from, live)), class, live)),
		w:   rig.Var(padded(F32Bytes(part(l.w, l.topK, from, live)), class, live)),
		h:   rig.Var(OutFloats(l.dtype, slots*l.n)), bits: rig.Var(Out(slots * l.n / 8)),
		hs: rig.Var(OutFloats(l.dtype, class*l.shared)), bitsShared: rig.Var(Out(class * l.shared / 8)),
		xn: rig.Var(OutFloats(l.dtype, class*l.hidden)),
		up: streams(l.up.Streams()), upShared: streams(l.upShared.Streams()),
		down: streams(l.down.Streams(l.format)), downShared: streams(l.downShared.Streams(l.format)),
	}
}

type launcher interface {
	Launch() (kernels.Launch, error)
}

func launch(t *testing.T, l launcher) kernels.Launch {
	t.Helper()
	k, err := l.Launch()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// few runs rows through the kernels of few rows.
func (l *neuronLayer) few(t *testing.T, dev gpu.Device, class, from, live int) neuronResult {
	t.Helper()
	rig := NewRig(t, dev)
	v := l.vars(rig, class, from, live)
	slices1, slices2 := kernels.NeuronSlices(l.n), kernels.NeuronSlices(l.shared)
	p := rig.Var(Out(4 * class * l.topK * slices1 * l.hidden))
	shared := rig.Var(Out(4 * class * slices2 * l.hidden))
	op := func(k launcher, vars ...[]*Var) { rig.Op(launch(t, k), slices.Concat(vars...)...) }
	op(kernels.UpRelu2{DType: l.dtype, Rows: class, I: l.shared, K: l.hidden},
		[]*Var{v.step, v.x}, v.upShared, []*Var{v.hs, v.bitsShared})
	op(kernels.ExpertUpRelu2{
		DType: l.dtype, Rows: class, TopK: l.topK, Experts: l.experts, I: l.n, K: l.hidden,
	}, []*Var{v.step, v.x, v.idx}, v.up, []*Var{v.h, v.bits})
	op(kernels.NeuronDown{Format: l.format, DType: l.dtype, Rows: class, N: l.shared, D: l.hidden},
		[]*Var{v.step, v.hs, v.bitsShared}, v.downShared, []*Var{shared})
	op(kernels.ExpertNeuronDown{
		Format: l.format, DType: l.dtype, Rows: class, TopK: l.topK, Experts: l.experts, N: l.n, D: l.hidden,
	}, []*Var{v.step, v.h, v.bits, v.idx}, v.down, []*Var{p})
	op(kernels.NeuronCombine{
		DType: l.dtype, Rows: class, TopK: l.topK, Slices: slices1, Shared: slices2, D: l.hidden, Norm: true,
		Eps: benchEps,
	}, []*Var{v.step, p, v.w, shared, v.y, v.norm, v.xn})
	rig.Run()
	return l.result(t, v, live)
}

// many runs rows through the sort and the kernels of many rows; tiles with at least dense live neurons read all.
func (l *neuronLayer) many(t *testing.T, dev gpu.Device, class, from, live, dense int) (neuronResult, []byte) {
	t.Helper()
	rig := NewRig(t, dev)
	v := l.vars(rig, class, from, live)
	s := addSortTiles(t, rig, v.step, v.idx, l.experts, l.topK, class, kernels.NeuronTile, false)
	d, shared := rig.Var(Out(4*class*l.topK*l.hidden)), rig.Var(Out(4*class*l.hidden))
	join := rig.Var(Out(kernels.MaxNeuronTiles(l.experts, l.topK, class) * l.n / 8))
	op := func(k launcher, vars ...[]*Var) { rig.Op(launch(t, k), slices.Concat(vars...)...) }
	op(kernels.UpRelu2{DType: l.dtype, Rows: class, I: l.shared, K: l.hidden},
		[]*Var{v.step, v.x}, v.upShared, []*Var{v.hs, v.bitsShared})
	op(kernels.ExpertUpRelu2Rows{
		DType: l.dtype, Rows: class, TopK: l.topK, Experts: l.experts, I: l.n, K: l.hidden,
	}, []*Var{v.step, v.x, s.order, s.tiles, s.ntiles}, v.up, []*Var{v.h, v.bits})
	op(kernels.NeuronUnion{Rows: class, TopK: l.topK, Experts: l.experts, N: l.n, Dense: dense},
		[]*Var{v.step, v.bits, s.order, s.tiles, s.ntiles, join})
	op(kernels.NeuronDownRows{Format: l.format, DType: l.dtype, Rows: class, N: l.shared, D: l.hidden},
		[]*Var{v.step, v.hs}, v.downShared, []*Var{shared})
	op(kernels.ExpertNeuronDownRows{
		Format: l.format, DType: l.dtype, Rows: class, TopK: l.topK, Experts: l.experts, N: l.n, D: l.hidden,
	}, []*Var{v.step, v.h, join, s.order, s.tiles, s.ntiles}, v.down, []*Var{d})
	op(kernels.NeuronCombine{
		DType: l.dtype, Rows: class, TopK: l.topK, Slices: 1, Shared: 1, D: l.hidden, Norm: true, Eps: benchEps,
	}, []*Var{v.step, d, v.w, shared, v.y, v.norm, v.xn})
	rig.Run()
	size := 4 * live * l.topK * l.hidden
	checkPoison(t, "d", d.Out()[size:])
	return l.result(t, v, live), d.Out()[:size]
}

// result cuts outputs to the live rows and checks that the rest was left alone.
func (l *neuronLayer) result(t *testing.T, v neuronVars, live int) neuronResult {
	t.Helper()
	size := int(l.dtype.Size())
	cut := func(what string, v *Var, n int) []byte {
		checkPoison(t, what, v.Out()[n:])
		return v.Out()[:n]
	}
	return neuronResult{
		cut("h", v.h, live*l.topK*l.n*size), cut("live", v.bits, live*l.topK*l.n/8),
		cut("y", v.y, live*l.hidden*size), cut("xn", v.xn, live*l.hidden*size),
	}
}

// check compares rows with the reference, which starts from the kernels' own hidden rows of the routed experts.
func (l *neuronLayer) check(t *testing.T, got neuronResult) {
	t.Helper()
	h, y := ToFloats(l.dtype, got.h), ToFloats(l.dtype, got.y)
	checkBits(t, l.dtype, got.h, got.bits)
	var wantH, wantY, wantN []float64
	for row := range len(y) / l.hidden {
		x := part(l.x, l.hidden, row, 1)
		var hs []float32
		for _, v := range refRelu2(l.upShared, 0, l.shared, x) {
			hs = append(hs, Round(l.dtype, float32(v)))
		}
		out := refNeuronDown(l.downShared, 0, hs)
		for j, e := range part(l.idx, l.topK, row, 1) {
			wantH = append(wantH, refRelu2(l.up, int(e)*l.n, l.n, x)...)
			for i, v := range refNeuronDown(l.down, int(e)*l.n, part(h, l.n, row*l.topK+j, 1)) {
				out[i] += float64(l.w[row*l.topK+j]) * v
			}
		}
		for i := range out {
			out[i] += float64(l.y[row*l.hidden+i])
		}
		wantY = append(wantY, out...)
		wantN = append(wantN, refRMSNorm(part(y, l.hidden, row, 1), l.norm, benchEps)...)
	}
	Check(t, "hidden rows", h, wantH, TolOf(l.dtype))
	Check(t, "outputs", y, wantY, TolOf(l.dtype))
	Check(t, "norms", ToFloats(l.dtype, got.xn), wantN, TolOf(l.dtype))
}

// checkRun compares a run of rows from, from+1, ... with the same rows of a whole run.
func (l *neuronLayer) checkRun(t *testing.T, what string, whole, run neuronResult, from int) {
	t.Helper()
	size := int(l.dtype.Size())
	rows := len(run.y) / (l.hidden * size)
	for _, c := range []struct {
		name      string
		got, want []byte
		row       int
	}{
		{"hidden rows", run.h, whole.h, l.topK * l.n * size},
		{"live neurons", run.bits, whole.bits, l.topK * l.n / 8},
		{"outputs", run.y, whole.y, l.hidden * size},
		{"norms", run.xn, whole.xn, l.hidden * size},
	} {
		if i := differ(c.got, part(c.want, c.row, from, rows)); i >= 0 {
			t.Errorf("%s, %d rows from %d: %s differ at byte %d", what, rows, from, c.name, i)
		}
	}
}

func neuronLayers(t *testing.T, dev gpu.Device) {
	for i, c := range []struct {
		neuronShape
		class, rows int
	}{
		{neuronShape{experts: 8, topK: 2, n: 128, shared: 256, hidden: 256}, 16, 9},
		{neuronShape{experts: 4, topK: 4, n: 64, shared: 128, hidden: 64}, 64, 41},
		{neuronShape{experts: 2, topK: 1, n: 1856, shared: 64, hidden: 64}, 64, 37},
		{neuronShape{experts: 32, topK: 6, n: 64, shared: 1088, hidden: 64}, 16, 16},
	} {
		for _, c.dtype = range []kernels.DType{kernels.BF16, kernels.F32} {
			c.format = neuronFormats[(i+int(c.dtype))%2]
			t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
				l := newNeuronLayer(t.Name(), c.neuronShape, c.rows)
				whole, _ := l.many(t, dev, c.class, 0, c.rows, 0)
				l.check(t, whole)
				dense, _ := l.many(t, dev, c.class, 0, c.rows, 1)
				l.checkRun(t, "dense", whole, dense, 0)
				cut := c.rows/2 + 1
				first, _ := l.many(t, dev, c.class, 0, cut, 0)
				second, _ := l.many(t, dev, c.class, cut, c.rows-cut, 0)
				l.checkRun(t, "first part", whole, first, 0)
				l.checkRun(t, "second part", whole, second, cut)
				for from, n := 0, 1; from+n <= min(c.rows, 9); from, n = from+n, n%5+1 {
					l.checkRun(t, "decode", whole, l.few(t, dev, n, from, n), from)
				}
				l.checkRun(t, "a class that is not full", whole, l.few(t, dev, 5, 3, 2), 3)
			})
		}
	}
}

// neuronDeadTile kills an expert: its slots are zero, and what it adds to a row changes no bit of it.
func neuronDeadTile(t *testing.T, dev gpu.Device) {
	for _, d := range []kernels.DType{kernels.BF16, kernels.F32} {
		t.Run(d.String(), func(t *testing.T) {
			const rows, dead = 40, 1
			l := newNeuronLayer(t.Name(), neuronShape{d, kernels.NM, 3, 2, 128, 64, 192}, rows)
			for n := range l.n {
				l.up.deaden(dead*l.n + n)
			}
			with, slots := l.many(t, dev, 64, 0, rows, 0)
			for s, e := range l.idx {
				if e == dead {
					for _, word := range ToU32(part(slots, 4*l.hidden, s, 1)) {
						if word != 0 {
							t.Fatalf("slot %d of the dead expert: %x", s, word)
						}
					}
					l.w[s] = 0
				}
			}
			without, _ := l.many(t, dev, 64, 0, rows, 0)
			l.checkRun(t, "without the expert", with, without, 0)
		})
	}
}
