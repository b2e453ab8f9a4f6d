package kernels

import (
	"encoding/binary"
	"fmt"
	"unsafe"
)

// Group is the number of weights along K that share one scale and one bias.
const Group = 64

// Geometry of the row-dot kernels: a simdgroup makes gemvRows output neurons for one tile of activation rows, a
// threadgroup has gemvSimdgroups simdgroups, and row classes above maxExactRows are cut into tiles of gemvTile.
const (
	gemvRows       = 4
	gemvSimdgroups = 2
	gemvTile       = 4
	maxExactRows   = 5
)

// Epilogue says what a Gemv does with its sums.
type Epilogue uint8

// Epilogues of a Gemv. Each rounds once.
const (
	Store    Epilogue = iota // y T = sum
	StoreF32                 // y f32 = sum
	Residual                 // y T += sum
)

// String is the infix that entry points use.
func (e Epilogue) String() string { return [...]string{"store", "f32", "add"}[e] }

// GemvParams is buffer 0 of gemv_*. Strides are in elements.
type GemvParams struct {
	N       uint32 // output neurons
	K       uint32 // inputs
	XStride uint32 // from row to row of x
	YStride uint32 // from row to row of y
	Last    uint32 // 1: x row rows-1 is the only row, y row 0 receives it
}

// Gemv multiplies rows of activations by a weight matrix: y[r][n] = sum_k x[r][k] * w[n][k], for the live rows of
// the pass. Buffers after step: x T[Rows][XStride], codes, scales, biases (the last two absent for B16),
// y[Rows][YStride] (T, or f32 for StoreF32; read and written for Residual).
//
// A row's result does not depend on the row class or on its neighbours. Strides of 0 mean K and N.
type Gemv struct {
	Format           Format
	DType            DType
	Epilogue         Epilogue
	Rows, N, K       int
	XStride, YStride int
	Last             bool // read row rows-1 of x only and write row 0 of y
}

// Launch is the dispatch of g.
func (g Gemv) Launch() (Launch, error) {
	const op = "gemv"
	if g.XStride == 0 {
		g.XStride = g.K
	}
	if g.YStride == 0 {
		g.YStride = g.N
	}
	if err := checkMatrix(op, g.Format, g.DType, g.N, g.K); err != nil {
		return Launch{}, err
	}
	switch {
	case g.Epilogue > Residual:
		return Launch{}, unsupported(op, "epilogue %d", g.Epilogue)
	case g.XStride < g.K || g.XStride%8 != 0 || g.XStride > maxExtent:
		return Launch{}, unsupported(op, "x stride %d for K=%d", g.XStride, g.K)
	case g.YStride < g.N || g.YStride > maxExtent:
		return Launch{}, unsupported(op, "y stride %d for N=%d", g.YStride, g.N)
	}
	m, tiles, err := rowTiles(op, g.DType, g.Rows)
	if err != nil {
		return Launch{}, err
	}
	p := GemvParams{N: uint32(g.N), K: uint32(g.K), XStride: uint32(g.XStride), YStride: uint32(g.YStride)}
	l := Launch{Simdgroups: gemvSimdgroups}
	if g.Last {
		p.Last, m, tiles = 1, 1, 1
	} else if tiles > 1 {
		l.Limits = []Limit{rowLimit(1, m)}
	}
	k := gemvKernel(g.Epilogue, g.Format, g.DType, m)
	l.Kernel, l.Params = &k, pack(p)
	l.Grid = [3]uint32{ceilDiv(g.N, gemvRows*gemvSimdgroups), tiles, 1}
	return l, nil
}

// GateUpParams is buffer 0 of gate_up_*.
type GateUpParams struct {
	I uint32 // outputs: half the number of matrix rows
	K uint32 // inputs
}

// GateUp is the first half of a gated MLP: h[r][i] = silu(g) * u with g, u = rows 2i and 2i+1 of the matrix times
// x[r]; silu(g) = g / (1 + exp(-g)). Buffers after step: x T[Rows][K], codes, scales, biases (the last two absent
// for B16), h T[Rows][I]. f32 inside, one rounding.
type GateUp struct {
	Format     Format
	DType      DType
	Rows, I, K int
}

// Launch is the dispatch of g.
func (g GateUp) Launch() (Launch, error) {
	const op = "gate_up"
	if g.I > maxExtent/2 {
		return Launch{}, unsupported(op, "I=%d", g.I)
	}
	if err := checkMatrix(op, g.Format, g.DType, 2*g.I, g.K); err != nil {
		return Launch{}, err
	}
	m, tiles, err := rowTiles(op, g.DType, g.Rows)
	if err != nil {
		return Launch{}, err
	}
	k := denseGateUpKernel(g.Format, g.DType, m)
	l := Launch{
		Kernel: &k, Params: pack(GateUpParams{I: uint32(g.I), K: uint32(g.K)}),
		Grid:       [3]uint32{ceilDiv(2*g.I, gemvRows*gemvSimdgroups), tiles, 1},
		Simdgroups: gemvSimdgroups,
	}
	if tiles > 1 {
		l.Limits = []Limit{rowLimit(1, m)}
	}
	return l, nil
}

// epilogues lists those of activation type d that are kernels of their own: with f32, StoreF32 is Store.
func epilogues(d DType) []Epilogue {
	if d == F32 {
		return []Epilogue{Store, Residual}
	}
	return []Epilogue{Store, StoreF32, Residual}
}

func gemvKernel(e Epilogue, f Format, d DType, m int) Kernel {
	if d == F32 && e == StoreF32 {
		e = Store
	}
	y := Arg{"y", Write}
	if e == Residual {
		y.Access = ReadWrite
	}
	return Kernel{
		Name: fmt.Sprintf("gemv_%v_%v_%v_m%d", e, f, d, m), File: "gemv.metal", Params: GemvParams{},
		Args: matrixArgs(f, y),
	}
}

func denseGateUpKernel(f Format, d DType, m int) Kernel {
	return Kernel{
		Name: fmt.Sprintf("gate_up_%v_%v_m%d", f, d, m), File: "gemv.metal", Params: GateUpParams{},
		Args: matrixArgs(f, Arg{"h", Write}),
	}
}

// matrixArgs lists the arguments of a kernel that multiplies x by one matrix.
func matrixArgs(f Format, out ...Arg) []Arg {
	args := []Arg{{StepArg, Read}, {"x", Read}}
	return append(append(args, weightArgs(f)...), out...)
}

// weightArgs lists the streams of a weight matrix.
func weightArgs(f Format) []Arg {
	if f == B16 {
		return []Arg{{"codes", Read}}
	}
	return []Arg{{"codes", Read}, {"scales", Read}, {"biases", Read}}
}

// gemvKernels is this family's part of the catalogue.
func gemvKernels() []Kernel {
	var list []Kernel
	for _, f := range []Format{Q4, Q8, B16} {
		for _, d := range []DType{BF16, F32} {
			for _, m := range tileRows(d) {
				for _, e := range epilogues(d) {
					list = append(list, gemvKernel(e, f, d, m))
				}
				list = append(list, denseGateUpKernel(f, d, m))
			}
		}
	}
	return list
}

// maxExtent bounds the sizes and strides that kernels hold in 32 bits; products of two are formed in 64.
const maxExtent = 1<<30 - 1

// checkMatrix refuses a weight matrix or an activation type that no kernel reads.
func checkMatrix(op string, f Format, d DType, n, k int) error {
	switch {
	case f > B16:
		return unsupported(op, "format %d", f)
	case d > F32:
		return unsupported(op, "activation type %d", d)
	case n < 1 || n > maxExtent:
		return unsupported(op, "N=%d", n)
	case k < Group || k > maxExtent || k%Group != 0:
		return unsupported(op, "K=%d is not a positive multiple of %d", k, Group)
	}
	return nil
}

// rowTiles returns the rows of a tile and the number of tiles of a row class: 1 to 5 rows are one tile of their
// own, larger classes are cut into tiles of gemvTile. f32, which serves goldens, has tiles of 1 and gemvTile only.
func rowTiles(op string, d DType, rows int) (m int, tiles uint32, err error) {
	switch {
	case rows < 1 || rows > MaxRows:
		return 0, 0, unsupported(op, "%d rows", rows)
	case rows == 1 || rows <= maxExactRows && d == BF16:
		return rows, 1, nil
	}
	return gemvTile, ceilDiv(rows, gemvTile), nil
}

// tileRows lists the tiles that rowTiles returns.
func tileRows(d DType) []int {
	if d == F32 {
		return []int{1, gemvTile}
	}
	return []int{1, 2, 3, 4, maxExactRows}
}

// rowLimit clamps a grid dimension whose threadgroups take div live rows each.
func rowLimit(dim, div int) Limit {
	return Limit{Dim: dim, Offset: uint32(unsafe.Offsetof(StepParams{}.Rows)), Div: uint32(div)}
}

func ceilDiv(n, d int) uint32 { return uint32((n + d - 1) / d) }

// unsupported makes the error of a shape that no kernel covers.
func unsupported(op, format string, args ...any) error {
	return &UnsupportedError{Op: op, Detail: fmt.Sprintf(format, args...)}
}

// pack lays out a parameter struct as kernels read it: fixed-size fields, little endian, no padding.
func pack(params any) []byte {
	b, err := binary.Append(nil, binary.LittleEndian, params)
	if err != nil {
		panic(err) // a parameter struct with a field of no fixed size: a mistake in this package
	}
	return b
}
