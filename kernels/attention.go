package kernels

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"unsafe"
)

// Geometry of the attention family.
const (
	attnSGs   = 4   // simdgroups of a threadgroup
	attnWaves = 256 // key blocks that AttnDecode works on at once; more are taken in turns
	attnSlice = 64  // dimensions of a simdgroup of AttnMerge
	attnPairs = 64  // rotated pairs that the parameters hold
)

// attentionKernels is this family's part of the catalogue.
func attentionKernels() []Kernel {
	var all []Kernel
	for _, d := range []DType{BF16, F32} {
		for _, dim := range attnDims() {
			all = append(all, attnDecodeKernel(d, dim), attnMergeKernel(d, dim), attnStoreKernel(d, dim),
				attnRowsKernel(d, dim))
		}
	}
	return all
}

// attnDims are the head sizes that have instantiations.
func attnDims() []int { return []int{32, 64, 128, 256} }

// Attention is the shape that the kernels of gated, grouped attention share. Row r of p starts at element r*PStride
// and holds, for each query head, its query and, with Gate, its gate; then the keys, then the values:
// q0 | g0 | q1 | g1 .. | k | v, each of Dim elements a head. Query head h attends with key head h/(Heads/KVHeads).
// The caches k and v are T[pages][KVHeads][KeyBlock][Dim]: key block b of a session lives in page pages[b] of its
// step buffer. Keys are kept after norm and rotation.
type Attention struct {
	DType     DType
	Heads     int
	KVHeads   int
	Dim       int
	Gate      bool    // the output is multiplied by the sigmoid of a gate
	QKNorm    bool    // queries and keys are RMS-normalised over Dim and weighed by q_norm and k_norm
	Rotary    int     // dimensions that are rotated, pairs (i, i+Rotary/2); 0 for none, at most 128
	Theta     float64 // base of the rotation
	Eps       float32 // of the norms
	PStride   int     // elements between rows of p
	MaxBlocks int     // key blocks that part_o and part_ml have room for; AttnDecode and AttnMerge only
	Rows      int     // AttnStore and AttnRows only, 1 to MaxRows
}

// AttnParams are the sizes of kernels that prepare queries and keys. Pair i of position pos is rotated by the
// fraction frac(pos * Turn_i) of a turn, Turn_i = Theta^(-2i/Rotary) / 2 pi, given in units of 2^-64 turns as
// TurnHi[i] * 2^32 + TurnLo[i]: integer arithmetic keeps the angle exact at every position.
type AttnParams struct {
	Heads  uint32
	Keys   uint32 // key heads
	Gate   uint32
	Norm   uint32
	Pairs  uint32 // rotated pairs
	Stride uint32 // elements between rows of p
	Blocks uint32 // room for key blocks in part_o and part_ml
	Waves  uint32 // key blocks that are worked on at once
	Eps    float32
	Scale  float32 // 1 / sqrt(Dim)
	TurnHi [attnPairs]uint32
	TurnLo [attnPairs]uint32
}

// AttnMergeParams are the sizes of kernels that only weigh.
type AttnMergeParams struct {
	Heads  uint32
	Keys   uint32 // key heads
	Gate   uint32
	Stride uint32 // elements between rows of p
	Blocks uint32 // room for key blocks in part_o and part_ml
	Scale  float32
}

// AttnDecode is one decode row up to the partial results of each key block: norm and rotation of q and k, the new key
// and value stored, and for each block of KeyBlock keys and each query head the largest score m, the sum l of
// exp(score-m) and the weighed sum of values. Args after step: p T[PStride], q_norm bf16[Dim], k_norm bf16[Dim], k
// (read and written), v (read and written), part_o f32[KVHeads][MaxBlocks][Heads/KVHeads][Dim], part_ml
// f32[KVHeads][MaxBlocks][Heads/KVHeads][2].
type AttnDecode Attention

// Launch returns the dispatch: grid (key heads, key blocks).
func (a AttnDecode) Launch() (Launch, error) {
	const op = "attn_decode"
	if err := Attention(a).check(op); err != nil {
		return Launch{}, err
	}
	if err := Attention(a).checkBlocks(op); err != nil {
		return Launch{}, err
	}
	grid := [3]uint32{uint32(a.KVHeads), uint32(min(a.MaxBlocks, attnWaves)), 1}
	k := attnDecodeKernel(a.DType, a.Dim)
	return Launch{
		Kernel: &k, Params: pack(Attention(a).params()), Grid: grid,
		Simdgroups: attnSGs, Limits: []Limit{blocksLimit(1)},
	}, nil
}

// AttnMerge joins the partial results of AttnDecode in ascending order of key blocks and applies the gate. Args after
// step: part_o, part_ml, p T[PStride] (gates), a T[Heads*Dim].
type AttnMerge Attention

// Launch returns the dispatch: a threadgroup a query head.
func (a AttnMerge) Launch() (Launch, error) {
	const op = "attn_merge"
	if err := Attention(a).check(op); err != nil {
		return Launch{}, err
	}
	if err := Attention(a).checkBlocks(op); err != nil {
		return Launch{}, err
	}
	k := attnMergeKernel(a.DType, a.Dim)
	groups := ceilDiv(a.Dim, attnSlice)
	return Launch{
		Kernel: &k, Params: pack(Attention(a).mergeParams()), Grid: [3]uint32{uint32(a.Heads), 1, 1},
		Simdgroups: groups,
	}, nil
}

// AttnStore is the first half of attention for many rows: norm and rotation of q and k, keys and values stored. Args
// after step: p T[rows][PStride], q_norm bf16[Dim], k_norm bf16[Dim], q T[rows][Heads][Dim], k and v (written).
type AttnStore Attention

// Launch returns the dispatch: grid (heads of q, k and v by four, rows).
func (a AttnStore) Launch() (Launch, error) {
	const op = "attn_store"
	if err := Attention(a).check(op); err != nil {
		return Launch{}, err
	}
	if err := checkRows(op, a.Rows); err != nil {
		return Launch{}, err
	}
	grid := [3]uint32{ceilDiv(a.Heads+2*a.KVHeads, attnSGs), uint32(a.Rows), 1}
	k := attnStoreKernel(a.DType, a.Dim)
	return Launch{
		Kernel: &k, Params: pack(Attention(a).params()), Grid: grid,
		Simdgroups: attnSGs, Limits: []Limit{rowLimit(1, 1)},
	}, nil
}

// AttnRows is the second half: causal attention of each row over all keys up to its own position, block by block as
// AttnDecode and AttnMerge do it, hence bit-equal to them, with the gate applied. Args after step: q
// T[rows][Heads][Dim], k, v, p T[rows][PStride] (gates), a T[rows][Heads*Dim].
type AttnRows Attention

// Launch returns the dispatch: grid (tiles of rows, key heads, groups of query heads).
func (a AttnRows) Launch() (Launch, error) {
	const op = "attn_rows"
	if err := Attention(a).check(op); err != nil {
		return Launch{}, err
	}
	if err := checkRows(op, a.Rows); err != nil {
		return Launch{}, err
	}
	lines := attnLines(a.Dim)
	group := a.Heads / a.KVHeads
	tile := max(1, lines/group)
	grid := [3]uint32{ceilDiv(a.Rows, tile), uint32(a.KVHeads), ceilDiv(group, lines)}
	k := attnRowsKernel(a.DType, a.Dim)
	return Launch{
		Kernel: &k, Params: pack(Attention(a).mergeParams()), Grid: grid,
		Simdgroups: attnSGs, Limits: []Limit{rowLimit(0, tile)},
	}, nil
}

// attnLines is the number of (row, query head) pairs that a threadgroup holds the scores of a key block for.
func attnLines(dim int) int {
	if dim > 128 {
		return 8
	}
	return 16
}

func (a Attention) params() AttnParams {
	p := AttnParams{
		Heads: uint32(a.Heads), Keys: uint32(a.KVHeads), Gate: flag(a.Gate), Norm: flag(a.QKNorm),
		Pairs: uint32(a.Rotary / 2), Stride: uint32(a.PStride), Blocks: uint32(a.MaxBlocks),
		Waves: uint32(min(a.MaxBlocks, attnWaves)), Eps: a.Eps, Scale: a.scale(),
	}
	for i := range a.Rotary / 2 {
		turn := turns(math.Pow(a.Theta, -2*float64(i)/float64(a.Rotary)) / (2 * math.Pi))
		p.TurnHi[i], p.TurnLo[i] = uint32(turn>>32), uint32(turn)
	}
	return p
}

func (a Attention) mergeParams() AttnMergeParams {
	return AttnMergeParams{
		Heads: uint32(a.Heads), Keys: uint32(a.KVHeads), Gate: flag(a.Gate), Stride: uint32(a.PStride),
		Blocks: uint32(a.MaxBlocks), Scale: a.scale(),
	}
}

func (a Attention) scale() float32 { return float32(1 / math.Sqrt(float64(a.Dim))) }

// turns is the fraction 0 <= x < 1 of a turn in units of 2^-64, exact for every float64.
func turns(x float64) uint64 {
	f := new(big.Float).SetMantExp(big.NewFloat(x), 64)
	u, _ := f.Uint64()
	return u
}

func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

func (a Attention) check(op string) error {
	switch {
	case a.DType > F32:
		return unsupported(op, "type %d", a.DType)
	case a.QKNorm && !(a.Eps > 0):
		return unsupported(op, "eps %v", a.Eps)
	case !slices.Contains(attnDims(), a.Dim):
		return unsupported(op, "head size %d, want one of %v", a.Dim, attnDims())
	case a.KVHeads < 1 || a.Heads > 1024 || a.Heads < a.KVHeads || a.Heads%a.KVHeads != 0:
		return unsupported(op, "%d query heads on %d key heads", a.Heads, a.KVHeads)
	}
	if err := a.checkRotation(op); err != nil {
		return err
	}
	least := (a.Heads*(1+int(flag(a.Gate))) + 2*a.KVHeads) * a.Dim
	if a.PStride < least || a.PStride > 1<<20 {
		return unsupported(op, "rows of %d projections, want at least %d", a.PStride, least)
	}
	return nil
}

func (a Attention) checkRotation(op string) error {
	switch {
	case a.Rotary < 0 || a.Rotary%2 != 0 || a.Rotary > min(a.Dim, 2*attnPairs):
		return unsupported(op, "%d rotated dimensions of %d", a.Rotary, a.Dim)
	case a.Rotary > 0 && !(a.Theta >= 1 && a.Theta <= math.MaxFloat32):
		return unsupported(op, "rotation base %v", a.Theta)
	}
	return nil
}

func (a Attention) checkBlocks(op string) error {
	if a.MaxBlocks < 1 || a.MaxBlocks > MaxPages {
		return unsupported(op, "%d key blocks, want 1 to %d", a.MaxBlocks, MaxPages)
	}
	return nil
}

// blocksLimit cuts a grid dimension of one threadgroup a key block to the blocks that exist.
func blocksLimit(dim int) Limit {
	return Limit{Dim: dim, Offset: uint32(StepOffset + unsafe.Offsetof(StepParams{}.Blocks)), Div: 1}
}

func attnDecodeKernel(d DType, dim int) Kernel {
	return Kernel{
		Name: fmt.Sprintf("attn_decode_%s_d%d", d, dim), File: "attention.metal", Params: AttnParams{},
		Args: []Arg{
			{StepArg, Read},
			{"row", Read},
			{"q_norm", Read},
			{"k_norm", Read},
			{"k", ReadWrite},
			{"v", ReadWrite},
			{"part_o", Write},
			{"part_ml", Write},
		},
	}
}

func attnMergeKernel(d DType, dim int) Kernel {
	return Kernel{
		Name: fmt.Sprintf("attn_merge_%s_d%d", d, dim), File: "attention.metal", Params: AttnMergeParams{},
		Args: []Arg{{StepArg, Read}, {"part_o", Read}, {"part_ml", Read}, {"row", Read}, {"a", Write}},
	}
}

func attnStoreKernel(d DType, dim int) Kernel {
	return Kernel{
		Name: fmt.Sprintf("attn_store_%s_d%d", d, dim), File: "attention_rows.metal", Params: AttnParams{},
		Args: []Arg{
			{StepArg, Read},
			{"rows", Read},
			{"q_norm", Read},
			{"k_norm", Read},
			{"q", Write},
			{"k", Write},
			{"v", Write},
		},
	}
}

func attnRowsKernel(d DType, dim int) Kernel {
	return Kernel{
		Name: fmt.Sprintf("attn_rows_%s_d%d", d, dim), File: "attention_rows.metal", Params: AttnMergeParams{},
		Args: []Arg{{StepArg, Read}, {"q_rows", Read}, {"k", Read}, {"v", Read}, {"rows", Read}, {"a", Write}},
	}
}
