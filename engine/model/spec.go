// Package model turns a checkpoint's config.json into a [Spec]: plain data that says which blocks a decoder has,
// their shapes, and which tensors of the checkpoint make up each matrix. Everything above works from the Spec, so
// a new family is one file here, with a line in [families].
//
// Invariants of a Spec: every number has been checked against a limit, so sizes derived from it neither overflow
// nor surprise an allocator; matrices name their sources in the order in which the kernels want the rows stacked;
// a Spec made with a checkpoint names only tensors that are there, in the shapes that it says. The package reads
// no weights, knows no device and records no program.
package model

import "sotto/engine/weights"

// Spec is a decoder as data: token embedding, a flat list of residual blocks, a final norm and a head.
//
//	x = embed(ids); for each block: x += mixer(rms(x; block.Norm)); logits = head(rms(x; Norm))
type Spec struct {
	Family string // model_type of config.json, "qwen3_5_moe"
	Layers int    // decoder layers; a layer may be several blocks
	Hidden int    // width of the residual stream
	Vocab  int    // rows of the embedding and of the head
	Window int    // positions the model was made for
	Eps    float32
	Embed  Matrix // [Vocab][Hidden]
	Blocks []Block
	Norm   weights.Item // bf16 [Hidden]
	Head   Matrix       // [Vocab][Hidden]; the embedding itself where the two are tied
	// Stops are the end-of-text ids of config.json and generation_config.json, ascending, without repeats.
	Stops    []int
	Sampling Sampling
}

// Sampling holds the defaults that generation_config.json suggests.
type Sampling struct {
	Temperature float32 // 0: greedy
	TopP        float32 // 1: off
	MinP        float32 // 0: off
	TopK        int     // 0: off
}

// Block is one residual branch: x += mixer(rms(x; Norm)).
type Block struct {
	Layer int
	Norm  weights.Item // bf16 [Hidden]
	Mixer Mixer
}

// Mixer is a *[GatedDelta], an *[Attention] or a *[MoE].
type Mixer interface{ mixer() }

func (*GatedDelta) mixer() {}
func (*Attention) mixer()  {}
func (*MoE) mixer()        {}

// Matrix is a weight matrix that maps Cols inputs to Rows outputs, in parts that differ in format. Every part
// writes its own run of outputs; together they cover all of them in order. Most matrices have one part.
type Matrix struct {
	Rows, Cols int
	Parts      []Part
}

// Part is a run of rows of a [Matrix] in one format.
type Part struct {
	weights.Item
	First int // its first output
}

// Has tells whether the matrix is there at all.
func (m Matrix) Has() bool { return len(m.Parts) > 0 }

// GatedDelta is a gated delta net: a short causal convolution, then a linear recurrence on a matrix state.
type GatedDelta struct {
	KeyHeads, ValueHeads int
	KeyDim, ValueDim     int // of a head
	Conv                 int // taps of the convolution
	In                   Matrix
	ConvWeight           weights.Item // bf16 [Channels][Conv]
	ALog, DtBias         weights.Item // f32 [ValueHeads]
	Norm                 weights.Item // bf16 [ValueDim]
	Out                  Matrix       // [Hidden][ValueHeads*ValueDim]
}

// Channels is the width of the convolution: q, k and v of all heads. The outputs of In are
// q | k | v (together Channels) | z [ValueHeads*ValueDim] | b [ValueHeads] | a [ValueHeads].
func (d *GatedDelta) Channels() int { return 2*d.KeyHeads*d.KeyDim + d.ValueHeads*d.ValueDim }

// Attention is softmax attention with grouped key and value heads.
type Attention struct {
	Heads, KVHeads int
	Dim            int          // of a head
	Rotary         int          // leading dimensions of a head that are rotated, half-split pairs; 0: none
	Theta          float64      // base of the rotary frequencies
	Gate           bool         // every query head is followed by a gate head: the output is scaled by its sigmoid
	In             Matrix       // q0 | g0 | q1 | g1 ... | k | v
	QNorm, KNorm   weights.Item // bf16 [Dim]
	Out            Matrix       // [Hidden][Heads*Dim]
}

// MoE is a mixture of experts with one shared expert that always takes part.
type MoE struct {
	Experts, TopK int
	Inner         int    // width of a routed expert
	SharedInner   int    // width of the shared expert
	Router        Matrix // [Experts+1][Hidden]: a row an expert, then the gate of the shared expert
	GateUp        Matrix // experts: [2*Inner][Hidden], rows alternate gate and up
	Down          Matrix // experts: [Hidden][Inner]
	SharedGateUp  Matrix // [2*SharedInner][Hidden], rows alternate gate and up
	SharedDown    Matrix // [Hidden][SharedInner]
}

// Recipe lists what the weight pack must hold for this model, in the order of use.
func (s *Spec) Recipe() weights.Recipe {
	r := &weights.Recipe{}
	seen := map[string]bool{}
	add := func(it weights.Item) {
		if it.Name != "" && !seen[it.Name] {
			seen[it.Name] = true
			r.Items = append(r.Items, it)
		}
	}
	matrix := func(m Matrix) {
		for _, p := range m.Parts {
			add(p.Item)
		}
	}
	matrix(s.Embed)
	for _, b := range s.Blocks {
		add(b.Norm)
		switch m := b.Mixer.(type) {
		case *GatedDelta:
			matrix(m.In)
			for _, it := range []weights.Item{m.ConvWeight, m.ALog, m.DtBias, m.Norm} {
				add(it)
			}
			matrix(m.Out)
		case *Attention:
			matrix(m.In)
			add(m.QNorm)
			add(m.KNorm)
			matrix(m.Out)
		case *MoE:
			for _, w := range []Matrix{m.Router, m.SharedGateUp, m.SharedDown, m.GateUp, m.Down} {
				matrix(w)
			}
		}
	}
	add(s.Norm)
	matrix(s.Head)
	return *r
}
