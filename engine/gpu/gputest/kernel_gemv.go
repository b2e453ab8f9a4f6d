package gputest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// KernelGemv tests the dense matrix kernels: against the reference at odd sizes, every row against a pass of that
// row alone bit for bit, and that nothing beyond the live rows and the output's columns is written.
func KernelGemv(t *testing.T, dev gpu.Device) {
	t.Run("shapes", func(t *testing.T) { gemvShapes(t, dev) })
	t.Run("rows", func(t *testing.T) { gemvRowClasses(t, dev) })
	t.Run("last row", func(t *testing.T) { gemvLast(t, dev) })
	t.Run("no rows", func(t *testing.T) { gemvNoRows(t, dev) })
	t.Run("tolerance", func(t *testing.T) { gemvTolerance(t, dev) })
	if dev.Caps().SIMD == 1 {
		t.Run("many rows", func(t *testing.T) { gemvMany(t, dev) })
		t.Run("wide", func(t *testing.T) { gemvWide(t, dev) })
	}
}

// denseCase is a Gemv, or a GateUp when gated, with its data for rows of the class.
type denseCase struct {
	kernels.Gemv
	gated bool
	w     *Weights
	x, y  []float32
}

func newDense(g kernels.Gemv, gated bool) *denseCase {
	r := Rand(fmt.Sprint(g, gated))
	if g.XStride == 0 {
		g.XStride = g.K
	}
	if g.YStride == 0 {
		g.YStride = g.N
	}
	return &denseCase{
		Gemv: g, gated: gated, w: RandomWeights(r, g.Format, g.N, g.K),
		x: Normal(r, g.DType, g.Rows*g.XStride), y: Normal(r, g.DType, g.Rows*g.YStride),
	}
}

func (c *denseCase) String() string {
	if c.gated {
		return fmt.Sprintf("gate_up %v %v %dx%d", c.Format, c.DType, c.N, c.K)
	}
	return fmt.Sprintf("%v %v %v %dx%d", c.Epilogue, c.Format, c.DType, c.N, c.K)
}

// out is the type of the output.
func (c *denseCase) out() kernels.DType {
	if c.Epilogue == kernels.StoreF32 {
		return kernels.F32
	}
	return c.DType
}

// columns is the number of outputs of a row.
func (c *denseCase) columns() int {
	if c.gated {
		return c.N / 2
	}
	return c.N
}

// want is the reference of row r.
func (c *denseCase) want(r int) []float64 {
	v := refMatVec(c.w, c.x[r*c.XStride:r*c.XStride+c.K])
	if c.gated {
		return refSwiGLU(v)
	}
	if c.Epilogue == kernels.Residual {
		for n := range v {
			v[n] += float64(c.y[r*c.YStride+n])
		}
	}
	return v
}

// run runs rows from, from+1, ... of the case as a pass of a class, and returns the outputs of each live row. It
// checks that everything else of y is as before.
func (c *denseCase) run(t *testing.T, dev gpu.Device, class, from, live int, whole bool) [][]byte {
	t.Helper()
	g, size := c.Gemv, int(c.out().Size())
	g.Rows = class
	l, err := g.Launch()
	stride := c.YStride
	if c.gated {
		l, err = kernels.GateUp{Format: g.Format, DType: g.DType, Rows: class, I: g.N / 2, K: g.K}.Launch()
		stride = g.N / 2
	}
	if err != nil {
		t.Fatal(err)
	}
	if whole {
		l.Limits = nil
	}
	before := make([]byte, class*stride*size)
	fill(before, poison)
	if c.Epilogue == kernels.Residual {
		before = padded(FloatBytes(c.DType, part(c.y, stride, from, live)), class, live).init
	}
	x := padded(FloatBytes(c.DType, part(c.x, c.XStride, from, live)), class, live)
	out := RunOp(t, dev, l, slices.Concat([]Data{liveRows(live), x}, c.w.Streams(), []Data{Bytes(before)})...)
	y := out[len(out)-1]
	rows := live
	if c.Last {
		rows = 1
	}
	var got [][]byte
	for r := range rows {
		at := r * stride * size
		end := at + c.columns()*size
		got = append(got, y[at:end])
		if i := differ(y[end:(r+1)*stride*size], before[end:(r+1)*stride*size]); i >= 0 {
			t.Errorf("%v: row %d: byte %d after the last column was written", c, r, i)
		}
	}
	if i := differ(y[rows*stride*size:], before[rows*stride*size:]); i >= 0 {
		t.Errorf("%v: byte %d after the last live row was written", c, i)
	}
	return got
}

// check runs a pass and compares each row with the reference.
func (c *denseCase) check(t *testing.T, dev gpu.Device, class, live int) [][]byte {
	t.Helper()
	got := c.run(t, dev, class, 0, live, false)
	var values []float32
	var want []float64
	for r, y := range got {
		values = append(values, ToFloats(c.out(), y)...)
		want = append(want, c.want(r)...)
	}
	Check(t, fmt.Sprintf("%v: %d rows in class %d", c, live, class), values, want, fewTol(c.out(), len(want)))
	return got
}

// fewTol is the tolerance of n outputs that are rounded once: of few values all may be rounded the worst way.
func fewTol(d kernels.DType, n int) Tolerance {
	tol := TolOf(d)
	if d == kernels.BF16 && n < 256 {
		tol.Norm, tol.Why = 1.001/256, "bfloat16 rounds by at most 2^-8 of the value"
	}
	return tol
}

func denseCases(rows, n, k int) []*denseCase {
	var list []*denseCase
	for _, f := range []kernels.Format{kernels.Q4, kernels.Q8, kernels.B16} {
		for _, d := range []kernels.DType{kernels.BF16, kernels.F32} {
			for _, e := range []kernels.Epilogue{kernels.Store, kernels.StoreF32, kernels.Residual} {
				g := kernels.Gemv{Format: f, DType: d, Epilogue: e, Rows: rows, N: n, K: k}
				list = append(list, newDense(g, false))
			}
			if n%2 == 0 {
				list = append(list, newDense(kernels.Gemv{Format: f, DType: d, Rows: rows, N: n, K: k}, true))
			}
		}
	}
	return list
}

func gemvShapes(t *testing.T, dev gpu.Device) {
	for _, s := range []struct{ n, k int }{{1, 64}, {2, 64}, {4, 192}, {6, 704}, {9, 64}, {257, 128}, {24, 2112}} {
		for _, c := range denseCases(1, s.n, s.k) {
			c.check(t, dev, 1, 1)
		}
	}
	g := kernels.Gemv{Format: kernels.Q4, DType: kernels.BF16, Rows: 3, N: 5, K: 192, XStride: 200, YStride: 11}
	newDense(g, false).check(t, dev, 3, 3)
}

func gemvRowClasses(t *testing.T, dev gpu.Device) {
	classes := []struct{ class, live int }{{2, 2}, {3, 3}, {4, 4}, {5, 5}, {5, 3}, {16, 15}, {16, 1}, {64, 33}}
	for _, c := range append(denseCases(64, 18, 320), denseCases(64, 3, 64)...) {
		var alone [][]byte
		for r := range 33 {
			alone = append(alone, c.run(t, dev, 1, r, 1, false)[0])
			if dev.Caps().SIMD > 1 && r == 5 {
				break // the checking build is slow
			}
		}
		for _, p := range classes {
			for r, y := range c.check(t, dev, p.class, p.live) {
				if r < len(alone) && !bytes.Equal(y, alone[r]) {
					t.Errorf("%v: row %d of %d in class %d differs from a pass of that row alone", c, r,
						p.live, p.class)
				}
			}
		}
		whole := c.run(t, dev, 16, 0, 7, true)
		for r := range min(7, len(alone)) {
			if !bytes.Equal(whole[r], alone[r]) {
				t.Errorf("%v: row %d differs when the grid is not limited", c, r)
			}
		}
	}
}

func gemvLast(t *testing.T, dev gpu.Device) {
	for _, class := range []int{1, 4, 16} {
		for _, e := range []kernels.Epilogue{kernels.Store, kernels.Residual} {
			g := kernels.Gemv{Format: kernels.Q4, DType: kernels.BF16, Epilogue: e, Rows: class, N: 10, K: 128}
			c := newDense(g, false)
			live := max(1, class-1)
			c.Last = true
			got := c.run(t, dev, class, 0, live, false)[0]
			c.Last = false
			copy(c.x, part(c.x, c.K, live-1, 1)) // row 0 of y with the last row of x
			if want := c.run(t, dev, 1, 0, 1, false)[0]; !bytes.Equal(got, want) {
				t.Errorf("%v: class %d: the last of %d rows differs from a pass of that row alone", c, class, live)
			}
		}
	}
}

func gemvNoRows(t *testing.T, dev gpu.Device) {
	l, err := kernels.Gemv{Format: kernels.B16, DType: kernels.F32, Rows: 1, N: 9, K: 64}.Launch()
	if err != nil {
		t.Fatal(err)
	}
	w := RandomWeights(Rand("none"), kernels.B16, 9, 64)
	out := RunOp(t, dev, l, slices.Concat([]Data{StepData(StepRecord{}), Out(256)}, w.Streams(), []Data{Out(36)})...)
	want := make([]byte, 36)
	fill(want, poison)
	if !bytes.Equal(out[len(out)-1], want) {
		t.Error("a pass of no rows wrote an output")
	}
}

// gemvTolerance shows that the tolerance refuses one wrong scale in 33 groups.
func gemvTolerance(t *testing.T, dev gpu.Device) {
	for _, d := range []kernels.DType{kernels.BF16, kernels.F32} {
		c := newDense(kernels.Gemv{Format: kernels.Q4, DType: d, Rows: 1, N: 16, K: 33 * group}, false)
		got := ToFloats(d, c.run(t, dev, 1, 0, 1, false)[0])
		for n := range c.N {
			for k := range group {
				c.w.Values[n*c.K+k] *= 1.05
			}
		}
		if e := Compare(got, c.want(0)); e.Norm <= TolOf(d).Norm && e.Max <= TolOf(d).Max {
			t.Errorf("%v: a scale that is 5%% off in one group passes: %v", d, e)
		}
	}
}

// gemvMany runs as many rows as a chunk can have.
func gemvMany(t *testing.T, dev gpu.Device) {
	for _, d := range []kernels.DType{kernels.BF16, kernels.F32} {
		c := newDense(kernels.Gemv{Format: kernels.Q4, DType: d, Rows: kernels.MaxRows, N: 6, K: 64}, false)
		got := c.check(t, dev, kernels.MaxRows, kernels.MaxRows-1)
		for _, r := range []int{0, 1, 63, 4093, 4094} {
			if !bytes.Equal(got[r], c.run(t, dev, 1, r, 1, false)[0]) {
				t.Errorf("%v: row %d of 4095 differs from a pass of that row alone", c, r)
			}
		}
	}
}

// gemvWide runs the shapes of the full model.
func gemvWide(t *testing.T, dev gpu.Device) {
	for _, s := range []struct{ n, k int }{{2048, 4096}, {256, 2048}, {2048, 512}} {
		g := kernels.Gemv{Format: kernels.Q4, DType: kernels.BF16, Epilogue: kernels.StoreF32, Rows: 5, N: s.n, K: s.k}
		newDense(g, false).check(t, dev, 5, 5)
	}
}
