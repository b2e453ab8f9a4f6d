package kernels

import "fmt"

// Geometry of the gated-delta-net family.
const (
	deltaColumns  = 8  // value columns of a simdgroup: at 32 lanes four lanes share a column
	deltaConvRows = 16 // rows of a DeltaConv threadgroup
	deltaConvSGs  = 4  // simdgroups of a DeltaConv threadgroup, a row each in turn
	deltaHeads    = 1024
)

// deltaKernels is this family's part of the catalogue.
func deltaKernels() []Kernel {
	var all []Kernel
	for _, d := range []DType{BF16, F32} {
		for _, dim := range deltaDims() {
			all = append(all, deltaStepKernel(d, dim), deltaConvKernel(d, dim), deltaScanKernel(d, dim))
		}
	}
	return all
}

// deltaDims are the head sizes that have instantiations; keys and values have the same.
func deltaDims() []int { return []int{32, 64, 128} }

// DeltaParams are the sizes that the gated-delta-net kernels share. Row r of p starts at element r*Stride.
type DeltaParams struct {
	KeyHeads   uint32
	ValueHeads uint32
	Stride     uint32 // elements between rows of p
	Eps        float32
}

// DeltaStep is one decode row of a gated delta net, from the projections to the input of the output projection:
// causal convolution of width 4 with SiLU, L2 norm of q and k, gates, delta rule on the recurrent state, gated RMS
// norm. C = 2*KeyHeads*KeyDim + ValueHeads*ValueDim channels. Args after step:
//
//	p           T[PStride], q | k | v | z | b | a
//	conv_w      bf16[C][4]
//	conv_state  T[slots][2][3][C] read and written: half Parity&1 is read, the other one written, oldest row first
//	a_log       f32[ValueHeads]
//	dt_bias     f32[ValueHeads]
//	norm        bf16[ValueDim]
//	s           f32[slots][ValueHeads][ValueDim][KeyDim] read and written
//	y           T[ValueHeads*ValueDim]
type DeltaStep struct {
	DType      DType
	KeyHeads   int
	ValueHeads int // a multiple of KeyHeads: value head h uses key head h/(ValueHeads/KeyHeads)
	KeyDim     int
	ValueDim   int
	Eps        float32 // of both norms; the L2 norm adds it to the sum, the RMS norm to the mean
	PStride    int     // elements between rows of p, at least C + ValueHeads*(ValueDim+2)
}

// Launch returns the dispatch: a threadgroup a value head.
func (s DeltaStep) Launch() (Launch, error) {
	if err := s.check("delta_step"); err != nil {
		return Launch{}, err
	}
	k := deltaStepKernel(s.DType, s.KeyDim)
	return Launch{
		Kernel: &k, Params: pack(s.params()), Grid: [3]uint32{uint32(s.ValueHeads), 1, 1},
		Simdgroups: uint32(s.ValueDim / deltaColumns),
	}, nil
}

// DeltaConv is the first half of DeltaStep for many rows: convolution, norms and gates. Args after step: p
// T[rows][PStride], conv_w, conv_state (read and written), a_log, dt_bias, qkv T[rows][C] (q normalised and divided
// by the root of KeyDim, k normalised), gb f32[rows][ValueHeads][2] (decay and beta).
type DeltaConv struct {
	DType      DType
	KeyHeads   int
	ValueHeads int
	KeyDim     int
	ValueDim   int
	Eps        float32
	PStride    int
	Rows       int // 1 to MaxRows
}

// Launch returns the dispatch: grid (heads of q, k and v, blocks of rows).
func (c DeltaConv) Launch() (Launch, error) {
	const op = "delta_conv"
	if err := c.step().check(op); err != nil {
		return Launch{}, err
	}
	if err := checkRows(op, c.Rows); err != nil {
		return Launch{}, err
	}
	grid := [3]uint32{uint32(2*c.KeyHeads + c.ValueHeads), ceilDiv(c.Rows, deltaConvRows), 1}
	groups := uint32(min(c.Rows, deltaConvSGs))
	k := deltaConvKernel(c.DType, c.KeyDim)
	return Launch{
		Kernel: &k, Params: pack(c.step().params()), Grid: grid,
		Simdgroups: groups, Limits: []Limit{rowLimit(1, deltaConvRows)},
	}, nil
}

func (c DeltaConv) step() DeltaStep {
	return DeltaStep{c.DType, c.KeyHeads, c.ValueHeads, c.KeyDim, c.ValueDim, c.Eps, c.PStride}
}

// DeltaScan is the second half of DeltaStep for many rows: the delta rule with the state held in registers through
// all rows, and the gated RMS norm. DeltaConv and DeltaScan are bit-equal to DeltaStep row by row. Args after step:
// qkv T[rows][C], gb f32[rows][ValueHeads][2], p T[rows][PStride] (z), norm, s (read and written), y
// T[rows][ValueHeads*ValueDim].
type DeltaScan struct {
	DType      DType
	KeyHeads   int
	ValueHeads int
	KeyDim     int
	ValueDim   int
	Eps        float32
	PStride    int
	Rows       int // 1 to MaxRows
}

// Launch returns the dispatch: a threadgroup a value head.
func (s DeltaScan) Launch() (Launch, error) {
	const op = "delta_scan"
	step := DeltaStep{s.DType, s.KeyHeads, s.ValueHeads, s.KeyDim, s.ValueDim, s.Eps, s.PStride}
	if err := step.check(op); err != nil {
		return Launch{}, err
	}
	if err := checkRows(op, s.Rows); err != nil {
		return Launch{}, err
	}
	grid := [3]uint32{uint32(s.ValueHeads), 1, 1}
	k := deltaScanKernel(s.DType, s.KeyDim)
	return Launch{
		Kernel: &k, Params: pack(step.params()), Grid: grid,
		Simdgroups: uint32(s.ValueDim / deltaColumns),
	}, nil
}

func (s DeltaStep) params() DeltaParams {
	return DeltaParams{uint32(s.KeyHeads), uint32(s.ValueHeads), uint32(s.PStride), s.Eps}
}

func (s DeltaStep) check(op string) error {
	known := false
	for _, d := range deltaDims() {
		known = known || s.KeyDim == d
	}
	switch {
	case s.DType > F32:
		return unsupported(op, "type %d", s.DType)
	case !(s.Eps > 0):
		return unsupported(op, "eps %v", s.Eps)
	case !known || s.ValueDim != s.KeyDim:
		return unsupported(op, "key size %d with value size %d, want both of %v",
			s.KeyDim, s.ValueDim, deltaDims())
	case s.KeyHeads < 1 || s.ValueHeads > deltaHeads || s.ValueHeads < s.KeyHeads || s.ValueHeads%s.KeyHeads != 0:
		return unsupported(op, "%d value heads on %d key heads", s.ValueHeads, s.KeyHeads)
	}
	least := 2*s.KeyHeads*s.KeyDim + s.ValueHeads*(2*s.ValueDim+2)
	if s.PStride < least || s.PStride > 1<<20 {
		return unsupported(op, "rows of %d projections, want at least %d", s.PStride, least)
	}
	return nil
}

func deltaStepKernel(d DType, dim int) Kernel {
	return Kernel{
		Name: fmt.Sprintf("delta_step_%s_d%d", d, dim), File: "delta.metal", Params: DeltaParams{},
		Args: []Arg{
			{StepArg, Read},
			{"row", Read},
			{"conv_w", Read},
			{"conv_state", ReadWrite},
			{"a_log", Read},
			{"dt_bias", Read},
			{"norm", Read},
			{"s", ReadWrite},
			{"y", Write},
		},
	}
}

func deltaConvKernel(d DType, dim int) Kernel {
	return Kernel{
		Name: fmt.Sprintf("delta_conv_%s_d%d", d, dim), File: "delta_rows.metal", Params: DeltaParams{},
		Args: []Arg{
			{StepArg, Read},
			{"rows", Read},
			{"conv_w", Read},
			{"conv_state", ReadWrite},
			{"a_log", Read},
			{"dt_bias", Read},
			{"qkv", Write},
			{"gb", Write},
		},
	}
}

func deltaScanKernel(d DType, dim int) Kernel {
	return Kernel{
		Name: fmt.Sprintf("delta_scan_%s_d%d", d, dim), File: "delta_rows.metal", Params: DeltaParams{},
		Args: []Arg{
			{StepArg, Read},
			{"qkv", Read},
			{"gb", Read},
			{"rows", Read},
			{"norm", Read},
			{"s", ReadWrite},
			{"y", Write},
		},
	}
}
