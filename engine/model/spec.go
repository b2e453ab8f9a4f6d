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

// Mixer is a *[GatedDelta], a *[Mamba2], an *[Attention], a *[MoE] or a *[SparseMoE].
type Mixer interface {
	// kind is the word for it in [Spec.Kinds], "delta".
	kind() string
	// weights calls matrix and vector for all that the mixer holds, in the order of use. Vectors without a name are
	// not there.
	weights(matrix func(Matrix), vector func(weights.Item))
}

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

func (*GatedDelta) kind() string { return "delta" }

func (d *GatedDelta) weights(matrix func(Matrix), vector func(weights.Item)) {
	matrix(d.In)
	vector(d.ConvWeight)
	vector(d.ALog)
	vector(d.DtBias)
	vector(d.Norm)
	matrix(d.Out)
}

// Mamba2 is a selective state space (Dao and Gu, "Transformers are SSMs", arXiv 2405.21060): a short causal
// convolution with a bias, then a recurrence with one decay a head, then a norm by groups of heads.
type Mamba2 struct {
	Heads, Dim int // heads and their size
	State      int // size of the state of a channel
	Groups     int // heads in one group share B and C, and a norm
	Conv       int // taps of the convolution
	// MinStep and MaxStep are the limits of the time step, 0 and +Inf where there are none.
	MinStep, MaxStep float32
	In               Matrix
	ConvWeight       weights.Item // bf16 [Channels][Conv]
	ConvBias         weights.Item // bf16 [Channels]
	ALog, D, DtBias  weights.Item // f32 [Heads]
	Norm             weights.Item // bf16 [Heads*Dim]
	Out              Matrix       // [Hidden][Heads*Dim]
}

// Channels is the width of the convolution: x, B and C. The outputs of In are
// z [Heads*Dim] | x [Heads*Dim] | B [Groups*State] | C [Groups*State] | dt [Heads].
func (m *Mamba2) Channels() int { return m.Heads*m.Dim + 2*m.Groups*m.State }

func (*Mamba2) kind() string { return "mamba" }

func (m *Mamba2) weights(matrix func(Matrix), vector func(weights.Item)) {
	matrix(m.In)
	for _, it := range []weights.Item{m.ConvWeight, m.ConvBias, m.ALog, m.D, m.DtBias, m.Norm} {
		vector(it)
	}
	matrix(m.Out)
}

// Attention is softmax attention with grouped key and value heads.
type Attention struct {
	Heads, KVHeads int
	Dim            int          // of a head
	Rotary         int          // leading dimensions of a head that are rotated, half-split pairs; 0: none
	Theta          float64      // base of the rotary frequencies
	Gate           bool         // every query head is followed by a gate head: the output is scaled by its sigmoid
	In             Matrix       // q0 | g0 | q1 | g1 ... | k | v
	QNorm, KNorm   weights.Item // bf16 [Dim]; both without a name: no norms
	Out            Matrix       // [Hidden][Heads*Dim]
}

func (*Attention) kind() string { return "attention" }

func (a *Attention) weights(matrix func(Matrix), vector func(weights.Item)) {
	matrix(a.In)
	vector(a.QNorm)
	vector(a.KNorm)
	matrix(a.Out)
}

// MoE is a mixture of gated experts with one shared expert that always takes part.
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

func (*MoE) kind() string { return "experts" }

func (m *MoE) weights(matrix func(Matrix), _ func(weights.Item)) {
	for _, w := range []Matrix{m.Router, m.SharedGateUp, m.SharedDown, m.GateUp, m.Down} {
		matrix(w)
	}
}

// SparseMoE is a mixture of experts without gates, y = down(relu(up(x))^2), with one shared expert that is added as it
// is. Most neurons of such an expert are exactly 0 for a row, and the rows of the down projections that belong to them
// need not be read: these are stored by neuron.
//
// Experts are chosen by s + Correction, s = sigmoid(Router(x)), and weighed by s alone: Scale * s, with Normalise
// divided by the sum over the chosen. With more than one group only the TopGroups groups with the largest sums of their
// two best experts take part.
type SparseMoE struct {
	Experts, TopK      int
	Groups, TopGroups  int // 1 of 1: no groups
	Inner, SharedInner int // neurons of a routed and of the shared expert
	Scale              float32
	Normalise          bool
	Router             Matrix       // [Experts][Hidden]
	Correction         weights.Item // f32 [Experts]
	Up                 Matrix       // experts: [Inner][Hidden]
	Down               Matrix       // experts: [Hidden][Inner], neuron-major
	SharedUp           Matrix       // [SharedInner][Hidden]
	SharedDown         Matrix       // [Hidden][SharedInner], neuron-major
}

func (*SparseMoE) kind() string { return "experts" }

func (m *SparseMoE) weights(matrix func(Matrix), vector func(weights.Item)) {
	matrix(m.Router)
	vector(m.Correction)
	for _, w := range []Matrix{m.SharedUp, m.SharedDown, m.Up, m.Down} {
		matrix(w)
	}
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
		b.Mixer.weights(matrix, add)
	}
	add(s.Norm)
	matrix(s.Head)
	return *r
}

// Kinds says what each decoder layer is made of, "delta + experts".
func (s *Spec) Kinds() []string {
	kinds := make([]string, s.Layers)
	for _, b := range s.Blocks {
		kind := b.Mixer.kind()
		if kinds[b.Layer] != "" {
			kind = kinds[b.Layer] + " + " + kind
		}
		kinds[b.Layer] = kind
	}
	return kinds
}
