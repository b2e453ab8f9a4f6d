package kernels

import (
	"errors"
	"testing"
)

// launcher is a constructor of this family.
type launcher interface{ Launch() (Launch, error) }

func TestMoEGeometry(t *testing.T) {
	row := func(dim int, div uint32) Limit { return Limit{Dim: dim, Offset: 4, Div: div} }
	cases := []struct {
		name   string
		make   launcher
		kernel string
		grid   [3]uint32
		groups uint32
		limits []Limit
	}{
		{
			"topk one row",
			RouteTopK{Experts: 8, TopK: 4, Rows: 1, Stride: 9},
			"route_topk_e64",
			[3]uint32{1, 1, 1},
			1,
			[]Limit{row(0, 1)},
		},
		{
			"topk five rows",
			RouteTopK{Experts: 256, TopK: 8, Rows: 5, Stride: 257},
			"route_topk_e256",
			[3]uint32{2, 1, 1},
			4,
			[]Limit{row(0, 4)},
		},
		{
			"topk most",
			RouteTopK{Experts: 257, TopK: 16, Rows: 4096, Stride: 257},
			"route_topk_e512",
			[3]uint32{1024, 1, 1},
			4,
			[]Limit{row(0, 4)},
		},
		{
			"hist",
			RouteHist{Experts: 256, TopK: 8, Rows: 64},
			"route_hist",
			[3]uint32{2, 1, 1},
			1,
			[]Limit{row(0, 32)},
		},
		{
			"hist of a part",
			RouteHist{Experts: 256, TopK: 8, Rows: 16},
			"route_hist",
			[3]uint32{1, 1, 1},
			1,
			[]Limit{row(0, 32)},
		},
		{
			"scan",
			RouteScan{Experts: 256, TopK: 8, Rows: 4096},
			"route_scan",
			[3]uint32{1, 1, 1},
			8, nil,
		},
		{
			"scatter",
			RouteScatter{Experts: 256, TopK: 8, Rows: 4096},
			"route_scatter",
			[3]uint32{128, 1, 1},
			1,
			[]Limit{row(0, 32)},
		},
		{
			"gate/up",
			ExpertGateUp{Format: Q4, DType: BF16, Rows: 5, TopK: 8, Experts: 256, I: 512, K: 2048},
			"expert_gateup_q4_bf16",
			[3]uint32{128, 8, 5},
			2,
			[]Limit{row(2, 1)},
		},
		{
			"gate/up of one output",
			ExpertGateUp{Format: Q8, DType: F32, Rows: 1, TopK: 1, Experts: 1, I: 1, K: 64},
			"expert_gateup_q8_f32",
			[3]uint32{1, 1, 1},
			2,
			[]Limit{row(2, 1)},
		},
		{
			"down",
			ExpertDown{Format: B16, DType: BF16, Rows: 2, TopK: 8, Experts: 256, N: 2049, K: 512, Stride: 257},
			"expert_down_b16_bf16",
			[3]uint32{257, 2, 1},
			2,
			[]Limit{row(1, 1)},
		},
		{
			"gate/up rows",
			ExpertGateUpRows{DType: F32, Rows: 4096, TopK: 8, Experts: 256, I: 512, K: 2048},
			"expert_gateup_rows_q4_f32",
			[3]uint32{128, 8, 1048},
			2,
			[]Limit{row(2, 1)},
		},
		{
			"down rows",
			ExpertDownRows{DType: BF16, Rows: 16, TopK: 3, Experts: 8, N: 256, K: 128},
			"expert_down_rows_q4_bf16",
			[3]uint32{32, 3, 6},
			2,
			[]Limit{row(2, 1)},
		},
		{
			"combine",
			CombineRows{DType: BF16, Rows: 64, TopK: 8, Experts: 256, N: 2048, Stride: 257},
			"combine_rows_bf16",
			[3]uint32{16, 64, 1},
			2,
			[]Limit{row(1, 1)},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			l, err := c.make.Launch()
			if err != nil {
				t.Fatal(err)
			}
			if l.Kernel.Name != c.kernel || Lookup(c.kernel) == nil {
				t.Errorf("kernel %s, want %s in the catalogue", l.Kernel.Name, c.kernel)
			}
			if l.Grid != c.grid || l.Simdgroups != c.groups {
				t.Errorf("grid %v of %d simdgroups, want %v of %d", l.Grid, l.Simdgroups, c.grid, c.groups)
			}
			if len(l.Limits) != len(c.limits) {
				t.Fatalf("limits %v, want %v", l.Limits, c.limits)
			}
			for i, want := range c.limits {
				if l.Limits[i] != want {
					t.Errorf("limit %v, want %v", l.Limits[i], want)
				}
			}
		})
	}
}

func TestMoERefusals(t *testing.T) {
	up := ExpertGateUp{Rows: 1, TopK: 2, Experts: 4, I: 64, K: 64}
	down := ExpertDown{Rows: 1, TopK: 2, Experts: 4, N: 64, K: 64, Stride: 5}
	cases := []struct {
		name string
		make launcher
	}{
		{"no experts", RouteTopK{Experts: 0, TopK: 1, Rows: 1, Stride: 1}},
		{"too many experts", RouteTopK{Experts: 513, TopK: 1, Rows: 1, Stride: 513}},
		{"no choice", RouteTopK{Experts: 4, TopK: 0, Rows: 1, Stride: 4}},
		{"more choices than experts", RouteTopK{Experts: 4, TopK: 5, Rows: 1, Stride: 4}},
		{"too many choices", RouteTopK{Experts: 64, TopK: 17, Rows: 1, Stride: 64}},
		{"short stride", RouteTopK{Experts: 64, TopK: 8, Rows: 1, Stride: 63}},
		{"no rows", RouteTopK{Experts: 64, TopK: 8, Rows: 0, Stride: 64}},
		{"too many rows", RouteHist{Experts: 64, TopK: 8, Rows: MaxRows + 1}},
		{"scan", RouteScan{Experts: 4, TopK: 5, Rows: 1}},
		{"scatter", RouteScatter{Experts: 4, TopK: 2, Rows: -1}},
		{"six rows", ExpertGateUp{Rows: 6, TopK: 2, Experts: 4, I: 64, K: 64}},
		{"odd inputs", ExpertGateUp{Rows: 1, TopK: 2, Experts: 4, I: 64, K: 96}},
		{"no outputs", ExpertGateUp{Rows: 1, TopK: 2, Experts: 4, I: 0, K: 64}},
		{"format", ExpertGateUp{Format: 3, Rows: 1, TopK: 2, Experts: 4, I: 64, K: 64}},
		{"type", ExpertGateUp{DType: 2, Rows: 1, TopK: 2, Experts: 4, I: 64, K: 64}},
		{"no gate in the logits", ExpertDown{Rows: 1, TopK: 2, Experts: 4, N: 64, K: 64, Stride: 4}},
		{"down of six rows", ExpertDown{Rows: 6, TopK: 2, Experts: 4, N: 64, K: 64, Stride: 5}},
		{"rows of odd inputs", ExpertDownRows{Rows: 16, TopK: 2, Experts: 4, N: 64, K: 32}},
		{"too many rows of gate/up", ExpertGateUpRows{Rows: 5000, TopK: 2, Experts: 4, I: 64, K: 64}},
		{"combine without gate", CombineRows{Rows: 16, TopK: 2, Experts: 4, N: 64, Stride: 4}},
	}
	for _, l := range []launcher{up, down} {
		if _, err := l.Launch(); err != nil {
			t.Fatalf("the shape that the cases vary is refused: %v", err)
		}
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.make.Launch()
			var want *UnsupportedError
			if !errors.As(err, &want) {
				t.Errorf("error %v, want an UnsupportedError", err)
			}
		})
	}
}

// The bound is what the worst spread of slots needs.
func TestMaxTiles(t *testing.T) {
	for _, c := range []struct{ experts, topK, rows, want int }{
		{1, 1, 1, 1},
		{1, 1, 4, 1},
		{1, 1, 5, 2},
		{8, 4, 1, 4},
		{8, 8, 1, 8},
		{256, 8, 1, 8},
		{256, 8, 32, 256},
		{256, 8, 4096, 8384},
		{512, 16, 4096, 16768},
	} {
		if got := MaxTiles(c.experts, c.topK, c.rows); got != c.want {
			t.Errorf("%d experts, top %d, %d rows: %d tiles, want %d", c.experts, c.topK, c.rows, got, c.want)
		}
		// Give every expert one slot, then let each take whole tiles more and the last what is left.
		slots := c.rows * c.topK
		used := min(c.experts, slots)
		rest := slots - used
		tiles := used + rest/ExpertTile
		if got := MaxTiles(c.experts, c.topK, c.rows); tiles != got {
			t.Errorf("%d experts, top %d, %d rows: %d tiles in the worst case, bound %d",
				c.experts, c.topK, c.rows, tiles, got)
		}
	}
}
