package kernels

import (
	"fmt"
	"slices"
)

// Geometry of the Mamba-2 family.
const (
	mambaColumns  = 8  // rows of the state of a simdgroup: at 32 lanes four lanes share one
	mambaConvRows = 16 // rows of a MambaConv threadgroup
	mambaConvSGs  = 4  // simdgroups of a MambaConv threadgroup, a row each in turn
	mambaHeads    = 1024
)

// mambaKernels is this family's part of the catalogue.
func mambaKernels() []Kernel {
	var all []Kernel
	for _, d := range []DType{BF16, F32} {
		for _, dim := range mambaDims() {
			for _, state := range mambaStates() {
				all = append(all, mambaStepKernel(d, dim, state), mambaConvKernel(d, dim, state),
					mambaScanKernel(d, dim, state))
			}
		}
		all = append(all, groupNormKernel(d))
	}
	return all
}

// mambaDims are the head sizes that have instantiations, mambaStates the state sizes.
func mambaDims() []int   { return []int{32, 64} }
func mambaStates() []int { return []int{64, 128} }

// Mamba is the shape that the Mamba-2 kernels share. Row r of p starts at element r*PStride and holds z | x | B | C |
// dt: Heads*Dim gates, then C = Heads*Dim + 2*Groups*State channels of the convolution, then Heads time steps.
type Mamba struct {
	DType   DType
	Heads   int
	Dim     int // of a head: 32 or 64
	Groups  int // of B and C, a divisor of Heads: head h uses group h/(Heads/Groups)
	State   int // 64 or 128
	DTMin   float32
	DTMax   float32 // time steps are clamped to DTMin to DTMax; 0 and +Inf for no clamp
	PStride int     // elements between rows of p, at least C + Heads*(Dim+1)
	Rows    int     // MambaConv and MambaScan only, 1 to MaxRows
}

// MambaParams are the sizes that the kernels share.
type MambaParams struct {
	Heads  uint32
	Groups uint32
	Stride uint32 // elements between rows of p
	DTMin  float32
	DTMax  float32
}

// MambaStep is one decode row of a Mamba-2 mixer, from the input projection to the input of the gated norm: causal
// convolution of width 4 with bias and SiLU, dt = clamp(softplus(dt + dt_bias)), S = exp(-exp(a_log) dt) S + (dt x)
// B^T, y = S C + d x. Args after step:
//
//	p           T[PStride]
//	conv_w      bf16[C][4]
//	conv_b      bf16[C]
//	conv_state  T[slots][2][3][C] read and written: half Parity&1 is read, the other one written, oldest row first
//	a_log       f32[Heads]
//	dt_bias     f32[Heads]
//	d           f32[Heads]
//	s           f32[slots][Heads][Dim][State] read and written
//	y           T[Heads*Dim]
type MambaStep Mamba

// Launch returns the dispatch: a threadgroup a head.
func (m MambaStep) Launch() (Launch, error) {
	if err := Mamba(m).check("mamba_step"); err != nil {
		return Launch{}, err
	}
	k := mambaStepKernel(m.DType, m.Dim, m.State)
	return Launch{
		Kernel: &k, Params: pack(Mamba(m).params()), Grid: [3]uint32{uint32(m.Heads), 1, 1},
		Simdgroups: uint32(m.Dim / mambaColumns),
	}, nil
}

// MambaConv is the first half of MambaStep for many rows: convolution and time steps. Args after step: p
// T[rows][PStride], conv_w, conv_b, conv_state (read and written), a_log, dt_bias, xbc T[rows][C], gates
// f32[rows][Heads][2] (decay and dt).
type MambaConv Mamba

// Launch returns the dispatch: grid (heads of x and groups of B and C, blocks of rows).
func (m MambaConv) Launch() (Launch, error) {
	const op = "mamba_conv"
	if err := Mamba(m).checkMany(op); err != nil {
		return Launch{}, err
	}
	k := mambaConvKernel(m.DType, m.Dim, m.State)
	return Launch{
		Kernel: &k, Params: pack(Mamba(m).params()),
		Grid:       [3]uint32{uint32(m.Heads + 2*m.Groups), ceilDiv(m.Rows, mambaConvRows), 1},
		Simdgroups: uint32(min(m.Rows, mambaConvSGs)), Limits: []Limit{rowLimit(1, mambaConvRows)},
	}, nil
}

// MambaScan is the second half of MambaStep for many rows: the recurrence with the state held in registers through
// all rows. MambaConv and MambaScan are bit-equal to MambaStep row by row. Args after step: xbc T[rows][C], gates
// f32[rows][Heads][2], d f32[Heads], s (read and written), y T[rows][Heads*Dim].
type MambaScan Mamba

// Launch returns the dispatch: a threadgroup a head.
func (m MambaScan) Launch() (Launch, error) {
	if err := Mamba(m).checkMany("mamba_scan"); err != nil {
		return Launch{}, err
	}
	k := mambaScanKernel(m.DType, m.Dim, m.State)
	return Launch{
		Kernel: &k, Params: pack(Mamba(m).params()), Grid: [3]uint32{uint32(m.Heads), 1, 1},
		Simdgroups: uint32(m.Dim / mambaColumns),
	}, nil
}

func (m Mamba) params() MambaParams {
	return MambaParams{uint32(m.Heads), uint32(m.Groups), uint32(m.PStride), m.DTMin, m.DTMax}
}

func (m Mamba) checkMany(op string) error {
	if err := m.check(op); err != nil {
		return err
	}
	return checkRows(op, m.Rows)
}

func (m Mamba) check(op string) error {
	switch {
	case m.DType > F32:
		return unsupported(op, "type %d", m.DType)
	case !slices.Contains(mambaDims(), m.Dim) || !slices.Contains(mambaStates(), m.State):
		return unsupported(op, "heads of %d with state %d, want one of %v and of %v", m.Dim, m.State, mambaDims(),
			mambaStates())
	case m.Groups < 1 || m.Heads > mambaHeads || m.Heads < m.Groups || m.Heads%m.Groups != 0:
		return unsupported(op, "%d heads in %d groups", m.Heads, m.Groups)
	case !(m.DTMin >= 0) || !(m.DTMax >= m.DTMin):
		return unsupported(op, "time steps from %v to %v", m.DTMin, m.DTMax)
	}
	least := m.Heads*(2*m.Dim+1) + 2*m.Groups*m.State
	if m.PStride < least || m.PStride > 1<<20 {
		return unsupported(op, "rows of %d projections, want at least %d", m.PStride, least)
	}
	return nil
}

// GroupNormParams is buffer 0 of group_norm_*.
type GroupNormParams struct {
	D      uint32 // elements of a row
	Groups uint32
	Stride uint32 // elements between rows of z
	Eps    float32
}

// GroupNorm is the gated norm of a Mamba-2 mixer: u = y * silu(z); out = u / sqrt(mean of u^2 over its group + Eps) *
// w. Args after step: y T[Rows][D], z T[Rows][ZStride] (the first D elements of a row), w bf16[D], out T[Rows][D].
type GroupNorm struct {
	DType   DType
	Rows    int // 1 to MaxRows
	D       int
	Groups  int // D/Groups is a multiple of 32, at most 8192
	ZStride int // at least D
	Eps     float32
}

// Launch returns the dispatch: a simdgroup a group.
func (g GroupNorm) Launch() (Launch, error) {
	const op = "group_norm"
	if err := checkRow(op, g.DType, g.Rows, g.D, g.Eps); err != nil {
		return Launch{}, err
	}
	switch {
	case g.Groups < 1 || g.D%g.Groups != 0 || g.D/g.Groups%32 != 0 || g.D/g.Groups > 8192:
		return Launch{}, unsupported(op, "%d elements in %d groups", g.D, g.Groups)
	case g.ZStride < g.D || g.ZStride > maxExtent:
		return Launch{}, unsupported(op, "rows of %d gates for %d elements", g.ZStride, g.D)
	}
	k := groupNormKernel(g.DType)
	return Launch{
		Kernel: &k, Params: pack(GroupNormParams{uint32(g.D), uint32(g.Groups), uint32(g.ZStride), g.Eps}),
		Grid: [3]uint32{uint32(g.Groups), uint32(g.Rows), 1}, Simdgroups: 1, Limits: []Limit{rowLimit(1, 1)},
	}, nil
}

func mambaStepKernel(d DType, dim, state int) Kernel {
	return Kernel{
		Name: fmt.Sprintf("mamba_step_%s_d%d_s%d", d, dim, state), File: "mamba.metal", Params: MambaParams{},
		Args: []Arg{
			{StepArg, Read},
			{"row", Read},
			{"conv_w", Read},
			{"conv_b", Read},
			{"conv_state", ReadWrite},
			{"a_log", Read},
			{"dt_bias", Read},
			{"d", Read},
			{"s", ReadWrite},
			{"y", Write},
		},
	}
}

func mambaConvKernel(d DType, dim, state int) Kernel {
	return Kernel{
		Name: fmt.Sprintf("mamba_conv_%s_d%d_s%d", d, dim, state), File: "mamba_rows.metal", Params: MambaParams{},
		Args: []Arg{
			{StepArg, Read},
			{"rows", Read},
			{"conv_w", Read},
			{"conv_b", Read},
			{"conv_state", ReadWrite},
			{"a_log", Read},
			{"dt_bias", Read},
			{"xbc", Write},
			{"gates", Write},
		},
	}
}

func mambaScanKernel(d DType, dim, state int) Kernel {
	return Kernel{
		Name: fmt.Sprintf("mamba_scan_%s_d%d_s%d", d, dim, state), File: "mamba_rows.metal", Params: MambaParams{},
		Args: []Arg{
			{StepArg, Read},
			{"xbc", Read},
			{"gates", Read},
			{"d", Read},
			{"s", ReadWrite},
			{"y", Write},
		},
	}
}

func groupNormKernel(d DType) Kernel {
	return Kernel{
		Name: fmt.Sprintf("group_norm_%s", d), File: "mamba.metal", Params: GroupNormParams{},
		Args: []Arg{{StepArg, Read}, {"y", Read}, {"z", Read}, {"w", Read}, {"out", Write}},
	}
}
