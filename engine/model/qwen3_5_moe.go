package model

import (
	"fmt"

	"sotto/engine/weights"
)

// qwen35 holds the numbers of a qwen3_5_moe config.
type qwen35 struct {
	hidden, vocab, layers, window int
	eps                           float64
	full                          []bool // layer has full attention instead of a gated delta net
	delta                         GatedDelta
	attention                     Attention
	moe                           MoE
	tied                          bool
}

// Modules of the checkpoint.
const (
	qwenBody = "language_model.model."
	qwenHead = "language_model.lm_head"
)

// qwen35MoE builds the Spec of Qwen3.5 and Qwen3.6 mixtures: every layer is a gated delta net or gated attention,
// then experts. The numbers are in text_config, or at the top of a flat config. Norm weights of mlx checkpoints
// already include the 1 that the original release leaves out. Vision towers and drafting heads are ignored.
func qwen35MoE(root *object, b *builder) *Spec {
	t := root.child("text_config")
	if t == nil {
		t = root
	}
	c := parseQwen35(root, t)
	if *root.fault != nil {
		return nil
	}
	s := &Spec{Layers: c.layers, Hidden: c.hidden, Vocab: c.vocab, Window: c.window, Eps: float32(c.eps)}
	s.Embed = b.matrix("embed", c.hidden, weights.Source{Name: qwenBody + "embed_tokens", Rows: c.vocab})
	for i, full := range c.full {
		s.Blocks = append(s.Blocks, c.mixerBlock(b, i, full), c.moeBlock(b, i))
		if b.err != nil {
			return nil
		}
	}
	s.Norm = b.vector("norm", qwenBody+"norm.weight", c.hidden, 1, weights.BF16)
	s.Head = s.Embed
	if !c.tied {
		s.Head = b.matrix("head", c.hidden, weights.Source{Name: qwenHead, Rows: c.vocab})
	}
	s.Stops = append(root.stops("eos_token_id", c.vocab), t.stops("eos_token_id", c.vocab)...)
	return s
}

func parseQwen35(root, t *object) *qwen35 {
	c := &qwen35{
		hidden: t.multiple("hidden_size", weights.Group, maxHidden),
		vocab:  t.integer("vocab_size", 1, maxVocab),
		layers: t.integer("num_hidden_layers", 1, maxLayers),
		window: t.integer("max_position_embeddings", 1, maxWindow),
		eps:    t.float("rms_norm_eps", 1e-6, 1e-12, 1),
		delta: GatedDelta{
			KeyHeads:   t.integer("linear_num_key_heads", 1, maxHeads),
			ValueHeads: t.integer("linear_num_value_heads", 1, maxHeads),
			KeyDim:     t.multiple("linear_key_head_dim", 32, maxDim),
			ValueDim:   t.multiple("linear_value_head_dim", 32, maxDim),
			Conv:       t.integer("linear_conv_kernel_dim", 4, 4),
		},
		attention: Attention{
			Heads:   t.integer("num_attention_heads", 1, maxHeads),
			KVHeads: t.integer("num_key_value_heads", 1, maxHeads),
			Dim:     t.multiple("head_dim", 32, maxDim),
			Gate:    true,
		},
		moe: MoE{
			Experts:     t.integer("num_experts", 1, maxExperts),
			TopK:        t.integer("num_experts_per_tok", 1, maxExperts),
			Inner:       t.multiple("moe_intermediate_size", weights.Group, maxHidden),
			SharedInner: t.multiple("shared_expert_intermediate_size", weights.Group, maxHidden),
		},
		tied: t.boolean("tie_word_embeddings", root.boolean("tie_word_embeddings", false)),
	}
	t.must("hidden_act", `"silu"`)
	t.must("attention_bias", "false")
	t.must("attn_output_gate", "true")
	t.must("norm_topk_prob", "true")
	t.must("output_gate_type", `"swish"`)
	t.must("decoder_sparse_step", "1")
	t.must("mlp_only_layers", "[]")
	t.divides("num_key_value_heads", c.attention.KVHeads, "num_attention_heads", c.attention.Heads)
	t.divides("linear_num_key_heads", c.delta.KeyHeads, "linear_num_value_heads", c.delta.ValueHeads)
	if c.moe.TopK > c.moe.Experts {
		t.fail("num_experts_per_tok", "%d is more than the %d experts", c.moe.TopK, c.moe.Experts)
	}
	c.rotary(t)
	c.full = layerTypes(t, c.layers)
	return c
}

// multiple returns a positive multiple of n up to hi.
func (o *object) multiple(key string, n, hi int) int {
	v := o.integer(key, n, hi)
	if v%n != 0 {
		o.fail(key, "%d is not a multiple of %d", v, n)
	}
	return v
}

func (o *object) divides(small string, n int, large string, m int) {
	if m%n != 0 {
		o.fail(large, "%d is not a multiple of %s, %d", m, small, n)
	}
}

// rotary reads rope_parameters, with its type as "type" or "rope_type" and its base here or a level up. Text has
// the same position in all three streams of the multimodal form, which then is the plain one.
func (c *qwen35) rotary(t *object) {
	theta, factor := t.float("rope_theta", 1e7, 1, 1e12), t.float("partial_rotary_factor", 0.25, 0, 1)
	for _, key := range []string{"rope_parameters", "rope_scaling"} {
		r := t.child(key)
		if r == nil {
			continue
		}
		r.must("type", `"default"`)
		r.must("rope_type", `"default"`)
		theta, factor = r.float("rope_theta", theta, 1, 1e12), r.float("partial_rotary_factor", factor, 0, 1)
		break
	}
	a := &c.attention
	a.Theta, a.Rotary = theta, int(float64(a.Dim)*factor)
	if a.Rotary%2 != 0 || a.Rotary == 0 {
		t.fail("partial_rotary_factor", "%v of %d dimensions is no positive even number", factor, a.Dim)
	}
}

// layerTypes tells which layers have full attention: layer_types, or every full_attention_interval-th layer.
func layerTypes(t *object, layers int) []bool {
	full := make([]bool, layers)
	if !t.has("layer_types") {
		every := t.optional("full_attention_interval", 4, 1, maxLayers)
		for i := range full {
			full[i] = (i+1)%every == 0
		}
		return full
	}
	types, err := words(t.list("layer_types", maxLayers))
	if err == nil && len(types) != layers {
		err = fmt.Errorf("%d elements for %d layers", len(types), layers)
	}
	if err != nil {
		t.fail("layer_types", "%v", err)
		return full
	}
	for i, name := range types {
		switch name {
		case "full_attention", "attention":
			full[i] = true
		case "linear_attention":
		default:
			t.fail("layer_types", "%q of layer %d is not supported, only linear_attention and full_attention", name, i)
		}
	}
	return full
}

// mixerBlock is the first half of layer i.
func (c *qwen35) mixerBlock(b *builder, i int, full bool) Block {
	from, to := fmt.Sprintf("%slayers.%d.", qwenBody, i), fmt.Sprintf("layers.%d.", i)
	block := Block{Layer: i, Norm: b.vector(to+"norm", from+"input_layernorm.weight", c.hidden, 1, weights.BF16)}
	if full {
		block.Mixer = c.attentionMixer(b, from+"self_attn.", to+"attention.")
	} else {
		block.Mixer = c.deltaMixer(b, from+"linear_attn.", to+"delta.")
	}
	return block
}

func (c *qwen35) deltaMixer(b *builder, from, to string) *GatedDelta {
	d := c.delta
	channels, values := d.Channels(), d.ValueHeads*d.ValueDim
	d.In = b.matrix(to+"in", c.hidden,
		weights.Source{Name: from + "in_proj_qkv", Rows: channels},
		weights.Source{Name: from + "in_proj_z", Rows: values},
		weights.Source{Name: from + "in_proj_b", Rows: d.ValueHeads},
		weights.Source{Name: from + "in_proj_a", Rows: d.ValueHeads})
	d.ConvWeight = b.vector(to+"conv", from+"conv1d.weight", channels, d.Conv, weights.BF16)
	d.ALog = b.vector(to+"a_log", from+"A_log", d.ValueHeads, 1, weights.F32)
	d.DtBias = b.vector(to+"dt_bias", from+"dt_bias", d.ValueHeads, 1, weights.F32)
	d.Norm = b.vector(to+"norm", from+"norm.weight", d.ValueDim, 1, weights.BF16)
	d.Out = b.matrix(to+"out", values, weights.Source{Name: from + "out_proj", Rows: c.hidden})
	return &d
}

func (c *qwen35) attentionMixer(b *builder, from, to string) *Attention {
	a := c.attention
	queries, keys := a.Heads*a.Dim, a.KVHeads*a.Dim
	a.In = b.matrix(to+"in", c.hidden,
		weights.Source{Name: from + "q_proj", Rows: 2 * queries},
		weights.Source{Name: from + "k_proj", Rows: keys},
		weights.Source{Name: from + "v_proj", Rows: keys})
	a.QNorm = b.vector(to+"q_norm", from+"q_norm.weight", a.Dim, 1, weights.BF16)
	a.KNorm = b.vector(to+"k_norm", from+"k_norm.weight", a.Dim, 1, weights.BF16)
	a.Out = b.matrix(to+"out", queries, weights.Source{Name: from + "o_proj", Rows: c.hidden})
	return &a
}

// moeBlock is the second half of layer i.
func (c *qwen35) moeBlock(b *builder, i int) Block {
	from, to := fmt.Sprintf("%slayers.%d.", qwenBody, i), fmt.Sprintf("layers.%d.moe.", i)
	m := c.moe
	mlp := func(module string, rows int) weights.Source {
		return weights.Source{Name: from + "mlp." + module, Rows: rows}
	}
	norm := b.vector(to+"norm", from+"post_attention_layernorm.weight", c.hidden, 1, weights.BF16)
	m.Router = b.matrix(to+"router", c.hidden, mlp("gate", m.Experts), mlp("shared_expert_gate", 1))
	m.SharedGateUp = b.pairs(to+"shared_gate_up", 0, c.hidden,
		mlp("shared_expert.gate_proj", m.SharedInner), mlp("shared_expert.up_proj", m.SharedInner))
	m.SharedDown = b.matrix(to+"shared_down", m.SharedInner, mlp("shared_expert.down_proj", c.hidden))
	m.GateUp = b.pairs(to+"gate_up", m.Experts, c.hidden,
		mlp("switch_mlp.gate_proj", m.Inner), mlp("switch_mlp.up_proj", m.Inner))
	m.Down = b.experts(to+"down", m.Experts, m.Inner, mlp("switch_mlp.down_proj", c.hidden))
	return Block{Layer: i, Norm: norm, Mixer: &m}
}
