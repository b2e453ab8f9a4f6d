package model_test

import (
	"math"
	"strings"
	"testing"

	"sotto/engine/model"
	"sotto/engine/weights"
)

func TestNemotronFullSize(t *testing.T) {
	s, warnings, err := model.SpecFromConfig(read(t, "nemotron35_lightning.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) > 0 {
		t.Errorf("warnings %v", warnings)
	}
	got, want := [...]int{s.Layers, s.Hidden, s.Vocab, s.Window, len(s.Blocks)}, [...]int{52, 2688, 131072, 262144, 52}
	if got != want {
		t.Errorf("layers, hidden, vocab, window, blocks: got %v, want %v", got, want)
	}
	pattern := ""
	for i, b := range s.Blocks {
		if b.Layer != i {
			t.Errorf("block %d: layer %d", i, b.Layer)
		}
		switch m := b.Mixer.(type) {
		case *model.Mamba2:
			pattern += "M"
			if m.Channels() != 6144 || m.In.Rows != 10304 || m.MinStep != 0 || !math.IsInf(float64(m.MaxStep), 1) {
				t.Errorf("block %d: %+v", i, m)
			}
		case *model.Attention:
			pattern += "*"
			if m.In.Rows != 4608 || m.Rotary != 0 || m.Gate || m.QNorm.Name != "" {
				t.Errorf("block %d: %+v", i, m)
			}
		case *model.SparseMoE:
			pattern += "E"
			if m.Router.Rows != 128 || m.Router.Parts[0].Format != weights.B16 || m.Scale != 2.5 || !m.Normalise {
				t.Errorf("block %d: %+v", i, m)
			}
			for _, w := range []model.Matrix{m.Down, m.SharedDown} {
				if p := w.Parts[0]; len(w.Parts) != 1 || p.Format != weights.NM || p.Rows != 2688 {
					t.Errorf("block %d: down projection %+v", i, w)
				}
			}
		}
	}
	if want := "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"; pattern != want {
		t.Errorf("got %s, want %s", pattern, want)
	}
}

func TestNemotronForms(t *testing.T) {
	change := func(value any, key string) []byte { return editFile(t, "nemotron_tiny.json", value, key) }
	limit := func(text string) []byte {
		return []byte(strings.Replace(string(read(t, "nemotron_tiny.json")), "{", `{"time_step_limit": `+text+",", 1))
	}
	listed := func(key string, names ...string) []byte {
		old := `"hybrid_override_pattern": "MEMEM*EMEMEM*E"`
		list := `"` + key + `": ["` + strings.Join(names, `", "`) + `"], "num_hidden_layers": null`
		text := strings.Replace(string(read(t, "nemotron_tiny.json")), old, list, 1)
		return []byte(strings.Replace(text, `"num_hidden_layers": 14,`, "", 1))
	}
	steps := func(lo, hi float64) func(*model.Spec) bool {
		return func(s *model.Spec) bool {
			m := s.Blocks[0].Mixer.(*model.Mamba2)
			return float64(m.MinStep) == lo && float64(m.MaxStep) == hi
		}
	}
	moe := func(s *model.Spec) *model.SparseMoE { return s.Blocks[1].Mixer.(*model.SparseMoE) }
	kinds := func(s *model.Spec) bool {
		_, m := s.Blocks[0].Mixer.(*model.Mamba2)
		_, a := s.Blocks[1].Mixer.(*model.Attention)
		_, e := s.Blocks[2].Mixer.(*model.SparseMoE)
		return m && a && e && s.Layers == 3
	}
	tests := []struct {
		name   string
		config []byte
		want   func(*model.Spec) bool
	}{
		{"no limit", read(t, "nemotron_tiny.json"), steps(0, math.Inf(1))},
		{"limit null", limit("null"), steps(0, math.Inf(1))},
		{"bare Infinity", limit("[0.0, Infinity]"), steps(0, math.Inf(1))},
		{"wrapped Infinity", limit(`[0.0, {"__float__": "Infinity"}]`), steps(0, math.Inf(1))},
		{"numbers", limit("[0.5, 100]"), steps(0.5, 100)},
		{"pattern as letters", listed("hybrid_override_pattern", "M", "*", "E"), kinds},
		{"names", listed("layers_block_type", "mamba", "attention", "moe"), kinds},
		{"newer names", listed("layer_types", "linear_attention", "full_attention", "moe"), kinds},
		{"norm_eps alone", change(nil, "layer_norm_epsilon"), func(s *model.Spec) bool { return s.Eps == 1e-5 }},
		{"rope_theta means nothing", change(10000, "rope_theta"), func(s *model.Spec) bool {
			return s.Blocks[5].Mixer.(*model.Attention).Rotary == 0
		}},
		{"head_dim by default", change(nil, "head_dim"), func(s *model.Spec) bool { return false }},
		{"tied embeddings", change(true, "tie_word_embeddings"), func(s *model.Spec) bool {
			return s.Head.Parts[0].Name == s.Embed.Parts[0].Name
		}},
		{
			"groups of experts",
			[]byte(strings.NewReplacer(`"n_group": 1`, `"n_group": 4`, `"topk_group": 1`, `"topk_group": 2`).
				Replace(string(read(t, "nemotron_tiny.json")))),
			func(s *model.Spec) bool { return moe(s).Groups == 4 && moe(s).TopGroups == 2 },
		},
		{"weights that are not normalised", change(false, "norm_topk_prob"), func(s *model.Spec) bool {
			return !moe(s).Normalise
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _, err := model.SpecFromConfig(tt.config, nil)
			if tt.name == "head_dim by default" { // 256 over 16 heads is a size without kernels
				if err == nil || !strings.Contains(err.Error(), "head_dim: is missing, and 16 heads do not share") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !tt.want(s) {
				t.Errorf("spec %+v", s)
			}
			if _, err := weights.Plan(s.Recipe()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNemotronRefused(t *testing.T) {
	change := func(value any, key string) []byte { return editFile(t, "nemotron_tiny.json", value, key) }
	tests := []struct {
		name, want string
		config     []byte
	}{
		{
			"no pattern", "hybrid_override_pattern: is missing, and layers_block_type too",
			change(nil, "hybrid_override_pattern"),
		},
		{"empty pattern", "hybrid_override_pattern: 0 layers", change("", "hybrid_override_pattern")},
		{
			"short pattern", "hybrid_override_pattern: 3 elements for 14 layers",
			change("ME*", "hybrid_override_pattern"),
		},
		{"unknown letter", `hybrid_override_pattern: 'X' of layer 1`, change("MX", "hybrid_override_pattern")},
		{
			"a plain MLP", "hybrid_override_pattern: layer 1 is an MLP without experts",
			change("M-", "hybrid_override_pattern"),
		},
		{
			"unknown name", `hybrid_override_pattern: "conv" of layer 0`,
			change([]string{"conv"}, "hybrid_override_pattern"),
		},
		{"numbers", "hybrid_override_pattern: want a list of strings", change([]int{1}, "hybrid_override_pattern")},
		{"one limit", "time_step_limit: want two numbers, is [1]", change([]int{1}, "time_step_limit")},
		{"three limits", "time_step_limit: 3 elements, at most 2", change([]int{1, 2, 3}, "time_step_limit")},
		{
			"limits the wrong way", "time_step_limit: want two numbers, the second not below",
			change([]int{2, 1}, "time_step_limit"),
		},
		{
			"a limit that is no number", "time_step_limit: want two numbers",
			change([]string{"a", "b"}, "time_step_limit"),
		},
		{"a limit of NaN", "time_step_limit: want two numbers", []byte(strings.Replace(
			string(read(t, "nemotron_tiny.json")), "{", `{"time_step_limit": [NaN, 1],`, 1))},
		{
			"no time step is finite", "the first number is outside 0 to 1e+06, is [Infinity, Infinity]",
			[]byte(strings.Replace(string(read(t, "nemotron_tiny.json")), "{",
				`{"time_step_limit": [Infinity, Infinity],`, 1)),
		},
		{
			"an infinite size", "hidden_size: want a whole number, is Infinity",
			[]byte(strings.Replace(string(read(t, "nemotron_tiny.json")), `"hidden_size": 256`,
				`"hidden_size": Infinity`, 1)),
		},
		{"weights of nothing", "routed_scaling_factor: 0 is outside 1e-06 to", change(0, "routed_scaling_factor")},
		{"latent experts", "moe_latent_size: is not supported", change(64, "moe_latent_size")},
		{"window attention", "sliding_window: is not supported", change(64, "sliding_window")},
		{"no convolution bias", "use_conv_bias: false is not supported", change(false, "use_conv_bias")},
		{"other activation", `mlp_hidden_act: "silu" is not supported`, change("silu", "mlp_hidden_act")},
		{"two shared experts", "n_shared_experts: 2 is not supported, only 1", change(2, "n_shared_experts")},
		{"heads in groups", "mamba_num_heads: 8 is not a multiple of n_groups, 3", change(3, "n_groups")},
		{"experts in groups", "n_routed_experts: 8 is not a multiple of n_group, 3", change(3, "n_group")},
		{"more groups than there are", "topk_group: 2 is more than the 1 groups", change(2, "topk_group")},
		{
			"too few experts in the groups", "num_experts_per_tok: 6 is more than the experts of topk_group, 1",
			[]byte(strings.NewReplacer(`"n_group": 1`, `"n_group": 2`, `"num_experts_per_tok": 2`,
				`"num_experts_per_tok": 6`).Replace(string(read(t, "nemotron_tiny.json")))),
		},
		{
			"groups of one", "n_group: 8 groups of one expert, want at least two in each", change(8, "n_group"),
		},
		{"state of no whole vectors", "ssm_state_size: 100 is not a multiple of 32", change(100, "ssm_state_size")},
		{"convolution of 3", "conv_kernel: 3 is outside 4 to 4", change(3, "conv_kernel")},
		{"no width", "moe_intermediate_size: is missing", change(nil, "moe_intermediate_size")},
		{
			"8 bits", "backbone.layers.1.mixer.shared_experts.up_proj is stored as q8, only 4 bits",
			[]byte(strings.ReplaceAll(string(read(t, "nemotron_tiny.json")), `"bits": 4`, `"bits": 8`)),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := model.SpecFromConfig(tt.config, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// smallNemotron is a seed that mutates quickly.
const smallNemotron = `{"model_type": "nemotron_h", "hidden_size": 64, "vocab_size": 9,
"hybrid_override_pattern": "M*E", "max_position_embeddings": 512, "mamba_num_heads": 2, "mamba_head_dim": 32,
"ssm_state_size": 32, "n_groups": 1,
"conv_kernel": 4, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 64, "n_routed_experts": 2,
"num_experts_per_tok": 1, "moe_intermediate_size": 64, "moe_shared_expert_intermediate_size": 64,
"time_step_limit": [0, Infinity], "eos_token_id": 1, "quantization": {"group_size": 64, "bits": 4}}`

func TestNemotronParse(t *testing.T) {
	config := read(t, "nemotron_tiny.json")
	planned, _, err := model.SpecFromConfig(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	const mixer = "backbone.layers.1.mixer."
	plain := func(m map[string]tensor, module string, shape ...int64) {
		m[module+".weight"] = tensor{"BF16", shape}
		delete(m, module+".scales")
		delete(m, module+".biases")
	}
	tests := []struct {
		name string
		edit func(map[string]tensor)
		want string // of the error; "" for none
	}{
		{"as planned", func(map[string]tensor) {}, ""},
		{"a draft head is ignored", func(m map[string]tensor) {
			m["mtp.layers.0.eh_proj.weight"] = tensor{"BF16", []int64{256, 512}}
		}, ""},
		{"a correction in bf16", func(m map[string]tensor) {
			m[mixer+"gate.e_score_correction_bias"] = tensor{"BF16", []int64{8}}
		}, ""},
		{"a projection that is not quantised", func(m map[string]tensor) {
			plain(m, "backbone.layers.0.mixer.out_proj", 256, 512)
		}, ""},
		{
			"an up projection that is not quantised",
			func(m map[string]tensor) { plain(m, mixer+"switch_mlp.fc1", 8, 256, 256) },
			"backbone.layers.1.mixer.switch_mlp.fc1 is stored as b16, only 4 bits are supported here",
		},
		{
			"codes without scales", func(m map[string]tensor) { delete(m, mixer+"switch_mlp.fc1.scales") },
			`tensor "backbone.layers.1.mixer.switch_mlp.fc1.scales" is missing`,
		},
		{
			"no correction", func(m map[string]tensor) { delete(m, mixer+"gate.e_score_correction_bias") },
			`tensor "backbone.layers.1.mixer.gate.e_score_correction_bias" is missing`,
		},
		{
			"no convolution bias", func(m map[string]tensor) { delete(m, "backbone.layers.0.mixer.conv1d.bias") },
			`tensor "backbone.layers.0.mixer.conv1d.bias" is missing`,
		},
		{
			"a down projection that is not quantised",
			func(m map[string]tensor) { plain(m, mixer+"switch_mlp.fc2", 8, 256, 256) },
			"backbone.layers.1.mixer.switch_mlp.fc2 is stored as b16, only 4 bits are supported here",
		},
		{
			"a router of codes", func(m map[string]tensor) { m[mixer+"gate.weight"] = tensor{"U32", []int64{8, 32}} },
			`mixer.gate.weight": shape [8 32], want [8 256]`,
		},
		{
			"experts of the release, one by one",
			func(m map[string]tensor) {
				for _, s := range []string{".weight", ".scales", ".biases"} {
					m[mixer+"experts.0.up_proj"+s] = m[mixer+"switch_mlp.fc1"+s]
					delete(m, mixer+"switch_mlp.fc1"+s)
				}
			},
			`tensor "backbone.layers.1.mixer.switch_mlp.fc1.weight" is missing`,
		},
		{
			"neurons of no whole groups",
			func(m map[string]tensor) {
				m[mixer+"shared_experts.down_proj.scales"] = tensor{"BF16", []int64{256, 7}}
			},
			`shared_experts.down_proj.scales": shape [256 7], want [256 8]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tensors := tensorsOf(t, planned.Recipe())
			tt.edit(tensors)
			_, _, err := model.Parse(config, nil, checkpoint(t, tensors))
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
