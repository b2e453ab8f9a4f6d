package kernels

import (
	"math"
	"testing"
)

func TestNormGeometry(t *testing.T) {
	rows := []Limit{{Dim: 0, Offset: 4, Div: 1}}
	checkGeometry(t, []geometry{
		{"one row", RMSNorm{DType: BF16, Rows: 1, D: 2048}, "rms_norm_bf16", [3]uint32{1, 1, 1}, 8, nil},
		{"short row", RMSNorm{DType: F32, Rows: 5, D: 8}, "rms_norm_f32", [3]uint32{5, 1, 1}, 1, rows},
		{"ragged row", RMSNorm{DType: F32, Rows: 1, D: 264}, "rms_norm_f32", [3]uint32{1, 1, 1}, 2, nil},
		{"longest row", RMSNorm{DType: BF16, Rows: 1, D: 1 << 20}, "rms_norm_bf16", [3]uint32{1, 1, 1}, 32, nil},
		{"chunk", RMSNorm{DType: BF16, Rows: 4096, D: 256}, "rms_norm_bf16", [3]uint32{4096, 1, 1}, 1, rows},
		{"last", RMSNorm{DType: BF16, Rows: 4096, D: 256, Last: true}, "rms_norm_bf16", [3]uint32{1, 1, 1}, 1, nil},
		{"embed", Embed{Format: Q4, DType: BF16, Rows: 1, N: 9, D: 2048}, "embed_q4_bf16", [3]uint32{1, 1, 1}, 8, nil},
		{
			"embed rows",
			Embed{Format: B16, DType: F32, Rows: 16, N: 9, D: 64},
			"embed_b16_f32",
			[3]uint32{16, 1, 1},
			1, rows,
		},
	})
	nan := float32(math.NaN())
	checkRefused(t, []refusal{
		{"no elements", RMSNorm{Rows: 1}},
		{"ragged elements", RMSNorm{Rows: 1, D: 12}},
		{"no rows", RMSNorm{D: 64}},
		{"too many rows", RMSNorm{Rows: MaxRows + 1, D: 64}},
		{"activation type", RMSNorm{DType: 2, Rows: 1, D: 64}},
		{"negative eps", RMSNorm{Rows: 1, D: 64, Eps: -1}},
		{"eps that is no number", RMSNorm{Rows: 1, D: 64, Eps: nan}},
		{"empty table", Embed{Rows: 1, D: 64}},
		{"table of ragged rows", Embed{Rows: 1, N: 4, D: 72}},
		{"table without rows to read", Embed{N: 4, D: 64}},
	})
}
