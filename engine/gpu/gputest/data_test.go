package gputest

import (
	"encoding/binary"
	"math"
	"testing"

	"sotto/kernels"
)

func TestBF16(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, tc := range []struct {
		name string
		in   float32
		want uint16
	}{
		{"zero", 0, 0},
		{"minus zero", float32(math.Copysign(0, -1)), 0x8000},
		{"one", 1, 0x3f80},
		{"tie to even, down", math.Float32frombits(0x3f808000), 0x3f80},
		{"tie to even, up", math.Float32frombits(0x3f818000), 0x3f82},
		{"above the tie", math.Float32frombits(0x3f808001), 0x3f81},
		{"carry into the exponent", math.Float32frombits(0x3fffffff), 0x4000},
		{"overflow", math.MaxFloat32, 0x7f80},
		{"infinity", -inf, 0xff80},
		{"subnormal", math.Float32frombits(0x00018000), 0x0002},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := BF16Bits(tc.in); got != tc.want {
				t.Errorf("got %#04x, want %#04x", got, tc.want)
			}
		})
	}
	if got := BF16(math.Float32frombits(0x7f800001)); got == got {
		t.Errorf("got %v, want NaN", got)
	}
}

func TestPoisonIsNaN(t *testing.T) {
	for _, word := range []uint32{poison, guard} {
		b := make([]byte, 4)
		fill(b, word)
		for _, v := range append(ToF32(b), ToBF16(b)...) {
			if v == v {
				t.Errorf("%#x reads as %v, want NaN", word, v)
			}
		}
	}
}

func TestCompare(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, tc := range []struct {
		name      string
		got       []float32
		want      []float64
		norm, max float64
	}{
		{"equal", []float32{1, 2}, []float64{1, 2}, 0, 0},
		{"nothing", nil, nil, 0, 0},
		{"off by one in three", []float32{3, 0, 5}, []float64{3, 0, 4}, 0.2, 0.25},
		{"zeroes", []float32{1}, []float64{0}, inf, inf},
		{"short", []float32{1}, []float64{1, 1}, inf, inf},
		{"NaN against number", []float32{float32(nan)}, []float64{1}, inf, inf},
		{"number against NaN", []float32{1}, []float64{nan}, inf, inf},
		{"NaN against NaN", []float32{float32(nan), 1}, []float64{nan, 1}, 0, 0},
		{"infinity against itself", []float32{float32(inf), 1}, []float64{inf, 1}, 0, 0},
		{"infinity of the other sign", []float32{float32(inf)}, []float64{-inf}, inf, inf},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := Compare(tc.got, tc.want)
			if d.Norm != tc.norm || d.Max != tc.max {
				t.Errorf("got %v, want normalised %v, largest %v", d, tc.norm, tc.max)
			}
		})
	}
}

func TestTolerances(t *testing.T) {
	for _, d := range []kernels.DType{kernels.BF16, kernels.F32} {
		tol := TolOf(d)
		near, far := []float32{1}, []float32{1 + 2*float32(tol.Max)}
		if c := Compare(near, []float64{1 + tol.Norm/2}); c.Norm > tol.Norm || c.Max > tol.Max {
			t.Errorf("%v: %v is refused", d, c)
		}
		if c := Compare(far, []float64{1}); c.Max <= tol.Max {
			t.Errorf("%v: %v passes", d, c)
		}
	}
}

func TestRandomWeights(t *testing.T) {
	const n, k = 3, 128
	for _, f := range []kernels.Format{kernels.Q4, kernels.Q8, kernels.B16} {
		t.Run(f.String(), func(t *testing.T) {
			w := RandomWeights(Rand("weights"), f, n, k)
			if got, want := int64(len(w.Codes)), f.CodeBytes(n*k); got != want {
				t.Fatalf("got %d bytes of codes, want %d", got, want)
			}
			negative, sum := 0, 0.0
			for i := range n * k {
				want := stored(w, i)
				if w.Values[i] != want {
					t.Fatalf("element %d: got %v, want %v", i, w.Values[i], want)
				}
				sum += want * want
			}
			if sum < 0.3*n || sum > 3*n {
				t.Errorf("got rows of squared length %v, want about 1", sum/n)
			}
			for i := range w.Scales {
				if i%2 == 1 && w.Scales[i]&0x80 != 0 {
					negative++
				}
			}
			if f != kernels.B16 && negative == 0 {
				t.Error("no negative scale")
			}
			if again := RandomWeights(Rand("weights"), f, n, k); differ(again.Codes, w.Codes) >= 0 {
				t.Error("the same name gives other weights")
			}
		})
	}
}

// stored decodes element i from the streams, as the format is specified.
func stored(w *Weights, i int) float64 {
	word := func(b []byte, i int) float64 {
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16))
	}
	switch w.Format {
	case kernels.Q4:
		code := binary.LittleEndian.Uint32(w.Codes[i/8*4:]) >> (4 * (i % 8)) & 15
		return word(w.Scales, i/64)*float64(code) + word(w.Biases, i/64)
	case kernels.Q8:
		return word(w.Scales, i/64)*float64(w.Codes[i]) + word(w.Biases, i/64)
	default: // B16
		return word(w.Codes, i)
	}
}
