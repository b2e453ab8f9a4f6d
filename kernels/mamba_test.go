package kernels

import (
	"math"
	"testing"
)

var mambaFull = Mamba{
	Heads: 64, Dim: 64, Groups: 8, State: 128, DTMax: float32(math.Inf(1)), PStride: 10304, Rows: 1,
}

func TestMambaGeometry(t *testing.T) {
	rows := mambaFull
	rows.Rows, rows.DType = 33, F32
	checkGeometry(t, []geometry{
		{"step", MambaStep(mambaFull), "mamba_step_bf16_d64_s128", [3]uint32{64, 1, 1}, 8, nil},
		{
			"conv of one row", MambaConv(mambaFull), "mamba_conv_bf16_d64_s128",
			[3]uint32{80, 1, 1},
			1,
			[]Limit{rowLimit(1, 16)},
		},
		{
			"conv", MambaConv(rows), "mamba_conv_f32_d64_s128",
			[3]uint32{80, 3, 1},
			4,
			[]Limit{rowLimit(1, 16)},
		},
		{"scan", MambaScan(rows), "mamba_scan_f32_d64_s128", [3]uint32{64, 1, 1}, 8, nil},
		{
			"norm",
			GroupNorm{Rows: 5, D: 4096, Groups: 8, ZStride: 10304},
			"group_norm_bf16",
			[3]uint32{8, 5, 1},
			1,
			[]Limit{rowLimit(1, 1)},
		},
	})
}

func TestMambaRefusals(t *testing.T) {
	checkRefusals(t, MambaStep(mambaFull), map[string]func(*MambaStep){
		"type":            func(m *MambaStep) { m.DType = 2 },
		"head size":       func(m *MambaStep) { m.Dim = 128 },
		"state size":      func(m *MambaStep) { m.State = 32 },
		"no groups":       func(m *MambaStep) { m.Groups = 0 },
		"uneven groups":   func(m *MambaStep) { m.Groups = 7 },
		"more groups":     func(m *MambaStep) { m.Groups = 128 },
		"too many heads":  func(m *MambaStep) { m.Heads, m.PStride = 2048, 1<<20 },
		"short rows":      func(m *MambaStep) { m.PStride-- },
		"limits crossed":  func(m *MambaStep) { m.DTMin, m.DTMax = 1, 0.5 },
		"negative limit":  func(m *MambaStep) { m.DTMin = -1 },
		"limit not known": func(m *MambaStep) { m.DTMax = float32(math.NaN()) },
	})
	checkRefusals(t, MambaScan(mambaFull), map[string]func(*MambaScan){
		"no rows":       func(m *MambaScan) { m.Rows = 0 },
		"too many rows": func(m *MambaScan) { m.Rows = MaxRows + 1 },
	})
	checkRefusals(t, MambaConv(mambaFull), map[string]func(*MambaConv){
		"no rows": func(m *MambaConv) { m.Rows = 0 },
	})
	checkRefusals(t, GroupNorm{Rows: 1, D: 256, Groups: 2, ZStride: 256}, map[string]func(*GroupNorm){
		"no groups":     func(g *GroupNorm) { g.Groups = 0 },
		"uneven groups": func(g *GroupNorm) { g.Groups = 3 },
		"small groups":  func(g *GroupNorm) { g.Groups = 16 },
		"short gates":   func(g *GroupNorm) { g.ZStride = 255 },
		"no rows":       func(g *GroupNorm) { g.Rows = 0 },
	})
}
