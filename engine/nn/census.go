package nn

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"sotto/engine/gpu"
	"sotto/engine/model"
	"sotto/engine/weights"
	"sotto/kernels"
)

// Neurons is what a [Census] found in one layer.
type Neurons struct {
	Layer          int
	Shared, Routed Count
}

// Count adds up neurons of the experts of one kind. Passes of few rows, which is decode, and of many, which is the
// reading of prompts, are counted apart. A visit is a row in an expert.
type Count struct {
	// Of passes of few rows: neurons of all visits, and those that are not 0.
	Visits, Neurons, Alive int64
	// Bytes that these passes read of down projections: Full is what there is of the visited experts, LiveOnly the
	// weights of live neurons alone, Touched these and the metadata of every group of 64 neurons with a live one.
	Full, LiveOnly, Touched int64
	// Of passes of many rows: neurons of tiles of up to 32 rows of one expert, and those alive for one of the rows.
	TileNeurons, TileAlive int64
	// And neurons of all experts that these passes visited, and those that were ever alive.
	EverNeurons, EverAlive int64
}

// Share is the part of neurons that are alive.
func (c Count) Share() float64 { return share(c.Alive, c.Neurons) }

// TileShare is the part of a tile's neurons that are alive for one of its rows, on average.
func (c Count) TileShare() float64 { return share(c.TileAlive, c.TileNeurons) }

// EverShare is the part of the visited experts' neurons that were alive for any row.
func (c Count) EverShare() float64 { return share(c.EverAlive, c.EverNeurons) }

func share(part, of int64) float64 {
	if of == 0 {
		return 0
	}
	return float64(part) / float64(of)
}

// Census counts live neurons by layer, from the bitmaps that passes with Options.Masks leave. It is a diagnosis: passes
// have to wait for it.
type Census struct {
	model  Model
	layers map[int]*layerCensus // by block
}

// layerCensus is the account of one block. ever holds a bitmap an expert, and a last one for the shared expert.
type layerCensus struct {
	Neurons
	ever [][]uint32
}

// NewCensus starts an account of a model's sparse mixtures of experts.
func NewCensus(m Model) *Census {
	c := &Census{model: m, layers: map[int]*layerCensus{}}
	for i, b := range m.Spec.Blocks {
		if moe, ok := b.Mixer.(*model.SparseMoE); ok {
			c.layers[i] = &layerCensus{Neurons: Neurons{Layer: b.Layer}, ever: make([][]uint32, moe.Experts+1)}
		}
	}
	return c
}

// Add counts a pass that has ended and had so many live rows. scratch is what it was bound to.
func (c *Census) Add(p *Pass, scratch []byte, rows int) {
	for _, k := range p.Masks {
		l := c.layers[k.Block]
		m, ok := c.model.Spec.Blocks[k.Block].Mixer.(*model.SparseMoE)
		if !ok {
			continue
		}
		shared := visits{width: m.SharedInner, masks: words(scratch, k.Shared), experts: make([]uint32, rows)}
		for i := range shared.experts {
			shared.experts[i] = uint32(m.Experts)
		}
		routed := visits{width: m.Inner, masks: words(scratch, k.Routed)}
		routed.experts = words(scratch, k.Chosen)[:rows*m.TopK]
		if p.Rows > MaxDecodeRows {
			l.addTiles(&l.Shared, shared)
			l.addTiles(&l.Routed, routed)
			continue
		}
		l.Shared.add(shared)
		l.Routed.add(routed)
		l.Shared.read(c.model.Weights, m.SharedDown, shared.union(shared.all())) // rows share a reading
		for i := range routed.experts {
			l.Routed.read(c.model.Weights, m.Down, routed.mask(i))
		}
	}
}

// Layers are the counts so far, in the order of layers.
func (c *Census) Layers() []Neurons {
	var out []Neurons
	for _, l := range c.layers {
		n := l.Neurons
		for expert, mask := range l.ever {
			if mask == nil {
				continue
			}
			to := &n.Routed
			if expert == len(l.ever)-1 {
				to = &n.Shared
			}
			to.EverNeurons += int64(len(mask)) * maskBits
			to.EverAlive += population(mask)
		}
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b Neurons) int { return a.Layer - b.Layer })
	return out
}

// visits are rows in experts: visit i is of expert experts[i], with the bitmap i.
type visits struct {
	width   int // neurons of an expert
	masks   []uint32
	experts []uint32
}

func (v visits) mask(i int) []uint32 {
	n := v.width / maskBits
	return v.masks[i*n : (i+1)*n]
}

func (v visits) all() []int {
	out := make([]int, len(v.experts))
	for i := range out {
		out[i] = i
	}
	return out
}

// union joins the bitmaps of some visits.
func (v visits) union(of []int) []uint32 {
	out := make([]uint32, v.width/maskBits)
	for _, i := range of {
		for j, w := range v.mask(i) {
			out[j] |= w
		}
	}
	return out
}

// add counts the visits of a pass of few rows.
func (c *Count) add(v visits) {
	for i := range v.experts {
		c.Visits++
		c.Neurons += int64(v.width)
		c.Alive += population(v.mask(i))
	}
}

// addTiles counts the visits of a pass of many rows by tiles, as the kernels cut them: by expert, in their order.
func (l *layerCensus) addTiles(c *Count, v visits) {
	lists := map[uint32][]int{}
	for i, expert := range v.experts {
		lists[expert] = append(lists[expert], i)
	}
	for expert, list := range lists {
		if l.ever[expert] == nil {
			l.ever[expert] = make([]uint32, v.width/maskBits)
		}
		for tile := range slices.Chunk(list, kernels.NeuronTile) {
			union := v.union(tile)
			c.TileNeurons += int64(v.width)
			c.TileAlive += population(union)
			for j, w := range union {
				l.ever[expert][j] |= w
			}
		}
	}
}

// read counts the bytes of one reading of an expert of a matrix that is stored by neuron.
func (c *Count) read(l *weights.Layout, m model.Matrix, mask []uint32) {
	e, ok := l.Lookup(m.Parts[0].Name)
	if !ok {
		return
	}
	experts, groups := int64(max(e.Experts, 1)), int64(e.Cols/weights.Group)
	neuron := e.Codes.Length / experts / int64(e.Cols)
	group := (e.Scales.Length + e.Biases.Length) / experts / groups
	c.Full += int64(e.Cols)*neuron + groups*group
	alive, touched := population(mask), int64(0)
	for pair := range slices.Chunk(mask, weights.Group/maskBits) {
		if population(pair) > 0 {
			touched++
		}
	}
	c.LiveOnly += alive * neuron
	c.Touched += alive*neuron + touched*group
}

// population is the number of set bits.
func population(mask []uint32) int64 {
	n := 0
	for _, w := range mask {
		n += bits.OnesCount32(w)
	}
	return int64(n)
}

// words copies a range of scratch.
func words(scratch []byte, s gpu.Slice) []uint32 {
	out := make([]uint32, s.Len/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(scratch[s.Off+4*int64(i):])
	}
	return out
}
