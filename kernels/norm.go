package kernels

import "fmt"

// NormParams is buffer 0 of rms_norm_*.
type NormParams struct {
	D    uint32  // elements of a row
	Eps  float32 // added to the mean square
	Last uint32  // 1: x row rows-1 is the only row, y row 0 receives it
}

// RMSNorm scales rows: y = x * w / sqrt(mean(x^2) + Eps). Buffers after step: x T[Rows][D], w bf16[D],
// y T[Rows][D]; y must not be x. f32 inside, one rounding (Zhang and Sennrich, arXiv 1910.07467, without the sum).
type RMSNorm struct {
	DType   DType
	Rows, D int
	Eps     float32
	Last    bool // read row rows-1 of x only and write row 0 of y
}

// Launch is the dispatch of n.
func (n RMSNorm) Launch() (Launch, error) {
	const op = "rms_norm"
	if err := checkRow(op, n.DType, n.Rows, n.D, n.Eps); err != nil {
		return Launch{}, err
	}
	p := NormParams{D: uint32(n.D), Eps: n.Eps}
	k := normKernel(n.DType)
	l := Launch{Kernel: &k, Grid: [3]uint32{uint32(n.Rows), 1, 1}, Simdgroups: normSimdgroups(n.D)}
	if n.Last {
		p.Last, l.Grid[0] = 1, 1
	} else if n.Rows > 1 {
		l.Limits = []Limit{rowLimit(0, 1)}
	}
	l.Params = pack(p)
	return l, nil
}

// EmbedParams is buffer 0 of embed_*.
type EmbedParams struct {
	D   uint32  // elements of a row
	N   uint32  // rows of the table; ids at or above it read row 0
	Eps float32 // of the norm
}

// Embed looks up the rows of this pass and applies the first norm: x[r] = row ids[r] of the table, dequantised and
// rounded once; xn[r] = RMSNorm of x[r]. Buffers after step: codes, scales, biases (the last two absent for B16),
// w bf16[D], x T[Rows][D], xn T[Rows][D]. Ids are those of the step buffer. xn equals RMSNorm of x bit for bit.
type Embed struct {
	Format     Format
	DType      DType
	Rows, N, D int // N is the number of rows of the table
	Eps        float32
}

// Launch is the dispatch of e.
func (e Embed) Launch() (Launch, error) {
	const op = "embed"
	if err := checkMatrix(op, e.Format, e.DType, e.N, e.D); err != nil {
		return Launch{}, err
	}
	if err := checkRow(op, e.DType, e.Rows, e.D, e.Eps); err != nil {
		return Launch{}, err
	}
	k := embedKernel(e.Format, e.DType)
	l := Launch{
		Kernel: &k, Params: pack(EmbedParams{D: uint32(e.D), N: uint32(e.N), Eps: e.Eps}),
		Grid: [3]uint32{uint32(e.Rows), 1, 1}, Simdgroups: normSimdgroups(e.D),
	}
	if e.Rows > 1 {
		l.Limits = []Limit{rowLimit(0, 1)}
	}
	return l, nil
}

func checkRow(op string, d DType, rows, n int, eps float32) error {
	switch {
	case d > F32:
		return unsupported(op, "activation type %d", d)
	case rows < 1 || rows > MaxRows:
		return unsupported(op, "%d rows", rows)
	case n < 8 || n > maxExtent || n%8 != 0:
		return unsupported(op, "D=%d is not a positive multiple of 8", n)
	case !(eps >= 0):
		return unsupported(op, "eps=%v", eps)
	}
	return nil
}

// normSimdgroups gives each lane of 32 about 8 elements of a row.
func normSimdgroups(d int) uint32 { return min(ceilDiv(d, 256), 32) }

func normKernel(d DType) Kernel {
	return Kernel{
		Name: fmt.Sprintf("rms_norm_%v", d), File: "norm.metal", Params: NormParams{},
		Args: []Arg{{StepArg, Read}, {"x", Read}, {"w", Read}, {"y", Write}},
	}
}

func embedKernel(f Format, d DType) Kernel {
	args := append([]Arg{{StepArg, Read}}, weightArgs(f)...)
	return Kernel{
		Name: fmt.Sprintf("embed_%v_%v", f, d), File: "norm.metal", Params: EmbedParams{},
		Args: append(args, Arg{"w", Read}, Arg{"x", Write}, Arg{"xn", Write}),
	}
}

// normKernels is this family's part of the catalogue.
func normKernels() []Kernel {
	var list []Kernel
	for _, d := range []DType{BF16, F32} {
		list = append(list, normKernel(d))
		for _, f := range []Format{Q4, Q8, B16} {
			list = append(list, embedKernel(f, d))
		}
	}
	return list
}
