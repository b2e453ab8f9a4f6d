package msl_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"sotto/kernels/msl"
)

// TestLimits holds that grids shrink to what the step record says when the stage begins, never below or above.
func TestLimits(t *testing.T) {
	l := buildLibrary(t, newBuilder(t), msl.HostFast, 2, "lists.metal")
	for _, c := range []struct {
		name   string
		limits []hostLimit
		step   []uint32
		want   [2]int // columns and rows that run, of 16 x 4
	}{
		{"none", nil, []uint32{1}, [2]int{16, 4}},
		{"one", []hostLimit{{dim: 0, offset: 4, div: 1}}, []uint32{1, 5}, [2]int{5, 4}},
		{"rounded up", []hostLimit{{dim: 0, offset: 4, div: 4}}, []uint32{1, 13}, [2]int{4, 4}},
		{"two", []hostLimit{{dim: 0, offset: 4, div: 2}, {dim: 1, offset: 8, div: 1}}, []uint32{1, 4, 3}, [2]int{2, 3}},
		{"beyond the grid", []hostLimit{{dim: 1, offset: 4, div: 1}}, []uint32{1, 1 << 31}, [2]int{16, 4}},
		{"largest value", []hostLimit{{dim: 1, offset: 4, div: 2}}, []uint32{1, ^uint32(0)}, [2]int{16, 4}},
		{"nothing", []hostLimit{{dim: 0, offset: 4, div: 8}}, []uint32{1, 0}, [2]int{0, 0}},
	} {
		for _, seed := range []uint64{0, 5} {
			y := make([]uint32, 64)
			op := l.op(t, "visit", 16, 1, 0, ptr(y))
			op.grid[1], op.stepIndex, op.nlimits = 4, 1, uint32(len(c.limits))
			copy(op.limits[:], c.limits)
			if err := l.do([]hostOp{op}, ptr(c.step), seed); err != nil {
				t.Fatal(err)
			}
			for i, got := range y {
				want := uint32(0)
				if i%16 < c.want[0] && i/16 < c.want[1] {
					want = 1
				}
				if got != want {
					t.Fatalf("%s: threadgroup (%d, %d) ran %d times, want %d", c.name, i%16, i/16, got, want)
				}
			}
		}
	}
}

// TestStages runs a long list in which each stage needs all of the one before, on one to four threads.
func TestStages(t *testing.T) {
	b := newBuilder(t)
	for _, m := range []msl.Mode{msl.HostExact, msl.HostFast} {
		for _, threads := range []int32{1, 2, 4} {
			l := buildLibrary(t, b, m, threads, "lists.metal")
			for _, n := range []uint32{1, 2, 3, 50} {
				const stages = 200
				x, y := make([]uint32, n), make([]uint32, n)
				var ops []hostOp
				for s := range uint32(stages) {
					ops = append(ops, l.op(t, "chain", n, 1, s, ptr(x), ptr(y), unsafe.Pointer(&n)))
					x, y = y, x
				}
				for _, seed := range []uint64{0, 9} {
					clear(x)
					if err := l.do(ops, nil, seed); err != nil {
						t.Fatal(err)
					}
					if want := slices.Repeat([]uint32{stages}, int(n)); !slices.Equal(x, want) {
						t.Errorf("%s, %d threads, seed %d: got %v, want %v", m.Name, threads, seed, x, want)
					}
				}
			}
		}
	}
}

// TestBadLists holds that a list that would corrupt memory is an error.
func TestBadLists(t *testing.T) {
	l := buildLibrary(t, newBuilder(t), msl.HostFast, 2, "lists.metal")
	y := make([]uint32, 64)
	for _, c := range []struct {
		name string
		harm func(op *hostOp)
		want string
	}{
		{"no kernel", func(op *hostOp) { op.fn = nil }, "no kernel"},
		{"no arguments", func(op *hostOp) { op.args = nil }, "no arguments"},
		{"no threads", func(op *hostOp) { op.tg[0] = 0 }, "threadgroup of 0 x 1 x 1"},
		{"too many threads", func(op *hostOp) { op.tg[0] = 33 * l.width }, "threadgroup of 33"},
		{"flat threadgroups only", func(op *hostOp) { op.tg[1] = 2 }, "x 2 x 1"},
		{"three limits", func(op *hostOp) { op.nlimits = 3 }, "bad limits"},
		{"division by zero", func(op *hostOp) { op.nlimits = 1 }, "bad limit"},
		{"step index", func(op *hostOp) { op.stepIndex = 31 }, "step index"},
		{"grid", func(op *hostOp) { op.grid = [3]uint32{1 << 16, 1 << 16, 1 << 16} }, "more than"},
	} {
		op := l.op(t, "nothing", 1, 1, 0, ptr(y))
		c.harm(&op)
		err := l.do([]hostOp{op}, ptr(y), 0)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	late, early := l.op(t, "nothing", 1, 1, 2, ptr(y)), l.op(t, "nothing", 1, 1, 1, ptr(y))
	if err := l.do([]hostOp{late, early}, nil, 0); err == nil {
		t.Error("stages may go backwards")
	}
	if err := l.do(nil, nil, 0); err != nil {
		t.Error("an empty list:", err)
	}
}

// TestExit holds that a library can be given up and taken up again, and refuses to run in between.
func TestExit(t *testing.T) {
	l := buildLibrary(t, newBuilder(t), msl.HostFast, 3, "lists.metal")
	for range 20 {
		y, step := make([]uint32, 16), []uint32{1}
		op := l.op(t, "visit", 16, 1, 0, ptr(y))
		op.stepIndex = 1
		if err := l.do([]hostOp{op}, ptr(step), 0); err != nil {
			t.Fatal(err)
		}
		if want := slices.Repeat([]uint32{1}, 16); !slices.Equal(y, want) {
			t.Fatalf("got %v, want %v", y, want)
		}
		l.exit()
		if err := l.do([]hostOp{op}, ptr(step), 0); err == nil || !strings.Contains(err.Error(), "msl_init") {
			t.Errorf("without threads: got %v", err)
		}
		if e := l.init(3); e != 0 {
			t.Fatal(e)
		}
	}
}

// TestPTXArithmetic holds that the PTX build keeps products and sums apart and divides and takes roots exactly.
func TestPTXArithmetic(t *testing.T) {
	b := newBuilder(t)
	paths, err := b.PTX(t.Context(), []string{"msl/testdata/run/lists.metal"}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Clean(paths[0]))
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(text), "product_sum")
	for _, want := range []string{"mul.rn.f32", "add.rn.f32", "div.rn.f32", "sqrt.rn.f32"} {
		if !strings.Contains(body, want) {
			t.Errorf("product_sum has no %s", want)
		}
	}
	if bad := regexp.MustCompile(`fma\.|\.ftz|\.approx|mad\.\S*f32`).FindString(body); bad != "" {
		t.Errorf("product_sum has a %s", bad)
	}
}

// BenchmarkDispatch measures what an empty dispatch and an empty stage cost.
func BenchmarkDispatch(b *testing.B) {
	build := newBuilder(b)
	for _, c := range []struct {
		name           string
		threads        int32
		groups, stages uint32
	}{
		{"one stage of 1000 ops", 1, 1, 1},
		{"1000 stages, 1 thread", 1, 8, 1000},
		{"1000 stages, 2 threads", 2, 8, 1000},
	} {
		b.Run(c.name, func(b *testing.B) {
			l := buildLibrary(b, build, msl.HostFast, c.threads, "lists.metal")
			y := make([]uint32, 1)
			var ops []hostOp
			for i := range uint32(1000) {
				ops = append(ops, l.op(b, "nothing", c.groups, 1, i*c.stages/1000, ptr(y)))
			}
			for b.Loop() {
				if err := l.do(ops, nil, 0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/dispatch")
		})
	}
}
