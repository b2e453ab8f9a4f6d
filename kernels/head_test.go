package kernels

import "testing"

func TestHeadGeometry(t *testing.T) {
	checkGeometry(t, []geometry{
		{"one token", Head{Format: Q4, DType: BF16, N: 1, K: 64}, "head_q4_bf16", [3]uint32{1, 1, 1}, 8, nil},
		{"one part", Head{Format: Q8, DType: F32, N: 256, K: 64}, "head_q8_f32", [3]uint32{1, 1, 1}, 8, nil},
		{"ragged", Head{Format: B16, DType: BF16, N: 257, K: 64}, "head_b16_bf16", [3]uint32{2, 1, 1}, 8, nil},
		{"full", Head{Format: Q4, DType: BF16, N: 248320, K: 2048}, "head_q4_bf16", [3]uint32{970, 1, 1}, 8, nil},
	})
	checkRefused(t, []refusal{
		{"no tokens", Head{K: 64}},
		{"ragged inputs", Head{N: 4, K: 63}},
		{"format", Head{Format: 7, N: 4, K: 64}},
	})
	if got := (Head{N: 248320}).Parts(); got != 970 {
		t.Errorf("%d parts of 248,320 logits, want 970", got)
	}
}
