package model

import (
	"bytes"
	"fmt"
	"math"

	"sotto/engine/weights"
)

// nemotron holds the numbers of a nemotron_h config.
type nemotron struct {
	hidden, vocab, window int
	eps                   float64
	pattern               []byte // a layer each, as layerKinds has them
	mamba                 Mamba2
	attention             Attention
	moe                   SparseMoE
	tied                  bool
}

// Modules of the checkpoint.
const (
	nemotronBody = "backbone."
	nemotronHead = "lm_head"
)

// Kinds of layers, as a pattern spells them.
const (
	mambaLayer     = 'M'
	attentionLayer = '*'
	moeLayer       = 'E'
	mlpLayer       = '-'
)

// nemotronH builds the Spec of Nemotron 3 hybrids: every layer is one mixer, a Mamba-2, an attention that knows no
// positions, or experts without gates. Drafting heads ("mtp") are ignored.
func nemotronH(root *object, b *builder) *Spec {
	c := parseNemotron(root)
	if *root.fault != nil {
		return nil
	}
	s := &Spec{Layers: len(c.pattern), Hidden: c.hidden, Vocab: c.vocab, Window: c.window, Eps: float32(c.eps)}
	s.Embed = b.matrix("embed", c.hidden, weights.Source{Name: nemotronBody + "embeddings", Rows: c.vocab})
	for i := range c.pattern {
		s.Blocks = append(s.Blocks, c.block(b, i))
		if b.err != nil {
			return nil
		}
	}
	s.Norm = b.vector("norm", nemotronBody+"norm_f.weight", c.hidden, 1, weights.BF16)
	s.Head = s.Embed
	if !c.tied {
		s.Head = b.matrix("head", c.hidden, weights.Source{Name: nemotronHead, Rows: c.vocab})
	}
	s.Stops = root.stops("eos_token_id", c.vocab)
	return s
}

// parseNemotron reads the config. rope_theta and partial_rotary_factor may be there and mean nothing: attention has no
// rotation. time_step_min, _max and _floor are for the initialisation only.
func parseNemotron(o *object) *nemotron {
	c := &nemotron{
		hidden: o.multiple("hidden_size", weights.Group, maxHidden),
		vocab:  o.integer("vocab_size", 1, maxVocab),
		window: o.integer("max_position_embeddings", 1, maxWindow),
		eps:    o.float("layer_norm_epsilon", o.float("norm_eps", 1e-5, 1e-12, 1), 1e-12, 1),
		tied:   o.boolean("tie_word_embeddings", false),
	}
	for _, field := range [][2]string{
		{"attention_bias", "false"},
		{"mlp_bias", "false"},
		{"mamba_proj_bias", "false"},
		{"use_bias", "false"},
		{"use_conv_bias", "true"},
		{"residual_in_fp32", "false"},
		{"mamba_hidden_act", `"silu"`},
		{"mlp_hidden_act", `"relu2"`},
	} {
		o.must(field[0], field[1])
	}
	for _, key := range []string{"sliding_window", "moe_latent_size"} {
		if o.has(key) {
			o.fail(key, "is not supported")
		}
	}
	c.pattern = layerPattern(o)
	has := func(kind byte) bool { return bytes.IndexByte(c.pattern, kind) >= 0 && *o.fault == nil }
	if has(mambaLayer) {
		c.mamba = parseMamba(o)
	}
	if has(attentionLayer) {
		c.attention = parsePlainAttention(o, c.hidden)
	}
	if has(moeLayer) {
		c.moe = parseSparseMoE(o)
	}
	return c
}

func parseMamba(o *object) Mamba2 {
	m := Mamba2{
		Heads:  o.integer("mamba_num_heads", 1, maxHeads),
		Dim:    o.multiple("mamba_head_dim", 8, maxDim),
		State:  o.multiple("ssm_state_size", 32, maxDim),
		Groups: o.integer("n_groups", 1, maxHeads),
		Conv:   o.integer("conv_kernel", 4, 4),
	}
	o.divides("n_groups", m.Groups, "mamba_num_heads", m.Heads)
	m.MinStep, m.MaxStep = timeStepLimit(o)
	return m
}

// maxStep is the largest lower limit of a time step that makes sense: an infinite one leaves no numbers.
const maxStep = 1e6

// timeStepLimit reads time_step_limit: a list of two, of which the second may be infinite, see [number]. Where it is
// absent or null there is no limit.
func timeStepLimit(o *object) (lo, hi float32) {
	const key = "time_step_limit"
	list := o.list(key, 2)
	if !o.has(key) || *o.fault != nil {
		return 0, float32(math.Inf(1))
	}
	if len(list) != 2 {
		o.fail(key, "want two numbers, is %.40s", o.fields[key])
		return 0, 0
	}
	a, ok := number(list[0])
	b, ok2 := number(list[1])
	switch {
	case !ok || !ok2 || !(a >= 0 && a <= b):
		o.fail(key, "want two numbers, the second not below the first, is %.60s", o.fields[key])
	case a > maxStep:
		o.fail(key, "the first number is outside 0 to %v, is %.60s", float64(maxStep), o.fields[key])
	}
	return float32(a), float32(b)
}

func parsePlainAttention(o *object, hidden int) Attention {
	a := Attention{
		Heads:   o.integer("num_attention_heads", 1, maxHeads),
		KVHeads: o.integer("num_key_value_heads", 1, maxHeads),
	}
	o.divides("num_key_value_heads", a.KVHeads, "num_attention_heads", a.Heads)
	if o.has("head_dim") {
		a.Dim = o.multiple("head_dim", 32, maxDim)
		return a
	}
	a.Dim = hidden / a.Heads
	if hidden%a.Heads != 0 || a.Dim%32 != 0 || a.Dim > maxDim {
		o.fail("head_dim", "is missing, and %d heads do not share a hidden size of %d", a.Heads, hidden)
	}
	return a
}

func parseSparseMoE(o *object) SparseMoE {
	m := SparseMoE{
		Experts:     o.integer("n_routed_experts", 1, maxExperts),
		TopK:        o.integer("num_experts_per_tok", 1, maxExperts),
		Inner:       o.multiple("moe_intermediate_size", weights.Group, maxHidden),
		SharedInner: o.multiple("moe_shared_expert_intermediate_size", weights.Group, maxHidden),
		Scale:       float32(o.float("routed_scaling_factor", 1, 1e-6, 1e6)),
		Normalise:   o.boolean("norm_topk_prob", true),
		Groups:      o.optional("n_group", 1, 1, maxExperts),
		TopGroups:   o.optional("topk_group", 1, 1, maxExperts),
	}
	o.must("n_shared_experts", "1")
	o.divides("n_group", m.Groups, "n_routed_experts", m.Experts)
	switch {
	case m.Groups > 1 && m.Groups == m.Experts:
		o.fail("n_group", "%d groups of one expert, want at least two in each", m.Groups)
	case m.TopGroups > m.Groups:
		o.fail("topk_group", "%d is more than the %d groups", m.TopGroups, m.Groups)
	case m.TopK > m.Experts:
		o.fail("num_experts_per_tok", "%d is more than the %d experts", m.TopK, m.Experts)
	case m.TopK > m.TopGroups*(m.Experts/m.Groups):
		o.fail("num_experts_per_tok", "%d is more than the experts of topk_group, %d", m.TopK, m.TopGroups)
	}
	return m
}

// layerPattern reads the kinds of the layers: hybrid_override_pattern, a string such as "MEM*E" or a list of its
// letters, or else a list of names.
func layerPattern(o *object) []byte {
	key := "hybrid_override_pattern"
	var kinds []byte
	if r, ok := o.raw(key); ok && r[0] == '"' {
		kinds = []byte(o.text(key, ""))
	} else {
		for _, other := range []string{"layers_block_type", "layer_types"} {
			if !o.has(key) && o.has(other) {
				key = other
			}
		}
		if !o.has(key) {
			o.fail(key, "is missing, and layers_block_type too")
		}
		kinds = layerNames(o, key)
	}
	if len(kinds) == 0 || len(kinds) > maxLayers {
		o.fail(key, "%d layers, want 1 to %d", len(kinds), maxLayers)
	}
	for i, k := range kinds {
		switch k {
		case mambaLayer, attentionLayer, moeLayer:
		case mlpLayer:
			o.fail(key, "layer %d is an MLP without experts, which is not supported", i)
		default:
			o.fail(key, "%q of layer %d is not supported, only M, * and E", k, i)
		}
	}
	if n := o.optional("num_hidden_layers", len(kinds), 1, maxLayers); n != len(kinds) {
		o.fail(key, "%d elements for %d layers", len(kinds), n)
	}
	return kinds
}

// layerNames reads a list of kinds, by their names or letters.
func layerNames(o *object, key string) []byte {
	list, err := words(o.list(key, maxLayers))
	if err != nil {
		o.fail(key, "%v", err)
	}
	var kinds []byte
	for i, name := range list {
		switch name {
		case "mamba", "linear_attention", "M":
			kinds = append(kinds, mambaLayer)
		case "attention", "full_attention", "*":
			kinds = append(kinds, attentionLayer)
		case "moe", "E":
			kinds = append(kinds, moeLayer)
		case "mlp", "-":
			kinds = append(kinds, mlpLayer)
		default:
			o.fail(key, "%q of layer %d is not supported, only mamba, attention and moe", name, i)
		}
	}
	return kinds
}

// block is layer i.
func (c *nemotron) block(b *builder, i int) Block {
	from, to := fmt.Sprintf("%slayers.%d.", nemotronBody, i), fmt.Sprintf("layers.%d.", i)
	block := Block{Layer: i, Norm: b.vector(to+"norm", from+"norm.weight", c.hidden, 1, weights.BF16)}
	from += "mixer."
	switch c.pattern[i] {
	case mambaLayer:
		block.Mixer = c.mambaMixer(b, from, to+"mamba.")
	case attentionLayer:
		block.Mixer = c.attentionMixer(b, from, to+"attention.")
	default:
		block.Mixer = c.moeMixer(b, from, to+"moe.")
	}
	return block
}

func (c *nemotron) mambaMixer(b *builder, from, to string) *Mamba2 {
	m := c.mamba
	inner, channels := m.Heads*m.Dim, m.Channels()
	m.In = b.matrix(to+"in", c.hidden, weights.Source{Name: from + "in_proj", Rows: inner + channels + m.Heads})
	m.ConvWeight = b.vector(to+"conv", from+"conv1d.weight", channels, m.Conv, weights.BF16)
	m.ConvBias = b.vector(to+"conv_bias", from+"conv1d.bias", channels, 1, weights.BF16)
	m.ALog = b.vector(to+"a_log", from+"A_log", m.Heads, 1, weights.F32)
	m.D = b.vector(to+"d", from+"D", m.Heads, 1, weights.F32)
	m.DtBias = b.vector(to+"dt_bias", from+"dt_bias", m.Heads, 1, weights.F32)
	m.Norm = b.vector(to+"norm", from+"norm.weight", inner, 1, weights.BF16)
	m.Out = b.matrix(to+"out", inner, weights.Source{Name: from + "out_proj", Rows: c.hidden})
	return &m
}

func (c *nemotron) attentionMixer(b *builder, from, to string) *Attention {
	a := c.attention
	queries, keys := a.Heads*a.Dim, a.KVHeads*a.Dim
	a.In = b.matrix(to+"in", c.hidden,
		weights.Source{Name: from + "q_proj", Rows: queries},
		weights.Source{Name: from + "k_proj", Rows: keys},
		weights.Source{Name: from + "v_proj", Rows: keys})
	a.Out = b.matrix(to+"out", queries, weights.Source{Name: from + "o_proj", Rows: c.hidden})
	return &a
}

// moeMixer is a layer of experts. The router is plain bf16 and never quantised; the correction is f32.
func (c *nemotron) moeMixer(b *builder, from, to string) *SparseMoE {
	m := c.moe
	m.Router = Matrix{Rows: m.Experts, Cols: c.hidden, Parts: []Part{{Item: weights.Item{
		Name: to + "router", Sources: []weights.Source{{Name: from + "gate", Rows: m.Experts}}, Rows: m.Experts,
		Cols: c.hidden, Format: weights.B16,
	}}}}
	m.Correction = b.vector(to+"correction", from+"gate.e_score_correction_bias", m.Experts, 1, weights.F32)
	m.SharedUp = b.only4(b.matrix(to+"shared_up", c.hidden,
		weights.Source{Name: from + "shared_experts.up_proj", Rows: m.SharedInner}))
	m.SharedDown = b.neurons(to+"shared_down", 0, m.SharedInner,
		weights.Source{Name: from + "shared_experts.down_proj", Rows: c.hidden})
	m.Up = b.only4(b.experts(to+"up", m.Experts, c.hidden,
		weights.Source{Name: from + "switch_mlp.fc1", Rows: m.Inner}))
	m.Down = b.neurons(to+"down", m.Experts, m.Inner, weights.Source{Name: from + "switch_mlp.fc2", Rows: c.hidden})
	return &m
}
