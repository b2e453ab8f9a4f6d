package kernels

import "fmt"

// relu2Groups are the simdgroups of a threadgroup, four neurons each: together one word of the bitmap.
const relu2Groups = 8

// relu2Kernels is this family's part of the catalogue.
func relu2Kernels() []Kernel {
	var all []Kernel
	for _, d := range []DType{BF16, F32} {
		for _, m := range tileRows(d) {
			all = append(all, upRelu2Kernel(d, m))
		}
		all = append(all, expertUpRelu2Kernel(d), expertUpRelu2RowsKernel(d))
	}
	return all
}

// Relu2Params are the sizes that the up projections with squared ReLU share. An expert's matrix has I rows of K
// inputs; TopK is not read by up_relu2_*.
type Relu2Params struct {
	I    uint32
	K    uint32
	TopK uint32
}

// UpRelu2 is the first half of an MLP with squared ReLU: h[r][i] = max(w[i] x[r], 0)^2, rounded once, and a bitmap of
// the live neurons: bit i%32 of live[r][i/32] is set unless the stored h[r][i] is 0; NaN is live. A row's result does
// not depend on the row class or on its neighbours. Args after step: x T[Rows][K], codes, scales, biases of [I][K], h
// T[Rows][I], live u32[Rows][I/32].
type UpRelu2 struct {
	Format Format // Q4
	DType  DType
	Rows   int // 1 to MaxRows
	I      int // neurons, a multiple of 64
	K      int // a multiple of 64
}

// Launch returns the dispatch: grid (words of the bitmap, tiles of rows).
func (u UpRelu2) Launch() (Launch, error) {
	const op = "up_relu2"
	if err := checkRelu2(op, u.Format, u.DType, u.I, u.K); err != nil {
		return Launch{}, err
	}
	m, tiles, err := rowTiles(op, u.DType, u.Rows)
	if err != nil {
		return Launch{}, err
	}
	k := upRelu2Kernel(u.DType, m)
	l := Launch{
		Kernel: &k, Params: pack(Relu2Params{I: uint32(u.I), K: uint32(u.K)}),
		Grid: [3]uint32{uint32(u.I / liveBits), tiles, 1}, Simdgroups: relu2Groups,
	}
	if tiles > 1 {
		l.Limits = []Limit{rowLimit(1, m)}
	}
	return l, nil
}

// ExpertUpRelu2 is UpRelu2 of the experts that a few rows chose: slot j of row r takes expert idx[r][j]. Args after
// step: x T[rows][K], idx u32[rows][TopK], codes, scales, biases of [Experts][I][K], h T[rows][TopK][I], live
// u32[rows][TopK][I/32].
type ExpertUpRelu2 struct {
	Format  Format // Q4
	DType   DType
	Rows    int // 1 to 5
	TopK    int
	Experts int
	I       int // neurons of an expert, a multiple of 64
	K       int // a multiple of 64
}

// Launch returns the dispatch: grid (words of the bitmap, slots, rows).
func (u ExpertUpRelu2) Launch() (Launch, error) {
	const op = "expert_up_relu2"
	if err := checkDecodeRows(op, u.Rows); err != nil {
		return Launch{}, err
	}
	if err := checkRouting(op, u.Experts, u.TopK); err != nil {
		return Launch{}, err
	}
	if err := checkRelu2(op, u.Format, u.DType, u.I, u.K); err != nil {
		return Launch{}, err
	}
	p := Relu2Params{I: uint32(u.I), K: uint32(u.K), TopK: uint32(u.TopK)}
	grid := [3]uint32{uint32(u.I / liveBits), uint32(u.TopK), uint32(u.Rows)}
	return moeLaunch(expertUpRelu2Kernel(u.DType), p, grid, relu2Groups, rowLimit(2, 1)), nil
}

// ExpertUpRelu2Rows is ExpertUpRelu2 for many rows, sorted by expert into tiles of NeuronTile slots, bit-equal to it.
// Args after step: x T[rows][K], order u32[rows*TopK], tiles u32[MaxNeuronTiles][3], ntiles u32[1], codes, scales,
// biases of [Experts][I][K], h T[rows*TopK][I], live u32[rows*TopK][I/32].
type ExpertUpRelu2Rows struct {
	Format  Format // Q4
	DType   DType
	Rows    int // 1 to MaxRows
	TopK    int
	Experts int
	I       int
	K       int
}

// Launch returns the dispatch: grid (words of the bitmap by pieces of a tile, tiles).
func (u ExpertUpRelu2Rows) Launch() (Launch, error) {
	const op = "expert_up_relu2_rows"
	if err := checkRows(op, u.Rows); err != nil {
		return Launch{}, err
	}
	if err := checkRouting(op, u.Experts, u.TopK); err != nil {
		return Launch{}, err
	}
	if err := checkRelu2(op, u.Format, u.DType, u.I, u.K); err != nil {
		return Launch{}, err
	}
	p := Relu2Params{I: uint32(u.I), K: uint32(u.K), TopK: uint32(u.TopK)}
	blocks := uint32(u.I / liveBits * (NeuronTile / ExpertTile))
	grid := tileGrid(blocks, u.TopK, MaxNeuronTiles(u.Experts, u.TopK, u.Rows))
	return moeLaunch(expertUpRelu2RowsKernel(u.DType), p, grid, relu2Groups, rowLimit(2, 1)), nil
}

func checkRelu2(op string, f Format, d DType, n, k int) error {
	switch {
	case f != Q4:
		return unsupported(op, "format %d", f)
	case n%Group != 0:
		return unsupported(op, "%d neurons, not a multiple of %d", n, Group)
	}
	return checkMatrix(op, f, d, n, k)
}

func upRelu2Kernel(d DType, m int) Kernel {
	return Kernel{
		Name: fmt.Sprintf("up_relu2_%s_m%d", d, m), File: "relu2.metal", Params: Relu2Params{},
		Args: matrixArgs(Q4, Arg{"h", Write}, Arg{"live", Write}),
	}
}

func expertUpRelu2Kernel(d DType) Kernel {
	return Kernel{
		Name: fmt.Sprintf("expert_up_relu2_%s", d), File: "relu2.metal", Params: Relu2Params{},
		Args: append(expertArgs(Q4, []string{"x", "idx"}, nil, Arg{"h", Write}), Arg{"live", Write}),
	}
}

func expertUpRelu2RowsKernel(d DType) Kernel {
	return Kernel{
		Name: fmt.Sprintf("expert_up_relu2_rows_%s", d), File: "relu2.metal", Params: Relu2Params{},
		Args: append(expertArgs(Q4, []string{"x", "order", "tiles", "ntiles"}, nil, Arg{"h", Write}),
			Arg{"live", Write}),
	}
}
