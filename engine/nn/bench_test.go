package nn_test

import (
	"fmt"
	"testing"

	"sotto/engine/nn"
	"sotto/engine/state"
	"sotto/kernels"
)

// benchRig is the built-in model with bf16 activations on the fast build.
func benchRig(b *testing.B) (*rig, *state.Session) {
	b.Helper()
	r := newRig(b, openDevice(b, ""), unpack(b, "../../assets/models/qwen-tiny"), kernels.BF16, 1)
	s := r.session()
	if err := s.Grow(512); err != nil {
		b.Fatal(err)
	}
	return r, s
}

// BenchmarkDecode makes one token an iteration, at positions 64 to 447.
func BenchmarkDecode(b *testing.B) {
	r, s := benchRig(b)
	c := r.pass(nn.Options{Rows: 1, Logits: nn.LastLogits, Sampler: nn.Greedy, Context: 256})
	p := s.Step().Params()
	tokens := 0
	for b.Loop() {
		if p.Pos < 64 || p.Pos > 447 {
			p.Pos, p.Rows, p.Active, p.Blocks, p.Greedy, p.Limit = 64, 1, 1, 1, 1, 1<<31
		}
		r.run(c.exec, s)
		tokens++
	}
	seconds := b.Elapsed().Seconds()
	b.ReportMetric(float64(tokens)/seconds, "tok/s")
	b.ReportMetric(float64(tokens)*float64(c.Facts().Bytes)/seconds/1e9, "GB/s")
}

// BenchmarkPrefill reads one chunk an iteration at position 0, without logits.
func BenchmarkPrefill(b *testing.B) {
	for _, rows := range []int{16, 64, 256} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			r, s := benchRig(b)
			c := r.pass(nn.Options{Rows: rows})
			ids := make([]int32, rows)
			for i := range ids {
				ids[i] = int32(7*i + 1)
			}
			passes := 0
			for b.Loop() {
				s.Step().Params().Pos = 0
				r.begin(s, ids)
				r.run(c.exec, s)
				passes++
			}
			b.ReportMetric(float64(passes*rows)/b.Elapsed().Seconds(), "tok/s")
		})
	}
}
