package kernels

import "fmt"

// Bounds of the mixture-of-experts family.
const (
	MaxExperts = 512 // routed experts of a layer
	MaxTopK    = 16  // experts of a row

	// ExpertTile is the number of rows that share one reading of an expert's weights in the kernels of many
	// rows: a tile is up to ExpertTile slots of one expert.
	ExpertTile = 4
	// RouteBlock is the number of rows that one simdgroup of RouteHist sorts.
	RouteBlock = 32

	expertRows   = 4  // weight rows of a simdgroup: two outputs of gate/up, four of down
	expertGroups = 2  // simdgroups of a threadgroup
	combineCols  = 64 // columns of a simdgroup of CombineRows
)

// moeKernels is this family's part of the catalogue.
func moeKernels() []Kernel {
	all := []Kernel{routeHistKernel(), routeScanKernel(), routeScatterKernel()}
	for _, c := range routeCapacities() {
		all = append(all, routeTopKKernel(c), routeSigmoidKernel(c))
	}
	for _, d := range []DType{BF16, F32} {
		for _, f := range []Format{Q4, Q8, B16} {
			all = append(all, gateUpKernel(f, d), downKernel(f, d), gateUpRowsKernel(f, d), downRowsKernel(f, d))
		}
		all = append(all, combineKernel(d))
	}
	return all
}

// ExpertParams are the sizes that the expert kernels share. The matrix of an expert has N rows of K inputs; for
// gate/up N is twice the width of the expert, gate row 2i beside up row 2i+1.
type ExpertParams struct {
	N       uint32
	K       uint32
	TopK    uint32
	Experts uint32
	Stride  uint32 // f32 values between rows of router logits; only down and combine read it
}

// ExpertGateUp computes h[r][j][i] = silu(g)*u for slot j of row r, where g and u are rows 2i and 2i+1 of expert
// idx[r][j] times x[r]. Args after step: x T[rows][K], idx u32[rows][TopK], codes, scales, biases of
// [Experts][2I][K], h T[rows][TopK][I].
type ExpertGateUp struct {
	Format  Format
	DType   DType
	Rows    int // 1 to 5
	TopK    int
	Experts int
	I       int // width of an expert
	K       int // a multiple of 64
}

// Launch returns the dispatch: grid (blocks of weight rows, slots, rows).
func (e ExpertGateUp) Launch() (Launch, error) {
	const op = "expert_gateup"
	if err := checkDecodeRows(op, e.Rows); err != nil {
		return Launch{}, err
	}
	if err := checkExperts(op, e.Format, e.DType, e.Experts, e.TopK, 2*e.I, e.K); err != nil {
		return Launch{}, err
	}
	p := ExpertParams{N: uint32(2 * e.I), K: uint32(e.K), TopK: uint32(e.TopK), Experts: uint32(e.Experts)}
	grid := [3]uint32{expertBlocks(2 * e.I), uint32(e.TopK), uint32(e.Rows)}
	return moeLaunch(gateUpKernel(e.Format, e.DType), p, grid, expertGroups, rowLimit(2, 1)), nil
}

// ExpertDown adds the experts' outputs to the residual stream: y[r] += sum over slots j of w[r][j] * (expert
// idx[r][j] times h[r][j]), in the order of slots, + sigmoid(logits[r][Experts]) * ds[r]; all in f32 with one
// rounding at the end. Args after step: h T[rows][TopK][K], idx u32[rows][TopK], w f32[rows][TopK], codes, scales,
// biases of [Experts][N][K], ds f32[rows][N], logits f32[rows][Stride], y T[rows][N] (read and written).
type ExpertDown struct {
	Format  Format
	DType   DType
	Rows    int // 1 to 5
	TopK    int
	Experts int
	N       int
	K       int // width of an expert, a multiple of 64
	Stride  int // values between rows of logits, more than Experts: value Experts is the shared expert's gate
}

// Launch returns the dispatch: grid (blocks of weight rows, rows).
func (e ExpertDown) Launch() (Launch, error) {
	const op = "expert_down"
	if err := checkDecodeRows(op, e.Rows); err != nil {
		return Launch{}, err
	}
	if err := checkExperts(op, e.Format, e.DType, e.Experts, e.TopK, e.N, e.K); err != nil {
		return Launch{}, err
	}
	if err := checkStride(op, e.Stride, e.Experts+1); err != nil {
		return Launch{}, err
	}
	p := ExpertParams{uint32(e.N), uint32(e.K), uint32(e.TopK), uint32(e.Experts), uint32(e.Stride)}
	grid := [3]uint32{expertBlocks(e.N), uint32(e.Rows), 1}
	return moeLaunch(downKernel(e.Format, e.DType), p, grid, expertGroups, rowLimit(1, 1)), nil
}

// ExpertGateUpRows is ExpertGateUp for many rows, sorted by expert: slot s = order[first+i] of a tile reads row
// s/TopK of x and writes h[s]. Args after step: x T[rows][K], order u32[rows*TopK], tiles u32[MaxTiles][3], ntiles
// u32[1], codes, scales, biases of [Experts][2I][K], h T[rows*TopK][I]. Bit-equal to ExpertGateUp.
type ExpertGateUpRows struct {
	Format  Format
	DType   DType
	Rows    int // 1 to MaxRows
	TopK    int
	Experts int
	I       int
	K       int // a multiple of 64
}

// Launch returns the dispatch: grid (blocks of weight rows, tiles).
func (e ExpertGateUpRows) Launch() (Launch, error) {
	const op = "expert_gateup_rows"
	if err := checkRows(op, e.Rows); err != nil {
		return Launch{}, err
	}
	if err := checkExperts(op, e.Format, e.DType, e.Experts, e.TopK, 2*e.I, e.K); err != nil {
		return Launch{}, err
	}
	p := ExpertParams{N: uint32(2 * e.I), K: uint32(e.K), TopK: uint32(e.TopK), Experts: uint32(e.Experts)}
	grid := tileGrid(expertBlocks(2*e.I), e.TopK, MaxTiles(e.Experts, e.TopK, e.Rows))
	return moeLaunch(gateUpRowsKernel(e.Format, e.DType), p, grid, expertGroups, rowLimit(2, 1)), nil
}

// ExpertDownRows computes d[s] = expert of slot s times h[s] for all slots, sorted by expert. Args after step: h
// T[rows*TopK][K], order, tiles, ntiles, codes, scales, biases of [Experts][N][K], d f32[rows*TopK][N].
type ExpertDownRows struct {
	Format  Format
	DType   DType
	Rows    int // 1 to MaxRows
	TopK    int
	Experts int
	N       int
	K       int // a multiple of 64
}

// Launch returns the dispatch: grid (blocks of weight rows, tiles).
func (e ExpertDownRows) Launch() (Launch, error) {
	const op = "expert_down_rows"
	if err := checkRows(op, e.Rows); err != nil {
		return Launch{}, err
	}
	if err := checkExperts(op, e.Format, e.DType, e.Experts, e.TopK, e.N, e.K); err != nil {
		return Launch{}, err
	}
	p := ExpertParams{N: uint32(e.N), K: uint32(e.K), TopK: uint32(e.TopK), Experts: uint32(e.Experts)}
	grid := tileGrid(expertBlocks(e.N), e.TopK, MaxTiles(e.Experts, e.TopK, e.Rows))
	return moeLaunch(downRowsKernel(e.Format, e.DType), p, grid, expertGroups, rowLimit(2, 1)), nil
}

// CombineRows is the end of ExpertDown for many rows: y[r] += sum over slots j of w[r][j]*d[r*TopK+j] +
// sigmoid(logits[r][Experts]) * ds[r], bit-equal to ExpertDown. Args after step: d f32[rows*TopK][N], w
// f32[rows][TopK], ds f32[rows][N], logits f32[rows][Stride], y T[rows][N] (read and written).
type CombineRows struct {
	DType   DType
	Rows    int // 1 to MaxRows
	TopK    int
	Experts int
	N       int
	Stride  int
}

// Launch returns the dispatch: grid (blocks of columns, rows).
func (c CombineRows) Launch() (Launch, error) {
	const op = "combine_rows"
	if err := checkRows(op, c.Rows); err != nil {
		return Launch{}, err
	}
	if err := checkExperts(op, B16, c.DType, c.Experts, c.TopK, c.N, 64); err != nil {
		return Launch{}, err
	}
	if err := checkStride(op, c.Stride, c.Experts+1); err != nil {
		return Launch{}, err
	}
	p := ExpertParams{N: uint32(c.N), TopK: uint32(c.TopK), Experts: uint32(c.Experts), Stride: uint32(c.Stride)}
	grid := [3]uint32{ceilDiv(c.N, expertGroups*combineCols), uint32(c.Rows), 1}
	return moeLaunch(combineKernel(c.DType), p, grid, expertGroups, rowLimit(1, 1)), nil
}

func gateUpKernel(f Format, d DType) Kernel {
	return Kernel{
		Name: fmt.Sprintf("expert_gateup_%s_%s", f, d), File: "experts.metal", Params: ExpertParams{},
		Args: expertArgs(f, []string{"x", "idx"}, nil, Arg{"h", Write}),
	}
}

func downKernel(f Format, d DType) Kernel {
	return Kernel{
		Name: fmt.Sprintf("expert_down_%s_%s", f, d), File: "experts.metal", Params: ExpertParams{},
		Args: expertArgs(f, []string{"h", "idx", "w"}, []string{"ds", "logits"}, Arg{"y", ReadWrite}),
	}
}

func gateUpRowsKernel(f Format, d DType) Kernel {
	return Kernel{
		Name: fmt.Sprintf("expert_gateup_rows_%s_%s", f, d), File: "experts_rows.metal", Params: ExpertParams{},
		Args: expertArgs(f, []string{"x", "order", "tiles", "ntiles"}, nil, Arg{"h", Write}),
	}
}

func downRowsKernel(f Format, d DType) Kernel {
	return Kernel{
		Name: fmt.Sprintf("expert_down_rows_%s_%s", f, d), File: "experts_rows.metal", Params: ExpertParams{},
		Args: expertArgs(f, []string{"h", "order", "tiles", "ntiles"}, nil, Arg{"d", Write}),
	}
}

func combineKernel(d DType) Kernel {
	return Kernel{
		Name: fmt.Sprintf("combine_rows_%s", d), File: "experts_rows.metal", Params: ExpertParams{},
		Args: []Arg{{StepArg, Read}, {"d", Read}, {"w", Read}, {"ds", Read}, {"logits", Read}, {"y", ReadWrite}},
	}
}

// expertArgs lists step, the inputs, the streams of the weights, what follows them, and the output.
func expertArgs(f Format, inputs, after []string, out Arg) []Arg {
	args := []Arg{{StepArg, Read}}
	for _, n := range inputs {
		args = append(args, Arg{n, Read})
	}
	args = append(args, weightArgs(f)...)
	for _, n := range after {
		args = append(args, Arg{n, Read})
	}
	return append(args, out)
}

// expertBlocks is the number of threadgroups over n weight rows of an expert.
func expertBlocks(n int) uint32 { return ceilDiv(n, expertGroups*expertRows) }

// tileGrid lays tile t at (t%TopK, t/TopK) of dimensions 1 and 2: r live rows make at most r*TopK tiles, so a
// limit of r on dimension 2 never cuts a tile off.
func tileGrid(blocks uint32, topK, tiles int) [3]uint32 {
	return [3]uint32{blocks, uint32(topK), ceilDiv(tiles, topK)}
}

func moeLaunch(k Kernel, params any, grid [3]uint32, groups uint32, limits ...Limit) Launch {
	return Launch{Kernel: &k, Params: pack(params), Grid: grid, Simdgroups: groups, Limits: limits}
}

func checkDecodeRows(op string, rows int) error {
	if rows < 1 || rows > maxExactRows {
		return unsupported(op, "%d rows, want 1 to %d", rows, maxExactRows)
	}
	return nil
}

func checkRows(op string, rows int) error {
	if rows < 1 || rows > MaxRows {
		return unsupported(op, "%d rows, want 1 to %d", rows, MaxRows)
	}
	return nil
}

func checkStride(op string, stride, least int) error {
	if stride < least || stride > maxExtent {
		return unsupported(op, "stride %d of the logits, want at least %d", stride, least)
	}
	return nil
}

// checkRouting holds the bounds that every kernel of the family shares.
func checkRouting(op string, experts, topK int) error {
	switch {
	case experts < 1 || experts > MaxExperts:
		return unsupported(op, "%d experts, want 1 to %d", experts, MaxExperts)
	case topK < 1 || topK > min(MaxTopK, experts):
		return unsupported(op, "%d of %d experts a row, want 1 to %d", topK, experts, min(MaxTopK, experts))
	}
	return nil
}

// checkExperts bounds the matrices of a layer: n rows of k inputs an expert.
func checkExperts(op string, f Format, d DType, experts, topK, n, k int) error {
	if err := checkRouting(op, experts, topK); err != nil {
		return err
	}
	return checkMatrix(op, f, d, n, k)
}
