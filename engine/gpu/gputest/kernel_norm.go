package gputest

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"sotto/engine/gpu"
	"sotto/kernels"
)

// KernelNorm tests the norm of rows and the embedding that norms what it reads.
func KernelNorm(t *testing.T, dev gpu.Device) {
	t.Run("rms_norm", func(t *testing.T) { normRows(t, dev) })
	t.Run("last row", func(t *testing.T) { normLast(t, dev) })
	t.Run("extremes", func(t *testing.T) { normExtremes(t, dev) })
	t.Run("embed", func(t *testing.T) { embedRows(t, dev) })
}

const normEps = 1e-6

// norm runs the first rows of x as a pass of a class, and checks that other rows are left alone.
func norm(t *testing.T, dev gpu.Device, n kernels.RMSNorm, x, w []float32, live int, whole bool) []byte {
	t.Helper()
	l, err := n.Launch()
	if err != nil {
		t.Fatal(err)
	}
	if whole {
		l.Limits = nil
	}
	in := padded(FloatBytes(n.DType, x[:live*n.D]), n.Rows, live)
	out := RunOp(t, dev, l, liveRows(live), in, BF16s(w), OutFloats(n.DType, n.Rows*n.D))
	rows := live
	if n.Last {
		rows = 1
	}
	y, end := out[3], rows*n.D*int(n.DType.Size())
	checkPoison(t, "y", y[end:])
	return y[:end]
}

func normRows(t *testing.T, dev gpu.Device) {
	for _, d := range []kernels.DType{kernels.BF16, kernels.F32} {
		for _, size := range []int{8, 64, 200, 256, 264, 2048, 4104} {
			r := Rand(fmt.Sprint("norm", d, size))
			x, w := Normal(r, d, 64*size), Normal(r, kernels.BF16, size)
			for _, c := range []struct{ class, live int }{{1, 1}, {2, 2}, {5, 4}, {16, 15}, {64, 33}, {64, 63}} {
				if c.live > 5 && size > 300 {
					continue
				}
				n := kernels.RMSNorm{DType: d, Rows: c.class, D: size, Eps: normEps}
				got := norm(t, dev, n, x, w, c.live, c.live == 4)
				var want []float64
				for row := range c.live {
					want = append(want, refRMSNorm(x[row*size:(row+1)*size], w, normEps)...)
				}
				what := fmt.Sprintf("%v %d elements, %d rows", d, size, c.live)
				Check(t, what, ToFloats(d, got), want, fewTol(d, len(want)))
				n.Rows = 1
				row := c.live - 1
				alone := norm(t, dev, n, x[row*size:], w, 1, false)
				if !bytes.Equal(got[row*len(alone):], alone) {
					t.Errorf("%s: the last row differs from a pass of that row alone", what)
				}
			}
		}
	}
}

func normLast(t *testing.T, dev gpu.Device) {
	r := Rand("last")
	x, w := Normal(r, kernels.BF16, 16*192), Normal(r, kernels.BF16, 192)
	n := kernels.RMSNorm{DType: kernels.BF16, Rows: 16, D: 192, Eps: normEps, Last: true}
	for _, live := range []int{1, 9, 16} {
		got := norm(t, dev, n, x, w, live, false)
		alone := norm(t, dev, kernels.RMSNorm{DType: kernels.BF16, Rows: 1, D: 192, Eps: normEps},
			x[(live-1)*192:], w, 1, false)
		if !bytes.Equal(got, alone) {
			t.Errorf("the last of %d rows differs from a pass of that row alone", live)
		}
	}
}

// normExtremes norms rows of zeroes, of tiny and of great values, and one with a NaN, which must stay in its row.
func normExtremes(t *testing.T, dev gpu.Device) {
	const size = 64
	r := Rand("extremes")
	w := Normal(r, kernels.BF16, size)
	scales := []float32{0, 1e-18, 1e15, 1}
	x := Normal(r, kernels.F32, 5*size)
	for i := range scales {
		for j := range size {
			x[i*size+j] *= scales[i]
		}
	}
	x[4*size+7] = float32(math.NaN())
	n := kernels.RMSNorm{DType: kernels.F32, Rows: 5, D: size, Eps: normEps}
	got := ToF32(norm(t, dev, n, x, w, 5, false))
	for i := range scales {
		want := refRMSNorm(x[i*size:(i+1)*size], w, normEps)
		Check(t, fmt.Sprintf("rows times %v", scales[i]), got[i*size:(i+1)*size], want, TolOf(kernels.F32))
	}
	for _, v := range got[4*size:] {
		if v == v {
			t.Errorf("row with a NaN: got %v", v)
		}
	}
}

func embedRows(t *testing.T, dev gpu.Device) {
	for _, f := range []kernels.Format{kernels.Q4, kernels.Q8, kernels.B16} {
		for _, d := range []kernels.DType{kernels.BF16, kernels.F32} {
			for _, size := range []int{64, 192, 2048} {
				embedCase(t, dev, kernels.Embed{Format: f, DType: d, Rows: 5, N: 9, D: size, Eps: normEps}, 3)
			}
			embedCase(t, dev, kernels.Embed{Format: f, DType: d, Rows: 1, N: 1, D: 64, Eps: normEps}, 1)
			embedCase(t, dev, kernels.Embed{Format: f, DType: d, Rows: 64, N: 9, D: 128, Eps: normEps}, 33)
		}
	}
}

func embedCase(t *testing.T, dev gpu.Device, e kernels.Embed, live int) {
	t.Helper()
	r := Rand(fmt.Sprint(e))
	table, w := RandomWeights(r, e.Format, e.N, e.D), Normal(r, kernels.BF16, e.D)
	l, err := e.Launch()
	if err != nil {
		t.Fatal(err)
	}
	step := StepRecord{Params: kernels.StepParams{Rows: uint32(live), Active: 1}}
	var want []float32
	for i := range live {
		id := (7*i + 5) % e.N
		step.IDs = append(step.IDs, uint32(id))
		if i == live-1 {
			step.IDs[i], id = uint32(e.N), 0 // beyond the table
		}
		for _, v := range table.Row(id) {
			want = append(want, Round(e.DType, float32(v)))
		}
	}
	size := e.Rows * e.D
	args := slices.Concat([]Data{StepData(step)}, table.Streams(),
		[]Data{BF16s(w), OutFloats(e.DType, size), OutFloats(e.DType, size)})
	out := RunOp(t, dev, l, args...)
	x, xn := out[len(out)-2], out[len(out)-1]
	end := live * e.D * int(e.DType.Size())
	checkPoison(t, "x", x[end:])
	checkPoison(t, "xn", xn[end:])
	if !bytes.Equal(x[:end], FloatBytes(e.DType, want)) {
		t.Errorf("%+v: x is not the dequantised rows, rounded once", e)
	}
	n := kernels.RMSNorm{DType: e.DType, Rows: e.Rows, D: e.D, Eps: e.Eps}
	if !bytes.Equal(xn[:end], norm(t, dev, n, want, w, live, false)) {
		t.Errorf("%+v: xn differs from the norm of x", e)
	}
}
