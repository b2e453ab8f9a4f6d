package kernels

import "fmt"

// Bounds and geometry of the neuron-major family.
const (
	// NeuronTile is the number of slots that share one reading of an expert's live neurons: a tile is up to
	// NeuronTile slots of one expert, or as many neighbouring rows.
	NeuronTile = 32

	liveBits     = 32 // neurons of a word of a bitmap
	neuronBand   = 256
	neuronSlice  = 16 // groups of neurons of a slice, at most: a simdgroup each
	neuronRowSGs = 8  // simdgroups of a threadgroup of many rows, four rows each
	neuronSGs    = 8  // simdgroups of NeuronUnion, a tile each
	combineSGs   = 16 // simdgroups of NeuronCombine, at most
)

// NeuronSlices is the number of partial sums that the kernels of few rows leave of each output: n neurons are cut into
// that many runs of whole groups of 64, the first ones longer.
func NeuronSlices(n int) int { return int(ceilDiv(n, Group*neuronSlice)) }

// neuronKernels is this family's part of the catalogue.
func neuronKernels() []Kernel {
	all := []Kernel{neuronUnionKernel()}
	for _, d := range []DType{BF16, F32} {
		for _, f := range []Format{NM, NM20} {
			for _, m := range tileRows(d) {
				all = append(all, neuronDownKernel(f, d, m))
			}
			all = append(all, expertNeuronDownKernel(f, d), neuronDownRowsKernel(f, d),
				expertNeuronDownRowsKernel(f, d))
		}
		all = append(all, neuronCombineKernel(d, false), neuronCombineKernel(d, true))
	}
	return all
}

// NeuronParams are the sizes that the neuron-major kernels share: N neurons an expert, D outputs.
type NeuronParams struct {
	N      uint32
	D      uint32
	TopK   uint32
	Slices uint32
	Dense  uint32 // 1: the bitmap is not read, every neuron counts as live
}

// NeuronDown multiplies hidden rows by a neuron-major matrix and reads nothing of neurons that no row has live, and no
// scales of a group of 64 of them: slice s of part[r] is the sum over its groups, in ascending order from 0, of scale *
// (sum of h*code) + bias * (sum of h). Slices in ascending order make the output. A dead neuron adds an exact 0, so the
// result is that of Dense in every bit (of finite weights), and does not depend on other rows. Args after step: h
// T[Rows][N], live u32[Rows][N/32], codes, scales, biases of [N][D], part f32[Rows][NeuronSlices(N)][D].
type NeuronDown struct {
	Format Format // NM or NM20
	DType  DType
	Rows   int // 1 to 5
	N      int // neurons, a multiple of 64
	D      int // outputs, a multiple of 64
	Dense  bool
}

// Launch returns the dispatch: grid (bands of outputs, slices).
func (n NeuronDown) Launch() (Launch, error) {
	const op = "neuron_down"
	if err := checkDecodeRows(op, n.Rows); err != nil {
		return Launch{}, err
	}
	if err := checkNeurons(op, n.Format, n.DType, n.N, n.D); err != nil {
		return Launch{}, err
	}
	m, tiles, err := rowTiles(op, n.DType, n.Rows)
	if err != nil {
		return Launch{}, err
	}
	slices := NeuronSlices(n.N)
	p := NeuronParams{N: uint32(n.N), D: uint32(n.D), Slices: uint32(slices), Dense: flag(n.Dense)}
	l := moeLaunch(neuronDownKernel(n.Format, n.DType, m), p,
		[3]uint32{ceilDiv(n.D, neuronBand), uint32(slices), tiles}, ceilDiv(n.N/Group, slices))
	if tiles > 1 {
		l.Limits = []Limit{rowLimit(2, m)}
	}
	return l, nil
}

// ExpertNeuronDown is NeuronDown of the experts that a few rows chose. Args after step: h T[rows][TopK][N], live
// u32[rows][TopK][N/32], idx u32[rows][TopK], codes, scales, biases of [Experts][N][D], part
// f32[rows][TopK][NeuronSlices(N)][D].
type ExpertNeuronDown struct {
	Format  Format // NM or NM20
	DType   DType
	Rows    int // 1 to 5
	TopK    int
	Experts int
	N       int // neurons of an expert, a multiple of 64
	D       int // a multiple of 64
	Dense   bool
}

// Launch returns the dispatch: grid (bands of outputs, slices of all slots, rows).
func (n ExpertNeuronDown) Launch() (Launch, error) {
	const op = "expert_neuron_down"
	if err := checkDecodeRows(op, n.Rows); err != nil {
		return Launch{}, err
	}
	if err := checkRouting(op, n.Experts, n.TopK); err != nil {
		return Launch{}, err
	}
	if err := checkNeurons(op, n.Format, n.DType, n.N, n.D); err != nil {
		return Launch{}, err
	}
	slices := NeuronSlices(n.N)
	p := NeuronParams{uint32(n.N), uint32(n.D), uint32(n.TopK), uint32(slices), flag(n.Dense)}
	grid := [3]uint32{ceilDiv(n.D, neuronBand), uint32(slices * n.TopK), uint32(n.Rows)}
	return moeLaunch(expertNeuronDownKernel(n.Format, n.DType), p, grid, ceilDiv(n.N/Group, slices),
		rowLimit(2, 1)), nil
}

// NeuronUnion joins the bitmaps of the slots of each tile: bit i of union[t] is set when neuron i is live in one of
// them. With Dense > 0, a tile with at least so many live neurons gets all its bits, which costs ExpertNeuronDownRows
// less than to pick; the result is the same. Args after step: live u32[rows*TopK][N/32], order u32[rows*TopK], tiles
// u32[MaxNeuronTiles][3], ntiles u32[1], join u32[MaxNeuronTiles][N/32].
type NeuronUnion struct {
	Rows    int // 1 to MaxRows
	TopK    int
	Experts int
	N       int // neurons of an expert, a multiple of 64
	Dense   int // 0 for never
}

// NeuronUnionParams is buffer 0 of neuron_union.
type NeuronUnionParams struct {
	Words uint32 // of a bitmap
	Dense uint32 // live neurons from which on a tile counts as wholly live
}

// Launch returns the dispatch: a simdgroup a tile.
func (n NeuronUnion) Launch() (Launch, error) {
	const op = "neuron_union"
	if err := checkRoute(op, n.Experts, n.TopK, n.Rows); err != nil {
		return Launch{}, err
	}
	if err := checkNeurons(op, NM, BF16, n.N, Group); err != nil {
		return Launch{}, err
	}
	if n.Dense < 0 {
		return Launch{}, unsupported(op, "dense from %d neurons", n.Dense)
	}
	if n.Dense == 0 {
		n.Dense = n.N + 1
	}
	p := NeuronUnionParams{Words: uint32(n.N / liveBits), Dense: uint32(n.Dense)}
	tiles := MaxNeuronTiles(n.Experts, n.TopK, n.Rows)
	return moeLaunch(neuronUnionKernel(), p, [3]uint32{ceilDiv(tiles, neuronSGs), 1, 1}, neuronSGs), nil
}

// ExpertNeuronDownRows is ExpertNeuronDown for many rows, sorted by expert into tiles of NeuronTile slots that read the
// neurons of their union; d[s] is the whole output of slot s, its slices added. Bit-equal to ExpertNeuronDown followed
// by that sum. Args after step: h T[rows*TopK][N], join u32[MaxNeuronTiles][N/32], order u32[rows*TopK], tiles
// u32[MaxNeuronTiles][3], ntiles u32[1], codes, scales, biases of [Experts][N][D], d f32[rows*TopK][D].
type ExpertNeuronDownRows struct {
	Format  Format // NM or NM20
	DType   DType
	Rows    int // 1 to MaxRows
	TopK    int
	Experts int
	N       int
	D       int
}

// Launch returns the dispatch: grid (bands of outputs, tiles).
func (n ExpertNeuronDownRows) Launch() (Launch, error) {
	const op = "expert_neuron_down_rows"
	if err := checkRoute(op, n.Experts, n.TopK, n.Rows); err != nil {
		return Launch{}, err
	}
	if err := checkNeurons(op, n.Format, n.DType, n.N, n.D); err != nil {
		return Launch{}, err
	}
	p := NeuronParams{N: uint32(n.N), D: uint32(n.D), TopK: uint32(n.TopK), Slices: uint32(NeuronSlices(n.N))}
	grid := tileGrid(ceilDiv(n.D, neuronBand), n.TopK, MaxNeuronTiles(n.Experts, n.TopK, n.Rows))
	return moeLaunch(expertNeuronDownRowsKernel(n.Format, n.DType), p, grid, neuronRowSGs, rowLimit(2, 1)), nil
}

// NeuronDownRows is NeuronDown for many rows, of which together almost every neuron is live: it reads them all. d[r] is
// the whole output, bit-equal to the sum of NeuronDown's slices. Args after step: h T[Rows][N], codes, scales, biases
// of [N][D], d f32[Rows][D].
type NeuronDownRows struct {
	Format Format // NM or NM20
	DType  DType
	Rows   int // 1 to MaxRows
	N      int
	D      int
}

// Launch returns the dispatch: grid (bands of outputs, tiles of NeuronTile rows).
func (n NeuronDownRows) Launch() (Launch, error) {
	const op = "neuron_down_rows"
	if err := checkRows(op, n.Rows); err != nil {
		return Launch{}, err
	}
	if err := checkNeurons(op, n.Format, n.DType, n.N, n.D); err != nil {
		return Launch{}, err
	}
	p := NeuronParams{N: uint32(n.N), D: uint32(n.D), Slices: uint32(NeuronSlices(n.N)), Dense: 1}
	grid := [3]uint32{ceilDiv(n.D, neuronBand), ceilDiv(n.Rows, NeuronTile), 1}
	return moeLaunch(neuronDownRowsKernel(n.Format, n.DType), p, grid, neuronRowSGs, rowLimit(1, NeuronTile)), nil
}

// NeuronCombineParams is buffer 0 of neuron_combine_*.
type NeuronCombineParams struct {
	D      uint32
	TopK   uint32
	Slices uint32 // of a slot
	Shared uint32 // slices of the shared expert
	Eps    float32
}

// NeuronCombine ends a mixture of experts: y[r] += sum over slots j of w[r][j] * (sum over slices of part[r][j]) + sum
// over slices of shared[r], in f32 with one rounding; with Norm also xn[r] = RMSNorm of the new y[r], bit-equal to that
// kernel. Args after step: part f32[Rows][TopK][Slices][D], w f32[Rows][TopK], shared f32[Rows][Shared][D], y
// T[Rows][D] (read and written), and with Norm norm bf16[D] and xn T[Rows][D].
type NeuronCombine struct {
	DType  DType
	Rows   int // 1 to MaxRows
	TopK   int
	Slices int // NeuronSlices of the experts' neurons after ExpertNeuronDown, 1 after ExpertNeuronDownRows
	Shared int // NeuronSlices of the shared expert's neurons after NeuronDown, 1 after NeuronDownRows
	D      int
	Norm   bool    // D is at most 4096
	Eps    float32 // of the norm
}

// Launch returns the dispatch: a threadgroup a row.
func (n NeuronCombine) Launch() (Launch, error) {
	const op = "neuron_combine"
	if err := checkRow(op, n.DType, n.Rows, n.D, n.Eps); err != nil {
		return Launch{}, err
	}
	switch {
	case n.TopK < 1 || n.TopK > MaxTopK:
		return Launch{}, unsupported(op, "%d experts a row", n.TopK)
	case n.Slices < 1 || n.Slices > maxExtent || n.Shared < 1 || n.Shared > maxExtent:
		return Launch{}, unsupported(op, "%d and %d slices", n.Slices, n.Shared)
	case n.Norm && normSimdgroups(n.D) > combineSGs:
		return Launch{}, unsupported(op, "norm of %d outputs", n.D)
	}
	p := NeuronCombineParams{uint32(n.D), uint32(n.TopK), uint32(n.Slices), uint32(n.Shared), n.Eps}
	grid := [3]uint32{uint32(n.Rows), 1, 1}
	return moeLaunch(neuronCombineKernel(n.DType, n.Norm), p, grid,
		min(normSimdgroups(n.D), combineSGs), rowLimit(0, 1)), nil
}

// checkNeurons bounds a neuron-major matrix of n neurons and d outputs.
func checkNeurons(op string, f Format, d DType, n, outputs int) error {
	switch {
	case f != NM && f != NM20:
		return unsupported(op, "format %d", f)
	case d > F32:
		return unsupported(op, "activation type %d", d)
	case n < Group || n > maxExtent || n%Group != 0:
		return unsupported(op, "%d neurons, not a positive multiple of %d", n, Group)
	case outputs < Group || outputs > maxExtent || outputs%Group != 0:
		return unsupported(op, "%d outputs, not a positive multiple of %d", outputs, Group)
	}
	return nil
}

func neuronDownKernel(f Format, d DType, m int) Kernel {
	return Kernel{
		Name: fmt.Sprintf("neuron_down_%s_%s_m%d", f, d, m), File: "neuron.metal", Params: NeuronParams{},
		Args: expertArgs(f, []string{"h", "live"}, nil, Arg{"part", Write}),
	}
}

func expertNeuronDownKernel(f Format, d DType) Kernel {
	return Kernel{
		Name: fmt.Sprintf("expert_neuron_down_%s_%s", f, d), File: "neuron.metal", Params: NeuronParams{},
		Args: expertArgs(f, []string{"h", "live", "idx"}, nil, Arg{"part", Write}),
	}
}

func neuronUnionKernel() Kernel {
	return Kernel{
		Name: "neuron_union", File: "neuron_rows.metal", Params: NeuronUnionParams{},
		Args: []Arg{
			{StepArg, Read},
			{"live", Read},
			{"order", Read},
			{"tiles", Read},
			{"ntiles", Read},
			{"join", Write},
		},
	}
}

func neuronDownRowsKernel(f Format, d DType) Kernel {
	return Kernel{
		Name: fmt.Sprintf("neuron_down_rows_%s_%s", f, d), File: "neuron_rows.metal", Params: NeuronParams{},
		Args: expertArgs(f, []string{"h"}, nil, Arg{"d", Write}),
	}
}

func expertNeuronDownRowsKernel(f Format, d DType) Kernel {
	return Kernel{
		Name: fmt.Sprintf("expert_neuron_down_rows_%s_%s", f, d), File: "neuron_rows.metal", Params: NeuronParams{},
		Args: expertArgs(f, []string{"h", "join", "order", "tiles", "ntiles"}, nil, Arg{"d", Write}),
	}
}

func neuronCombineKernel(d DType, norm bool) Kernel {
	k := Kernel{
		Name: fmt.Sprintf("neuron_combine_%s", d), File: "neuron_combine.metal", Params: NeuronCombineParams{},
		Args: []Arg{{StepArg, Read}, {"part", Read}, {"w", Read}, {"shared", Read}, {"y", ReadWrite}},
	}
	if norm {
		k.Name = fmt.Sprintf("neuron_combine_norm_%s", d)
		k.Args = append(k.Args, Arg{"norm", Read}, Arg{"xn", Write})
	}
	return k
}
