package kernels

import (
	"encoding/binary"
	"math"
	"math/big"
	"testing"
)

func TestAttentionGeometry(t *testing.T) {
	qwen := Attention{
		DType: BF16, Heads: 16, KVHeads: 2, Dim: 256, Gate: true, QKNorm: true, Rotary: 64, Theta: 1e7,
		Eps: 1e-6, PStride: 9216, MaxBlocks: 16,
	}
	nemotron := Attention{DType: BF16, Heads: 32, KVHeads: 2, Dim: 128, PStride: 4608, MaxBlocks: 1024}
	tiny := Attention{DType: F32, Heads: 8, KVHeads: 2, Dim: 64, PStride: 768, MaxBlocks: 1}
	rows := func(a Attention, n int) Attention {
		a.Rows = n
		return a
	}
	shared := func(a Attention, heads, keys, dim int) Attention {
		a.Heads, a.KVHeads, a.Dim, a.PStride = heads, keys, dim, (heads+2*keys)*dim
		return a
	}
	blocks := []Limit{{Dim: 1, Offset: 16, Div: 1}}
	tiles := func(dim int, div uint32) []Limit { return []Limit{{Dim: dim, Offset: 4, Div: div}} }
	checkGeometry(t, []geometry{
		{"decode", AttnDecode(qwen), "attn_decode_bf16_d256", [3]uint32{2, 16, 1}, 4, blocks},
		{"decode of many blocks", AttnDecode(nemotron), "attn_decode_bf16_d128", [3]uint32{2, 256, 1}, 4, blocks},
		{"decode of one block", AttnDecode(tiny), "attn_decode_f32_d64", [3]uint32{2, 1, 1}, 4, blocks},
		{"merge", AttnMerge(qwen), "attn_merge_bf16_d256", [3]uint32{16, 1, 1}, 4, nil},
		{"merge of a slice", AttnMerge(tiny), "attn_merge_f32_d64", [3]uint32{8, 1, 1}, 1, nil},
		{"merge of half a slice", AttnMerge(shared(tiny, 1, 1, 32)), "attn_merge_f32_d32", [3]uint32{1, 1, 1}, 1, nil},
		{"store", AttnStore(rows(qwen, 5)), "attn_store_bf16_d256", [3]uint32{5, 5, 1}, 4, tiles(1, 1)},
		{
			"store of odd heads", AttnStore(rows(shared(tiny, 3, 1, 32), 4096)), "attn_store_f32_d32",
			[3]uint32{2, 4096, 1},
			4, tiles(1, 1),
		},
		{"rows", AttnRows(rows(qwen, 64)), "attn_rows_bf16_d256", [3]uint32{64, 2, 1}, 4, tiles(0, 1)},
		{"rows of 16 heads", AttnRows(rows(nemotron, 64)), "attn_rows_bf16_d128", [3]uint32{64, 2, 1}, 4, tiles(0, 1)},
		{"four rows a tile", AttnRows(rows(tiny, 5)), "attn_rows_f32_d64", [3]uint32{2, 2, 1}, 4, tiles(0, 4)},
		{
			"five rows a tile", AttnRows(rows(shared(tiny, 3, 1, 64), 16)), "attn_rows_f32_d64",
			[3]uint32{4, 1, 1},
			4,
			tiles(0, 5),
		},
		{
			"groups of heads", AttnRows(rows(shared(tiny, 20, 1, 256), 3)), "attn_rows_f32_d256",
			[3]uint32{3, 1, 3},
			4,
			tiles(0, 1),
		},
	})
}

func TestAttentionRefusals(t *testing.T) {
	good := Attention{
		Heads: 8, KVHeads: 2, Dim: 64, Gate: true, Rotary: 16, Theta: 1e4, Eps: 1e-6, PStride: 1280,
		MaxBlocks: 4, Rows: 16,
	}
	checkRefusals(t, AttnDecode(good), map[string]func(*AttnDecode){
		"type":             func(a *AttnDecode) { a.DType = 2 },
		"head size":        func(a *AttnDecode) { a.Dim = 96 },
		"no key heads":     func(a *AttnDecode) { a.KVHeads = 0 },
		"no heads":         func(a *AttnDecode) { a.Heads = 0 },
		"odd sharing":      func(a *AttnDecode) { a.KVHeads = 3 },
		"too many heads":   func(a *AttnDecode) { a.Heads, a.PStride = 2048, 1<<20 },
		"odd rotation":     func(a *AttnDecode) { a.Rotary = 15 },
		"long rotation":    func(a *AttnDecode) { a.Rotary = 66 },
		"less than none":   func(a *AttnDecode) { a.Rotary = -2 },
		"base":             func(a *AttnDecode) { a.Theta = 0.5 },
		"NaN for a base":   func(a *AttnDecode) { a.Theta = math.NaN() },
		"short rows":       func(a *AttnDecode) { a.PStride = 1279 },
		"rows of millions": func(a *AttnDecode) { a.PStride = 1<<20 + 1 },
		"no blocks":        func(a *AttnDecode) { a.MaxBlocks = 0 },
		"too many blocks":  func(a *AttnDecode) { a.MaxBlocks = MaxPages + 1 },
		"eps":              func(a *AttnDecode) { a.QKNorm, a.Eps = true, -1 },
	})
	checkRefusals(t, AttnMerge(good), map[string]func(*AttnMerge){
		"no blocks": func(a *AttnMerge) { a.MaxBlocks = 0 },
		"head size": func(a *AttnMerge) { a.Dim = 16 },
	})
	checkRefusals(t, AttnStore(good), map[string]func(*AttnStore){
		"no rows":   func(a *AttnStore) { a.Rows = 0 },
		"head size": func(a *AttnStore) { a.Dim = 512 },
	})
	checkRefusals(t, AttnRows(good), map[string]func(*AttnRows){
		"too many rows": func(a *AttnRows) { a.Rows = MaxRows + 1 },
		"head size":     func(a *AttnRows) { a.Dim = 0 },
	})
}

// TestTurns compares the packed angles with a computation of 200 bits at the last position of the longest window.
func TestTurns(t *testing.T) {
	const rotary, theta, pos = 64, 1e7, MaxPages*KeyBlock - 1
	a := Attention{Heads: 1, KVHeads: 1, Dim: 64, Rotary: rotary, Theta: theta, Eps: 1e-6, PStride: 192, MaxBlocks: 1}
	l, err := AttnDecode(a).Launch()
	if err != nil {
		t.Fatal(err)
	}
	var p AttnParams
	if _, err := binary.Decode(l.Params, binary.LittleEndian, &p); err != nil {
		t.Fatal(err)
	}
	// pi to 60 digits.
	const digits = "3.14159265358979323846264338327950288419716939937510582097494"
	pi, _, err := big.ParseFloat(digits, 10, 200, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rotary / 2 {
		frequency := math.Pow(theta, -2*float64(i)/rotary)
		turn := new(big.Float).SetPrec(200).Quo(big.NewFloat(frequency*pos/2), pi)
		whole, _ := turn.Int64()
		want, _ := turn.Sub(turn, new(big.Float).SetInt64(whole)).Float64()
		got := float64(uint32(pos)*p.TurnHi[i]+uint32(uint64(pos)*uint64(p.TurnLo[i])>>32)) / (1 << 32)
		if d := math.Abs(got - want); math.Min(d, 1-d) > 1e-9 {
			t.Errorf("pair %d: got %.12f of a turn, want %.12f", i, got, want)
		}
	}
	if p.TurnHi[rotary/2] != 0 || p.Pairs != rotary/2 {
		t.Errorf("%d pairs and %d beyond them", p.Pairs, p.TurnHi[rotary/2])
	}
}
