package kernels

import (
	"encoding/binary"
	"errors"
	"testing"
)

func TestGemvGeometry(t *testing.T) {
	row := func(div uint32) []Limit { return []Limit{{Dim: 1, Offset: 4, Div: div}} }
	cases := []geometry{
		{
			"one output",
			Gemv{Format: Q4, DType: BF16, Rows: 1, N: 1, K: 64},
			"gemv_store_q4_bf16_m1",
			[3]uint32{1, 1, 1},
			2, nil,
		},
		{
			"whole groups",
			Gemv{Format: Q4, DType: BF16, Rows: 1, N: 2048, K: 4096, Epilogue: Residual},
			"gemv_add_q4_bf16_m1",
			[3]uint32{256, 1, 1},
			2, nil,
		},
		{
			"ragged outputs",
			Gemv{Format: Q8, DType: BF16, Rows: 1, N: 257, K: 2048, Epilogue: StoreF32},
			"gemv_f32_q8_bf16_m1",
			[3]uint32{33, 1, 1},
			2, nil,
		},
		{
			"f32 out of f32",
			Gemv{Format: B16, DType: F32, Rows: 1, N: 8, K: 64, Epilogue: StoreF32},
			"gemv_store_b16_f32_m1",
			[3]uint32{1, 1, 1},
			2, nil,
		},
		{
			"five rows",
			Gemv{Format: B16, DType: BF16, Rows: 5, N: 9, K: 64},
			"gemv_store_b16_bf16_m5",
			[3]uint32{2, 1, 1},
			2, nil,
		},
		{
			"five rows of f32",
			Gemv{Format: Q4, DType: F32, Rows: 5, N: 9, K: 64},
			"gemv_store_q4_f32_m4",
			[3]uint32{2, 2, 1},
			2, row(4),
		},
		{
			"two rows of f32",
			Gemv{Format: Q4, DType: F32, Rows: 2, N: 9, K: 64},
			"gemv_store_q4_f32_m4",
			[3]uint32{2, 1, 1},
			2, nil,
		},
		{
			"prefill",
			Gemv{Format: Q4, DType: BF16, Rows: 4096, N: 12352, K: 2048},
			"gemv_store_q4_bf16_m4",
			[3]uint32{1544, 1024, 1},
			2, row(4),
		},
		{
			"last row of a chunk",
			Gemv{Format: Q4, DType: BF16, Rows: 256, N: 8, K: 64, Last: true},
			"gemv_store_q4_bf16_m1",
			[3]uint32{1, 1, 1},
			2, nil,
		},
		{
			"gate and up",
			GateUp{Format: Q4, DType: BF16, Rows: 16, I: 512, K: 2048},
			"gate_up_q4_bf16_m4",
			[3]uint32{128, 4, 1},
			2, row(4),
		},
		{
			"one gated output",
			GateUp{Format: Q8, DType: F32, Rows: 1, I: 1, K: 64},
			"gate_up_q8_f32_m1",
			[3]uint32{1, 1, 1},
			2, nil,
		},
	}
	checkGeometry(t, cases)
	checkRefused(t, []refusal{
		{"no outputs", Gemv{Rows: 1, K: 64}},
		{"too many outputs", Gemv{Rows: 1, N: 1 << 31, K: 64}},
		{"ragged inputs", Gemv{Rows: 1, N: 8, K: 100}},
		{"no inputs", Gemv{Rows: 1, N: 8}},
		{"format", Gemv{Format: 3, Rows: 1, N: 8, K: 64}},
		{"activation type", Gemv{DType: 2, Rows: 1, N: 8, K: 64}},
		{"epilogue", Gemv{Epilogue: 3, Rows: 1, N: 8, K: 64}},
		{"no rows", Gemv{N: 8, K: 64}},
		{"too many rows", Gemv{Rows: MaxRows + 1, N: 8, K: 64}},
		{"short x", Gemv{Rows: 1, N: 8, K: 64, XStride: 56}},
		{"unaligned x", Gemv{Rows: 1, N: 8, K: 64, XStride: 65}},
		{"short y", Gemv{Rows: 1, N: 8, K: 64, YStride: 7}},
		{"gated without outputs", GateUp{Rows: 1, K: 64}},
		{"gated with ragged inputs", GateUp{Rows: 1, I: 4, K: 65}},
		{"gated with too many outputs", GateUp{Rows: 1, I: 1 << 30, K: 64}},
		{"gated without rows", GateUp{I: 4, K: 64}},
	})
}

// The parameters are what the kernel reads: strides default to whole rows.
func TestGemvParams(t *testing.T) {
	for _, c := range []struct {
		gemv Gemv
		want GemvParams
	}{
		{Gemv{Rows: 2, N: 8, K: 64}, GemvParams{N: 8, K: 64, XStride: 64, YStride: 8}},
		{
			Gemv{Rows: 2, N: 8, K: 64, XStride: 72, YStride: 9, Last: true},
			GemvParams{N: 8, K: 64, XStride: 72, YStride: 9, Last: 1},
		},
	} {
		l, err := c.gemv.Launch()
		if err != nil {
			t.Fatal(err)
		}
		var got GemvParams
		if _, err := binary.Decode(l.Params, binary.LittleEndian, &got); err != nil || got != c.want {
			t.Errorf("%+v: parameters %+v (%v), want %+v", c.gemv, got, err, c.want)
		}
	}
}

// Arguments are declared as the kernels use them: the residual is read, other outputs are only written.
func TestGemvArguments(t *testing.T) {
	for _, c := range []struct {
		gemv Gemv
		args int
		last Arg
	}{
		{Gemv{Format: Q4, Rows: 1, N: 8, K: 64}, 6, Arg{"y", Write}},
		{Gemv{Format: B16, Rows: 1, N: 8, K: 64}, 4, Arg{"y", Write}},
		{Gemv{Format: Q8, Rows: 1, N: 8, K: 64, Epilogue: Residual}, 6, Arg{"y", ReadWrite}},
	} {
		l, err := c.gemv.Launch()
		if err != nil {
			t.Fatal(err)
		}
		args := l.Kernel.Args
		if len(args) != c.args || args[0] != (Arg{StepArg, Read}) || args[len(args)-1] != c.last {
			t.Errorf("%+v: arguments %v", c.gemv, args)
		}
	}
}

// refusal is a shape that no kernel covers.
type refusal struct {
	name string
	make launcher
}

func checkRefused(t *testing.T, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var want *UnsupportedError
			if _, err := c.make.Launch(); !errors.As(err, &want) {
				t.Errorf("error %v, want an UnsupportedError", err)
			}
		})
	}
}

// launch makes a launcher of a method.
type launch func() (Launch, error)

func (l launch) Launch() (Launch, error) { return l() }
