package nn

import (
	"sotto/engine/gpu"
	"sotto/engine/model"
)

// maskBits are the neurons of a word of a bitmap.
const maskBits = 32

// Masks are the ranges in which a pass leaves what one sparse mixture of experts found: bit i%32 of word i/32 of a
// row's bitmap tells whether its neuron i is alive.
type Masks struct {
	Block  int       // of the Spec
	Shared gpu.Slice // u32 [Rows][SharedInner/32]
	Routed gpu.Slice // u32 [Rows][TopK][Inner/32]
	Chosen gpu.Slice // u32 [Rows][TopK], experts
}

// newMasks hands out the ranges. Where they are to be kept, later blocks do not reuse them.
func (r *recorder) newMasks(m *model.SparseMoE, block int) Masks {
	k := Masks{
		Block:  block,
		Shared: r.alloc(r.Rows, m.SharedInner/maskBits, 4),
		Routed: r.alloc(r.Rows*m.TopK, m.Inner/maskBits, 4),
		Chosen: r.alloc(r.Rows, m.TopK, 4),
	}
	if r.Masks {
		r.base = r.top
		r.masks = append(r.masks, k)
	}
	return k
}
