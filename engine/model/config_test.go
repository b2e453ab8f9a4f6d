package model_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/engine/model"
	"sotto/engine/weights"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// edit returns the small config with one edit: the value at a path is set, or removed when it is nil.
func edit(t *testing.T, value any, path ...string) []byte {
	t.Helper()
	return editFile(t, "tiny.json", value, path...)
}

func editFile(t *testing.T, file string, value any, path ...string) []byte {
	t.Helper()
	root := map[string]any{}
	if err := json.Unmarshal(read(t, file), &root); err != nil {
		t.Fatal(err)
	}
	m := root
	for _, key := range path[:len(path)-1] {
		next, ok := m[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[key] = next
		}
		m = next
	}
	if last := path[len(path)-1]; value == nil {
		delete(m, last)
	} else {
		m[last] = value
	}
	b, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFullSize(t *testing.T) {
	s, warnings, err := model.SpecFromConfig(read(t, "qwen36_35b_a3b.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) > 0 {
		t.Errorf("warnings %v", warnings)
	}
	got, want := [...]int{s.Layers, s.Hidden, s.Vocab, s.Window, len(s.Blocks)}, [...]int{40, 2048, 248320, 262144, 80}
	if got != want {
		t.Errorf("layers, hidden, vocab, window, blocks: got %v, want %v", got, want)
	}
	if got, want := s.Stops, []int{248044, 248046}; !slices.Equal(got, want) {
		t.Errorf("stops: got %v, want %v", got, want)
	}
	deltas, attentions, experts := 0, 0, 0
	for i, b := range s.Blocks {
		if b.Layer != i/2 {
			t.Errorf("block %d: layer %d", i, b.Layer)
		}
		switch m := b.Mixer.(type) {
		case *model.GatedDelta:
			deltas++
			if m.Channels() != 8192 || m.In.Rows != 12352 {
				t.Errorf("block %d: %d channels, %d projections", i, m.Channels(), m.In.Rows)
			}
		case *model.Attention:
			attentions++
			if i%8 != 6 || m.In.Rows != 9216 || m.Rotary != 64 || m.Theta != 1e7 {
				t.Errorf("block %d: %+v", i, m)
			}
		case *model.MoE:
			experts++
			if m.Router.Rows != 257 || m.Router.Parts[0].Format != weights.Q8 || m.GateUp.Rows != 1024 {
				t.Errorf("block %d: %+v", i, m)
			}
		}
	}
	if deltas != 30 || attentions != 10 || experts != 40 {
		t.Errorf("%d delta nets, %d attentions, %d mixtures", deltas, attentions, experts)
	}
}

func TestForms(t *testing.T) {
	flat := map[string]any{}
	if err := json.Unmarshal(read(t, "tiny.json"), &flat); err != nil {
		t.Fatal(err)
	}
	text := flat["text_config"].(map[string]any)
	delete(flat, "text_config")
	for k, v := range text {
		if k != "model_type" {
			flat[k] = v
		}
	}
	flatText, err := json.Marshal(flat)
	if err != nil {
		t.Fatal(err)
	}
	attention := func(s *model.Spec) *model.Attention { return s.Blocks[6].Mixer.(*model.Attention) }
	tests := []struct {
		name   string
		config []byte
		want   func(*model.Spec) bool
	}{
		{"flat", flatText, func(s *model.Spec) bool { return s.Layers == 8 && attention(s).Heads == 16 }},
		{
			"type for rope_type",
			edit(t, map[string]any{"type": "default", "rope_theta": 5e5, "partial_rotary_factor": 0.5},
				"text_config", "rope_parameters"),
			func(s *model.Spec) bool { return attention(s).Theta == 5e5 && attention(s).Rotary == 32 },
		},
		{
			"rope_theta above", edit(t, nil, "text_config", "rope_parameters"),
			func(s *model.Spec) bool { return attention(s).Theta == 1e7 && attention(s).Rotary == 16 },
		},
		{
			"interval for layer_types", edit(t, nil, "text_config", "layer_types"),
			func(s *model.Spec) bool { return attention(s).KVHeads == 2 },
		},
		{
			"quantization_config alone", edit(t, nil, "quantization"),
			func(s *model.Spec) bool { return s.Blocks[1].Mixer.(*model.MoE).Router.Parts[0].Format == weights.Q8 },
		},
		{
			"one end id",
			edit(t, 7, "eos_token_id"), func(s *model.Spec) bool { return slices.Equal(s.Stops, []int{7, 4095}) },
		},
		{
			"tied embeddings", edit(t, true, "text_config", "tie_word_embeddings"),
			func(s *model.Spec) bool { return s.Head.Parts[0].Name == s.Embed.Parts[0].Name },
		},
		{
			"gate of the shared expert in 4 bits",
			edit(t, 4, "quantization", "language_model.model.layers.0.mlp.shared_expert_gate", "bits"),
			func(s *model.Spec) bool {
				p := s.Blocks[1].Mixer.(*model.MoE).Router.Parts
				return len(p) == 2 && p[0].Format == weights.Q8 && p[1].Format == weights.Q4 &&
					p[1].First == 8 && p[1].Rows == 1
			},
		},
		{
			"Infinity in a field that is not read", []byte(strings.Replace(string(read(t, "tiny.json")),
				`"initializer_range": 0.02`, `"initializer_range": [-Infinity , NaN, Infinity]`, 1)),
			func(s *model.Spec) bool { return s.Layers == 8 },
		},
		{
			"a number as {__float__}",
			edit(t, map[string]any{"__float__": "Infinity"}, "text_config", "initializer_range"),
			func(s *model.Spec) bool { return s.Layers == 8 },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _, err := model.SpecFromConfig(tt.config, nil)
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

// TestKinds holds that a block says of itself what it is: one of a kind that nobody has heard of is no expert.
func TestKinds(t *testing.T) {
	type other struct{ *model.Attention }
	s := model.Spec{Layers: 2, Blocks: []model.Block{
		{Layer: 0, Mixer: &model.GatedDelta{}},
		{Layer: 0, Mixer: &model.MoE{}},
		{Layer: 1, Mixer: other{&model.Attention{}}},
		{Layer: 1, Mixer: &model.SparseMoE{}},
	}}
	if got, want := s.Kinds(), []string{"delta + experts", "attention + experts"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRefused(t *testing.T) {
	text := func(value any, key string) []byte { return edit(t, value, "text_config", key) }
	tests := []struct {
		name, want string
		config     []byte
	}{
		{
			"other type", `model_type "llama" is not supported, only nemotron_h, qwen3_5_moe`,
			edit(t, "llama", "model_type"),
		},
		{"no type", `model_type "" is not supported`, edit(t, nil, "model_type")},
		{"not an object", "config.json: not a JSON object", []byte("[1]")},
		{"null", "config.json: not a JSON object", []byte("null")},
		{"empty", "config.json:1:1: unexpected end of JSON input", nil},
		{"trailing comma", "config.json:3:1: invalid character '}'", []byte("{\n\"model_type\": \"x\",\n}")},
		{
			"trailing comma after Infinity", "config.json:2:15: invalid character '}'",
			[]byte("{\"a\": -Infinity,\n\"b\": Infinity,}"),
		},
		{"bare word", "config.json:1:7: invalid character", []byte(`{"a": Infinite}`)},
		{"NaN as a key", "config.json:1:10: invalid character 'N'", []byte(`{"a": 1, NaN: 2}`)},
		{
			"infinite eps", "text_config.rms_norm_eps: +Inf is outside",
			edit(t, map[string]any{"__float__": "Infinity"}, "text_config", "rms_norm_eps"),
		},
		{"NaN eps", "text_config.rms_norm_eps: NaN is outside", []byte(strings.Replace(string(read(t, "tiny.json")),
			`"rms_norm_eps": 1e-06`, `"rms_norm_eps": NaN`, 1))},
		{
			"Infinity for an integer", "text_config.hidden_size: want a whole number",
			[]byte(strings.Replace(string(read(t, "tiny.json")),
				`"hidden_size": 256`, `"hidden_size": Infinity`, 1)),
		},
		{"text for a number", "text_config.num_hidden_layers: want a whole number", text("8", "num_hidden_layers")},
		{"missing field", "text_config.hidden_size: is missing", text(nil, "hidden_size")},
		{"fraction", "text_config.num_experts: want a whole number", text(7.5, "num_experts")},
		{
			"too many layers", "text_config.num_hidden_layers: 1000000000 is outside 1 to 1024",
			text(1_000_000_000, "num_hidden_layers"),
		},
		{"no layers", "text_config.num_hidden_layers: 0 is outside", text(0, "num_hidden_layers")},
		{"negative vocabulary", "text_config.vocab_size: -1 is outside", text(-1, "vocab_size")},
		{
			"hidden size of no whole groups", "text_config.hidden_size: 260 is not a multiple of 64",
			text(260, "hidden_size"),
		},
		{
			"heads do not divide", "text_config.num_attention_heads: 15 is not a multiple of num_key_value_heads, 2",
			text(15, "num_attention_heads"),
		},
		{
			"more chosen than there are", "text_config.num_experts_per_tok: 9 is more than the 8 experts",
			text(9, "num_experts_per_tok"),
		},
		{
			"convolution of 3", "text_config.linear_conv_kernel_dim: 3 is outside 4 to 4",
			text(3, "linear_conv_kernel_dim"),
		},
		{
			"other activation", `text_config.hidden_act: "gelu" is not supported, only "silu"`,
			text("gelu", "hidden_act"),
		},
		{"no gate", "text_config.attn_output_gate: false is not supported", text(false, "attn_output_gate")},
		{
			"scaled rotation", `text_config.rope_parameters.rope_type: "yarn" is not supported`,
			edit(t, "yarn", "text_config", "rope_parameters", "rope_type"),
		},
		{
			"no rotation", "text_config.partial_rotary_factor: 0 of 64",
			edit(t, 0, "text_config", "rope_parameters", "partial_rotary_factor"),
		},
		{
			"layer types too short", "text_config.layer_types: 1 elements for 8 layers",
			text([]string{"full_attention"}, "layer_types"),
		},
		{
			"unknown layer type", `text_config.layer_types: "mamba" of layer 1`,
			text([]string{"full_attention", "mamba", "", "", "", "", "", ""}, "layer_types"),
		},
		{
			"layer types of numbers", "text_config.layer_types: want a list of strings",
			text([]int{1, 2, 3, 4, 5, 6, 7, 8}, "layer_types"),
		},
		{"end id outside", "eos_token_id: 4096 is outside 0 to 4095", edit(t, []int{1, 4096}, "eos_token_id")},
		{
			"groups of 32", "quantization.group_size: 32 is not supported, only 64",
			edit(t, 32, "quantization", "group_size"),
		},
		{"other mode", `quantization.mode: "mxfp4" is not supported`, edit(t, "mxfp4", "quantization", "mode")},
		{"3 bits", "quantization.bits: 3 is not supported, only 4 and 8", edit(t, 3, "quantization", "bits")},
		{
			"3 bits for one", "quantization.language_model.model.layers.0.mlp.gate.bits: 3 is not supported",
			edit(t, 3, "quantization", "language_model.model.layers.0.mlp.gate", "bits"),
		},
		{
			"gate and up of different bits", "both must have the same bits",
			edit(t, map[string]any{"bits": 8, "group_size": 64},
				"quantization", "language_model.model.layers.2.mlp.switch_mlp.up_proj"),
		},
		{"text_config is a list", "text_config: want an object", edit(t, []int{}, "text_config")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := model.SpecFromConfig(tt.config, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	_, _, err := model.SpecFromConfig([]byte("{,}"), nil)
	if e, ok := errors.AsType[*model.SyntaxError](err); !ok || e.Line != 1 || e.Column != 2 {
		t.Errorf("got %v, want a SyntaxError at 1:2", err)
	}
	_, _, err = model.SpecFromConfig([]byte(`{"model_type":"a"}`), nil)
	if e, ok := errors.AsType[*model.UnsupportedError](err); !ok || e.Type != "a" {
		t.Errorf("got %v, want an UnsupportedError", err)
	}
}

func TestGeneration(t *testing.T) {
	none := model.Sampling{Temperature: 1, TopP: 1}
	tests := []struct {
		name, text string
		want       model.Sampling
		stops      []int
		warnings   int
	}{
		{
			"all", `{"eos_token_id": [9, 4095], "temperature": 0.6, "top_p": 0.9, "top_k": 20, "min_p": 0.1,
			"do_sample": true}`,
			model.Sampling{Temperature: 0.6, TopP: 0.9, TopK: 20, MinP: 0.1},
			[]int{9, 4093, 4095},
			0,
		},
		{"one id", `{"eos_token_id": 3}`, none, []int{3, 4093, 4095}, 0},
		{"nothing", `{}`, none, []int{4093, 4095}, 0},
		{"no sampling", `{"do_sample": false, "temperature": 0.6}`, model.Sampling{TopP: 1}, []int{4093, 4095}, 0},
		{"trailing comma", "{\"temperature\": 0.6,\n}", none, []int{4093, 4095}, 1},
		{
			"wrong fields", `{"temperature": "hot", "top_p": Infinity, "top_k": 5, "eos_token_id": [1, "x"]}`,
			model.Sampling{Temperature: 1, TopP: 1, TopK: 5},
			[]int{4093, 4095},
			3,
		},
		{"id outside", `{"eos_token_id": 5000}`, none, []int{4093, 4095}, 1},
		{"a list", `[]`, none, []int{4093, 4095}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, warnings, err := model.SpecFromConfig(read(t, "tiny.json"), []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if s.Sampling != tt.want {
				t.Errorf("sampling: got %+v, want %+v", s.Sampling, tt.want)
			}
			if !slices.Equal(s.Stops, tt.stops) {
				t.Errorf("stops: got %v, want %v", s.Stops, tt.stops)
			}
			if len(warnings) != tt.warnings {
				t.Errorf("warnings: got %q, want %d", warnings, tt.warnings)
			}
		})
	}
	_, warnings, err := model.SpecFromConfig(read(t, "tiny.json"), []byte("{\n\"temperature\": 1,\n}"))
	if err != nil || len(warnings) != 1 {
		t.Fatal(warnings, err)
	}
	want := "generation_config.json: 3:1: invalid character '}' looking for beginning of object key string"
	if got := warnings[0].String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// smallConfig is a seed that mutates quickly.
const smallConfig = `{"model_type": "qwen3_5_moe", "hidden_size": 64, "vocab_size": 9, "num_hidden_layers": 2,
"max_position_embeddings": 512, "linear_num_key_heads": 1, "linear_num_value_heads": 2, "linear_key_head_dim": 32,
"linear_value_head_dim": 32, "linear_conv_kernel_dim": 4, "num_attention_heads": 2, "num_key_value_heads": 1,
"head_dim": 64, "num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 64,
"shared_expert_intermediate_size": 64, "full_attention_interval": 2, "rope_parameters": {"rope_theta": 1e4},
"eos_token_id": [1, 2], "quantization": {"group_size": 64, "bits": 4, "x": {"group_size": 64, "bits": 8}}}`

func FuzzConfig(f *testing.F) {
	for _, name := range []string{
		"tiny.json", "qwen36_35b_a3b.json", "nemotron_tiny.json", "nemotron35_lightning.json",
	} {
		f.Add(read(f, name), []byte(`{"eos_token_id": [1, 2], "temperature": 0.5}`))
	}
	f.Add([]byte(smallConfig), []byte(`{"eos_token_id": 1}`))
	f.Add([]byte(smallNemotron), []byte(`{"eos_token_id": [2, 11]}`))
	f.Add([]byte(`{"model_type": "qwen3_5_moe", "hidden_size": Infinity, "a": {"__float__": "NaN"}}`), []byte("{,}"))
	f.Fuzz(func(t *testing.T, config, generation []byte) {
		s, _, err := model.SpecFromConfig(config, generation)
		if err != nil {
			return
		}
		l, err := weights.Plan(s.Recipe())
		if err != nil {
			t.Fatalf("a spec that was accepted has no layout: %v", err)
		}
		blocks := map[string]int{"qwen3_5_moe": 2 * s.Layers, "nemotron_h": s.Layers}[s.Family]
		if l.Size() <= 0 || len(s.Blocks) != blocks {
			t.Fatalf("pack of %d bytes for %d blocks", l.Size(), len(s.Blocks))
		}
	})
}
