package kernels

import "fmt"

// RouteParams are the sizes of routing. Stride is read by RouteTopK only, Tile by RouteScan only.
type RouteParams struct {
	Experts uint32
	TopK    uint32
	Stride  uint32 // f32 values between rows of logits
	Tile    uint32 // slots of a tile
}

// RouteTopK chooses the TopK largest of the first Experts logits of each row, ties to the lower id, and weighs them
// by a softmax over the chosen, which equals the softmax over all renormalised: w = exp(l-max) / sum. Slots are in
// descending order of logits. The ids are distinct and in range whatever the logits are; a row with a NaN, or whose
// largest logit is infinite, gets NaN weights, as the formula says. Args after step: logits f32[rows][Stride], idx
// u32[rows][TopK], w f32[rows][TopK].
type RouteTopK struct {
	Experts int // 1 to MaxExperts
	TopK    int // 1 to MaxTopK
	Rows    int // 1 to MaxRows
	Stride  int
}

// Launch returns the dispatch: a simdgroup a row.
func (r RouteTopK) Launch() (Launch, error) {
	const op = "route_topk"
	if err := checkRoute(op, r.Experts, r.TopK, r.Rows); err != nil {
		return Launch{}, err
	}
	if err := checkStride(op, r.Stride, r.Experts); err != nil {
		return Launch{}, err
	}
	capacity := routeCapacity(r.Experts)
	groups := min(r.Rows, routeGroups)
	p := RouteParams{Experts: uint32(r.Experts), TopK: uint32(r.TopK), Stride: uint32(r.Stride)}
	grid := [3]uint32{ceilDiv(r.Rows, groups), 1, 1}
	return moeLaunch(routeTopKKernel(capacity), p, grid, uint32(groups), rowLimit(0, groups)), nil
}

// RouteHist is the first step of the stable sort of slots by expert. Slot s = row*TopK + j. Rows are cut into blocks
// of RouteBlock; counts[b][e] is the number of slots of expert e in block b and rank[s] the number of earlier slots
// of the same expert in the block of s. Args after step: idx u32[rows][TopK], counts u32[RouteBlocks(Rows)][Experts],
// rank u32[rows*TopK].
type RouteHist struct {
	Experts int
	TopK    int
	Rows    int // 1 to MaxRows
}

// Launch returns the dispatch: a simdgroup a block.
func (r RouteHist) Launch() (Launch, error) {
	if err := checkRoute("route_hist", r.Experts, r.TopK, r.Rows); err != nil {
		return Launch{}, err
	}
	p := RouteParams{Experts: uint32(r.Experts), TopK: uint32(r.TopK)}
	grid := [3]uint32{uint32(RouteBlocks(r.Rows)), 1, 1}
	return moeLaunch(routeHistKernel(), p, grid, 1, rowLimit(0, RouteBlock)), nil
}

// RouteScan is the second step: counts[b][e] becomes the place of the first slot of block b and expert e in the
// sorted order, and the tiles are listed in ascending order of experts: {expert, first place, slots <= Tile}. Experts
// without slots have no tile. Args after step: counts (read and written), tiles u32[n][3], ntiles u32[1], with n =
// MaxTiles, or MaxNeuronTiles for tiles of NeuronTile.
type RouteScan struct {
	Experts int
	TopK    int
	Rows    int // 1 to MaxRows
	Tile    int // ExpertTile, which 0 stands for, or NeuronTile
}

// Launch returns the dispatch: one threadgroup.
func (r RouteScan) Launch() (Launch, error) {
	const op = "route_scan"
	if err := checkRoute(op, r.Experts, r.TopK, r.Rows); err != nil {
		return Launch{}, err
	}
	if r.Tile == 0 {
		r.Tile = ExpertTile
	}
	if r.Tile != ExpertTile && r.Tile != NeuronTile {
		return Launch{}, unsupported(op, "tiles of %d slots", r.Tile)
	}
	p := RouteParams{Experts: uint32(r.Experts), TopK: uint32(r.TopK), Tile: uint32(r.Tile)}
	return moeLaunch(routeScanKernel(), p, [3]uint32{1, 1, 1}, scanGroups), nil
}

// RouteScatter is the last step: order[counts[b][e] + rank[s]] = s. The order is stable: slots of one expert ascend.
// Args after step: idx u32[rows][TopK], counts, rank, order u32[rows*TopK].
type RouteScatter struct {
	Experts int
	TopK    int
	Rows    int // 1 to MaxRows
}

// Launch returns the dispatch: a simdgroup a block.
func (r RouteScatter) Launch() (Launch, error) {
	if err := checkRoute("route_scatter", r.Experts, r.TopK, r.Rows); err != nil {
		return Launch{}, err
	}
	p := RouteParams{Experts: uint32(r.Experts), TopK: uint32(r.TopK)}
	grid := [3]uint32{uint32(RouteBlocks(r.Rows)), 1, 1}
	return moeLaunch(routeScatterKernel(), p, grid, 1, rowLimit(0, RouteBlock)), nil
}

// RouteBlocks is the number of blocks that RouteHist cuts rows into.
func RouteBlocks(rows int) int { return (rows + RouteBlock - 1) / RouteBlock }

// MaxTiles is the largest number of tiles that RouteScan can list: each expert with slots wastes less than one.
func MaxTiles(experts, topK, rows int) int { return maxTiles(experts, topK, rows, ExpertTile) }

// MaxNeuronTiles is MaxTiles for tiles of NeuronTile slots.
func MaxNeuronTiles(experts, topK, rows int) int { return maxTiles(experts, topK, rows, NeuronTile) }

func maxTiles(experts, topK, rows, tile int) int {
	slots := rows * topK
	used := min(experts, slots)
	return (slots + used*(tile-1)) / tile
}

const (
	routeGroups = 4 // simdgroups of a RouteTopK threadgroup, a row each
	scanGroups  = 8 // simdgroups of RouteScan
)

// routeCapacities are the instantiations of RouteTopK: the most experts that each holds in registers, ascending.
func routeCapacities() []int { return []int{64, 256, MaxExperts} }

// routeCapacity is the smallest of them that holds so many experts.
func routeCapacity(experts int) int {
	for _, c := range routeCapacities() {
		if c >= experts {
			return c
		}
	}
	return MaxExperts
}

func routeTopKKernel(capacity int) Kernel {
	return Kernel{
		Name: fmt.Sprintf("route_topk_e%d", capacity), File: "route.metal", Params: RouteParams{},
		Args: []Arg{{StepArg, Read}, {"logits", Read}, {"idx", Write}, {"w", Write}},
	}
}

func routeHistKernel() Kernel {
	return Kernel{
		Name: "route_hist", File: "route.metal", Params: RouteParams{},
		Args: []Arg{{StepArg, Read}, {"idx", Read}, {"counts", Write}, {"rank", Write}},
	}
}

func routeScanKernel() Kernel {
	return Kernel{
		Name: "route_scan", File: "route.metal", Params: RouteParams{},
		Args: []Arg{{StepArg, Read}, {"counts", ReadWrite}, {"tiles", Write}, {"ntiles", Write}},
	}
}

func routeScatterKernel() Kernel {
	return Kernel{
		Name: "route_scatter", File: "route.metal", Params: RouteParams{},
		Args: []Arg{{StepArg, Read}, {"idx", Read}, {"counts", Read}, {"rank", Read}, {"order", Write}},
	}
}

func checkRoute(op string, experts, topK, rows int) error {
	if err := checkRouting(op, experts, topK); err != nil {
		return err
	}
	return checkRows(op, rows)
}
