package msl_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"sotto/kernels/msl"
)

// both runs a test on the exact and the fast build.
func both(t *testing.T, test func(t *testing.T, l *library)) {
	b := newBuilder(t)
	for _, m := range []msl.Mode{msl.HostExact, msl.HostFast} {
		t.Run(m.Name, func(t *testing.T) { test(t, buildLibrary(t, b, m, 2, "helpers.metal")) })
	}
}

func TestHelpers(t *testing.T) {
	both(t, func(t *testing.T, l *library) {
		for _, seed := range []uint64{0, 1, 2} {
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				testPlaces(t, l, seed)
				for _, nsg := range []uint32{1, 2, 7, 32} {
					for _, n := range []uint32{1, 31, 33, 1025} {
						testReductions(t, l, nsg, n, seed)
					}
					testScan(t, l, nsg, seed)
				}
				testWords(t, l, seed)
				testNumbers(t, l, seed)
				testVectors(t, l, seed)
			})
		}
	})
}

func testPlaces(t *testing.T, l *library, seed uint64) {
	const nsg = 3
	grid := [3]uint32{4, 3, 2}
	threads := nsg * l.width
	y := make([]uint32, 24*threads*8)
	op := l.op(t, "places", 1, nsg, 0, ptr(y))
	op.grid = grid
	if err := l.do([]hostOp{op}, nil, seed); err != nil {
		t.Fatal(err)
	}
	for i := range 24 * threads {
		group, index := i/threads, i%threads
		want := []uint32{group, index / l.width, index % l.width, index, group%4*threads + index, nsg, threads, l.width}
		if got := y[8*i : 8*i+8]; !slices.Equal(got, want) {
			t.Fatalf("thread %d: got %v, want %v", i, got, want)
		}
	}
}

// testReductions compares sums and arg-max with references; the sums' inputs are small integers, so exact.
func testReductions(t *testing.T, l *library, nsg, n uint32, seed uint64) {
	t.Helper()
	x := make([]float32, n)
	var sum float32
	for i := range x {
		x[i] = float32((i*7919)%31) - 15
		sum += x[i]
	}
	most := slices.Max(x)
	y, z := make([]float32, 4*nsg), make([]uint32, 2*nsg)
	ops := []hostOp{
		l.op(t, "sums", 1, nsg, 0, ptr(x), ptr(y), unsafe.Pointer(&n)),
		l.op(t, "argmaxes", 1, nsg, 0, ptr(x), ptr(z), unsafe.Pointer(&n)),
	}
	if err := l.do(ops, nil, seed); err != nil {
		t.Fatal(err)
	}
	var shares float32
	for sg := range nsg {
		if got, want := y[4*sg:4*sg+2], []float32{sum, most}; !slices.Equal(got, want) {
			t.Errorf("%d simdgroups, n=%d: simdgroup %d has sum and maximum %v, want %v", nsg, n, sg, got, want)
		}
		id := uint32(slices.Index(x, most))
		if got, want := z[2*sg:2*sg+2], []uint32{id, math.Float32bits(most)}; !slices.Equal(got, want) {
			t.Errorf("%d simdgroups, n=%d: simdgroup %d has arg-max %v, want %v", nsg, n, sg, got, want)
		}
		shares += y[4*sg+2]
	}
	if shares != sum {
		t.Errorf("%d simdgroups, n=%d: the simdgroups' sums add up to %v, want %v", nsg, n, shares, sum)
	}
}

func testScan(t *testing.T, l *library, nsg uint32, seed uint64) {
	t.Helper()
	threads := nsg * l.width
	x, y := make([]uint32, threads), make([]uint32, 2*threads)
	for i := range x {
		x[i] = uint32(i*i) % 5
	}
	if err := l.do([]hostOp{l.op(t, "scans", 1, nsg, 0, ptr(x), ptr(y))}, nil, seed); err != nil {
		t.Fatal(err)
	}
	var before uint32
	for i, v := range x {
		if y[i] != before {
			t.Fatalf("%d simdgroups: prefix of thread %d is %d, want %d", nsg, i, y[i], before)
		}
		before += v
	}
	for i, got := range y[threads:] {
		if got != before {
			t.Fatalf("%d simdgroups: total of thread %d is %d, want %d", nsg, i, got, before)
		}
	}
}

func testWords(t *testing.T, l *library, seed uint64) {
	x, y := make([]uint16, 96), make([]uint32, 3)
	for _, i := range []int{0, 5, 31, 64, 95} {
		x[i] = 0x3f80
	}
	x[33], x[34] = 0x8000, 0x7fc0 // minus zero is not live, NaN is
	if err := l.do([]hostOp{l.op(t, "words", 3, 1, 0, ptr(x), ptr(y))}, nil, seed); err != nil {
		t.Fatal(err)
	}
	if want := []uint32{1 | 1<<5 | 1<<31, 1 << 2, 1 | 1<<31}; !slices.Equal(y, want) {
		t.Errorf("got %x, want %x", y, want)
	}
}

// roundBF16 is the nearest bf16, ties to even.
func roundBF16(f float32) uint32 {
	b := math.Float32bits(f)
	if f != f {
		return b>>16 | 0x40
	}
	return (b + 0x7fff + b>>16&1) >> 16
}

func testNumbers(t *testing.T, l *library, seed uint64) {
	x := []float32{0, 1, 1.00390625, 1.01171875, 1.1, -3.3333333, 3e38, float32(math.Inf(1)), 1e-40, 65535.5}
	y := make([]uint32, 4*len(x))
	if err := l.do([]hostOp{l.op(t, "numbers", uint32(len(x)), 1, 0, ptr(x), ptr(y))}, nil, seed); err != nil {
		t.Fatal(err)
	}
	for i, v := range x {
		b := math.Float32frombits(roundBF16(v) << 16)
		square := v * v
		fused := float32(math.FMA(float64(v), float64(v), float64(v)))
		want := []uint32{roundBF16(v), roundBF16(b * b), math.Float32bits(square + v), math.Float32bits(fused)}
		if got := y[4*i : 4*i+4]; !slices.Equal(got, want) {
			t.Errorf("%v: got %x, want %x", v, got, want)
		}
	}
}

func testVectors(t *testing.T, l *library, seed uint64) {
	y := make([]float32, 8)
	if err := l.do([]hostOp{l.op(t, "vectors", 1, 1, 0, ptr(y))}, nil, seed); err != nil {
		t.Fatal(err)
	}
	want := []float32{3.5, 4.5, 3.5, 8, 48.5, 3.5, 1, 0.099975586 + 4.5}
	if !slices.Equal(y, want) {
		t.Errorf("got %v, want %v", y, want)
	}
}

// TestShuffleFindsRaces runs four kinds of race in natural order, where they look right, and in shuffled ones.
func TestShuffleFindsRaces(t *testing.T) {
	l := buildLibrary(t, newBuilder(t), msl.HostExact, 1, "faults.metal")
	races := map[string]func() (ops []hostOp, y []uint32){
		"lanes": func() ([]hostOp, []uint32) {
			y := make([]uint32, 32)
			return []hostOp{l.op(t, "race_lanes", 1, 1, 0, ptr(y))}, y
		},
		"simdgroups": func() ([]hostOp, []uint32) {
			y := make([]uint32, 128)
			return []hostOp{l.op(t, "race_simdgroups", 1, 4, 0, ptr(y))}, y
		},
		"threadgroups": func() ([]hostOp, []uint32) {
			y := make([]uint32, 16)
			return []hostOp{l.op(t, "race_threadgroups", 16, 1, 0, ptr(y))}, y
		},
		"ops": func() ([]hostOp, []uint32) {
			x, y, z := make([]uint32, 4), make([]uint32, 4), make([]uint32, 4)
			return []hostOp{
				l.op(t, "increment", 4, 1, 0, ptr(x), ptr(y)),
				l.op(t, "increment", 4, 1, 0, ptr(y), ptr(z)),
			}, z
		},
	}
	for name, race := range races {
		t.Run(name, func(t *testing.T) {
			result := func(seed uint64) string {
				ops, y := race()
				if err := l.do(ops, nil, seed); err != nil {
					t.Fatal(err)
				}
				return fmt.Sprint(y)
			}
			natural := result(0)
			var found []uint64
			for seed := uint64(1); seed <= 8; seed++ {
				got, again := result(seed), result(seed)
				if got != again {
					t.Errorf("seed %d is not reproducible", seed)
				}
				if got != natural {
					found = append(found, seed)
				}
			}
			if len(found) < 4 {
				t.Errorf("only seeds %v of 1 to 8 find the race", found)
			}
		})
	}
}

// TestExactChecks holds that lanes and simdgroups that part are an error with a place, and that the library works on.
func TestExactChecks(t *testing.T) {
	l := buildLibrary(t, newBuilder(t), msl.HostExact, 2, "faults.metal")
	y := make([]float32, 64)
	for _, c := range []struct {
		kernel string
		nsg    uint32
		want   string
	}{
		{"parted_lanes", 1, "faults.metal:37: lanes of simdgroup 0 part"},
		{"parted_sites", 1, "faults.metal:42: lanes of simdgroup 0 part"},
		{"parted_simdgroups", 2, "faults.metal:50: simdgroups of a threadgroup part"},
	} {
		if err := l.do([]hostOp{l.op(t, c.kernel, 3, c.nsg, 0, ptr(y))}, nil, 0); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.kernel, err, c.want)
		}
		if err := l.do([]hostOp{l.op(t, c.kernel, 3, c.nsg, 0, ptr(y))}, nil, 7); err == nil ||
			!strings.Contains(err.Error(), " part: ") {
			t.Errorf("%s, shuffled: got %v, want lanes that part", c.kernel, err)
		}
	}
	n, met := uint32(50), make([]uint32, 8)
	if err := l.do([]hostOp{l.op(t, "meetings", 1, 8, 0, ptr(met), unsafe.Pointer(&n))}, nil, 0); err != nil {
		t.Fatal(err)
	}
	if want := slices.Repeat([]uint32{n}, 8); !slices.Equal(met, want) {
		t.Errorf("after the errors: got %v, want %v", met, want)
	}
}

func TestExactPoison(t *testing.T) {
	l := buildLibrary(t, newBuilder(t), msl.HostExact, 1, "faults.metal")
	y := make([]float32, 64)
	if err := l.do([]hostOp{l.op(t, "uninitialised", 1, 1, 0, ptr(y))}, nil, 0); err != nil {
		t.Fatal(err)
	}
	for i, v := range y {
		if v == v {
			t.Errorf("what nothing has written reads as y[%d] = %v, want NaN", i, v)
		}
	}
}

// TestFastBarriers runs simdgroups that meet often, in natural and shuffled order.
func TestFastBarriers(t *testing.T) {
	l := buildLibrary(t, newBuilder(t), msl.HostFast, 2, "faults.metal")
	for _, nsg := range []uint32{1, 2, 5, 32} {
		for _, seed := range []uint64{0, 3} {
			n, y := uint32(100), make([]uint32, nsg)
			op := l.op(t, "meetings", 1, nsg, 0, ptr(y), unsafe.Pointer(&n))
			if err := l.do([]hostOp{op}, nil, seed); err != nil {
				t.Fatal(err)
			}
			if want := slices.Repeat([]uint32{n}, int(nsg)); !slices.Equal(y, want) {
				t.Errorf("%d simdgroups, seed %d: got %v, want %v", nsg, seed, y, want)
			}
		}
	}
}
