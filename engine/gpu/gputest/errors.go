package gputest

import (
	"fmt"
	"math"
	"testing"

	"sotto/kernels"
)

// Tolerance bounds the distance of a kernel's output from a float64 reference that starts from the same,
// already rounded inputs.
type Tolerance struct {
	Norm float64 // root of sum (got-want)^2 / sum want^2
	Max  float64 // largest |got-want| as a part of the largest |want|
	Why  string
}

// TolOf is the tolerance of an output of activation type d. Kernels whose arithmetic differs by design state
// their own.
func TolOf(d kernels.DType) Tolerance {
	if d == kernels.BF16 {
		return Tolerance{3e-3, 1.0 / 128, "bfloat16 has 8 bits: one rounding is at most 2^-9 of the value, and a " +
			"float32 sum near a tie may fall one unit (2^-8) to either side; an input rounded inside adds as much"}
	}
	return Tolerance{1e-5, 3e-5, "float32 sums of up to 16,384 products in partial sums lose about sqrt(n) * 2^-24, " +
		"and exp, rsqrt and division a few units of 2^-24"}
}

// Distance of an output from its reference.
type Distance struct {
	Norm float64
	Max  float64
	At   int // index of the largest
	Got  float64
	Want float64
}

func (d Distance) String() string {
	return fmt.Sprintf("normalised %.3g, largest %.3g at %d (got %.9g, want %.9g)", d.Norm, d.Max, d.At, d.Got, d.Want)
}

// Compare measures got against want. A value that is not finite where want is, or the reverse, or an infinity of
// the other sign, makes the distance infinite.
func Compare(got []float32, want []float64) Distance {
	d := Distance{}
	if len(got) != len(want) {
		return Distance{Norm: math.Inf(1), Max: math.Inf(1), At: min(len(got), len(want))}
	}
	var diff, norm, peak, worst float64
	for i, w := range want {
		g := float64(got[i])
		e := math.Abs(g - w)
		switch {
		case g == w || math.IsNaN(g) && math.IsNaN(w):
			e = 0
		case math.IsNaN(e) || math.IsInf(e, 0):
			return Distance{math.Inf(1), math.Inf(1), i, g, w}
		}
		if e > worst {
			worst, d.At, d.Got, d.Want = e, i, g, w
		}
		diff += e * e
		if !math.IsNaN(w) && !math.IsInf(w, 0) {
			norm += w * w
			peak = math.Max(peak, math.Abs(w))
		}
	}
	d.Norm, d.Max = ratio(math.Sqrt(diff), math.Sqrt(norm)), ratio(worst, peak)
	return d
}

func ratio(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return a / b
}

// Check reports an output that is farther from its reference than tol allows.
func Check(t testing.TB, what string, got []float32, want []float64, tol Tolerance) {
	t.Helper()
	if d := Compare(got, want); d.Norm > tol.Norm || d.Max > tol.Max {
		t.Errorf("%s: %d values against %d: %v, allowed %.3g and %.3g (%s)", what, len(got), len(want), d,
			tol.Norm, tol.Max, tol.Why)
	}
}
