package kernels

import (
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"testing"
)

// geometry is a constructor and the dispatch that it should make.
type geometry struct {
	name   string
	make   interface{ Launch() (Launch, error) }
	kernel string
	grid   [3]uint32
	groups uint32
	limits []Limit
}

func checkGeometry(t *testing.T, cases []geometry) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l, err := c.make.Launch()
			if err != nil {
				t.Fatal(err)
			}
			k := Lookup(c.kernel)
			if k == nil || !reflect.DeepEqual(l.Kernel, k) {
				t.Fatalf("got kernel %v, want %s of the catalogue: %v", l.Kernel, c.kernel, k)
			}
			if l.Grid != c.grid || l.Simdgroups != c.groups || !reflect.DeepEqual(l.Limits, c.limits) {
				t.Errorf("got grid %v of %d simdgroups with limits %v, want %v of %d with %v", l.Grid, l.Simdgroups,
					l.Limits, c.grid, c.groups, c.limits)
			}
			if got, want := len(l.Params), binary.Size(k.Params); got != want {
				t.Errorf("got %d bytes of parameters, want %d", got, want)
			}
		})
	}
}

func checkRefusals[L interface{ Launch() (Launch, error) }](t *testing.T, good L, edits map[string]func(*L)) {
	t.Helper()
	if _, err := good.Launch(); err != nil {
		t.Fatalf("the shape that the cases vary is refused: %v", err)
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			bad := good
			edit(&bad)
			var want *UnsupportedError
			if l, err := bad.Launch(); !errors.As(err, &want) {
				t.Errorf("got %+v and error %v, want an UnsupportedError", l, err)
			}
		})
	}
}

func TestDeltaGeometry(t *testing.T) {
	step := DeltaStep{BF16, 16, 32, 128, 128, 1e-6, 12352}
	conv := DeltaConv{BF16, 16, 32, 128, 128, 1e-6, 12352, 1}
	scan := DeltaScan{F32, 2, 4, 64, 64, 1e-6, 1032, 4096}
	rows := func(c DeltaConv, n int) DeltaConv {
		c.Rows = n
		return c
	}
	limit := []Limit{{Dim: 1, Offset: 4, Div: 16}}
	checkGeometry(t, []geometry{
		{"step", step, "delta_step_bf16_d128", [3]uint32{32, 1, 1}, 16, nil},
		{"conv of a row", conv, "delta_conv_bf16_d128", [3]uint32{64, 1, 1}, 1, limit},
		{"conv of three rows", rows(conv, 3), "delta_conv_bf16_d128", [3]uint32{64, 1, 1}, 3, limit},
		{"conv of a block", rows(conv, 16), "delta_conv_bf16_d128", [3]uint32{64, 1, 1}, 4, limit},
		{"conv of a block and one", rows(conv, 17), "delta_conv_bf16_d128", [3]uint32{64, 2, 1}, 4, limit},
		{"conv of the most rows", rows(conv, 4096), "delta_conv_bf16_d128", [3]uint32{64, 256, 1}, 4, limit},
		{"scan", scan, "delta_scan_f32_d64", [3]uint32{4, 1, 1}, 8, nil},
	})
}

func TestDeltaRefusals(t *testing.T) {
	checkRefusals(t, DeltaStep{BF16, 2, 4, 64, 64, 1e-6, 776}, map[string]func(*DeltaStep){
		"type":             func(s *DeltaStep) { s.DType = 2 },
		"key size":         func(s *DeltaStep) { s.KeyDim, s.ValueDim = 96, 96 },
		"two sizes":        func(s *DeltaStep) { s.ValueDim = 32 },
		"no key heads":     func(s *DeltaStep) { s.KeyHeads = 0 },
		"no value heads":   func(s *DeltaStep) { s.ValueHeads = 0 },
		"odd sharing":      func(s *DeltaStep) { s.ValueHeads = 3 },
		"too many heads":   func(s *DeltaStep) { s.KeyHeads, s.ValueHeads, s.PStride = 2048, 2048, 1<<20 },
		"short rows":       func(s *DeltaStep) { s.PStride = 775 },
		"rows of millions": func(s *DeltaStep) { s.PStride = 1<<20 + 1 },
		"no eps":           func(s *DeltaStep) { s.Eps = 0 },
		"NaN for eps":      func(s *DeltaStep) { s.Eps = float32(math.NaN()) },
	})
	checkRefusals(t, DeltaConv{BF16, 2, 4, 64, 64, 1e-6, 776, 16}, map[string]func(*DeltaConv){
		"no rows":       func(c *DeltaConv) { c.Rows = 0 },
		"too many rows": func(c *DeltaConv) { c.Rows = MaxRows + 1 },
		"key size":      func(c *DeltaConv) { c.KeyDim = 16 },
	})
	checkRefusals(t, DeltaScan{BF16, 2, 4, 64, 64, 1e-6, 776, 16}, map[string]func(*DeltaScan){
		"no rows":       func(s *DeltaScan) { s.Rows = -1 },
		"too many rows": func(s *DeltaScan) { s.Rows = MaxRows + 1 },
		"short rows":    func(s *DeltaScan) { s.PStride = 0 },
	})
}
