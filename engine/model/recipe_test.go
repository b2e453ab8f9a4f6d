package model_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"sotto/engine/model"
	"sotto/engine/weights"
)

// tensor is what a recipe takes from a checkpoint.
type tensor struct {
	dtype string
	shape []int64
}

// tensorsOf lists the tensors that a recipe reads, as a checkpoint would hold them.
func tensorsOf(t *testing.T, r weights.Recipe) map[string]tensor {
	t.Helper()
	out := map[string]tensor{}
	for _, it := range r.Items {
		for _, src := range it.Sources {
			shape := func(cols int) []int64 {
				s := []int64{int64(src.Rows), int64(cols)}
				if it.Experts > 0 {
					s = append([]int64{int64(it.Experts)}, s...)
				}
				return s
			}
			switch it.Format {
			case weights.Vector:
				out[src.Name] = tensor{"BF16", shape(it.Cols)}
			case weights.B16:
				out[src.Name+".weight"] = tensor{"BF16", shape(it.Cols)}
			default:
				out[src.Name+".weight"] = tensor{"U32", shape(it.Cols * it.Format.Bits() / 32)}
				out[src.Name+".scales"] = tensor{"BF16", shape(it.Cols / 64)}
				out[src.Name+".biases"] = tensor{"BF16", shape(it.Cols / 64)}
			}
		}
	}
	return out
}

// TestFullSizeTensors compares the recipes with the tensors of the published 4-bit checkpoints.
func TestFullSizeTensors(t *testing.T) {
	for _, tt := range []struct {
		name  string
		count int
		bytes int64
	}{
		{"qwen36_35b_a3b", 1757, 19_508_789_376},
		{"nemotron35_lightning", 729, 17_775_342_336},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _, err := model.SpecFromConfig(read(t, tt.name+".json"), nil)
			if err != nil {
				t.Fatal(err)
			}
			count, total := compareTensors(t, tensorsOf(t, s.Recipe()), tt.name+".tensors.gz")
			if count != tt.count || total != tt.bytes {
				t.Errorf("%d tensors of %d bytes, want %d of %d", count, total, tt.count, tt.bytes)
			}
			l, err := weights.Plan(s.Recipe())
			if err != nil {
				t.Fatal(err)
			}
			// Some vectors are widened to f32, and every stream starts at a multiple of 256 bytes.
			if l.Size() < total || l.Size() > total+1<<20 {
				t.Errorf("pack of %d bytes for tensors of %d", l.Size(), total)
			}
		})
	}
}

// TestResident counts what a pack of the published Nemotron takes: one copy of its down projections, by neuron. With
// those by output beside them it would be half as much again.
func TestResident(t *testing.T) {
	s, _, err := model.SpecFromConfig(read(t, "nemotron35_lightning.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := s.Recipe()
	one, err := weights.Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range r.Items {
		if it.Format == weights.NM {
			it.Name, it.Format = it.Name+" by output", weights.Q4
			r.Items = append(r.Items, it)
		}
	}
	both, err := weights.Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	gigabytes := func(l *weights.Layout) float64 { return math.Round(float64(l.Size())/1e8) / 10 }
	if got, want := [...]float64{gigabytes(one), gigabytes(both)}, [...]float64{17.8, 26.2}; got != want {
		t.Errorf("one copy and two: got %v GB, want %v", got, want)
	}
}

// compareTensors compares what a recipe takes with a list of tensors, of which it returns the number and size.
func compareTensors(t *testing.T, got map[string]tensor, list string) (count int, total int64) {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(read(t, list)))
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(zipped); lines.Scan(); count++ {
		var name, dtype, dims string
		if _, err := fmt.Sscan(lines.Text(), &name, &dtype, &dims); err != nil {
			t.Fatal(err)
		}
		n := weights.Dtype(dtype).Size()
		var shape []int64
		for _, d := range strings.Split(dims, "x") {
			var v int64
			if _, err := fmt.Sscan(d, &v); err != nil {
				t.Fatal(err)
			}
			shape = append(shape, v)
			n *= v
		}
		total += n
		g, ok := got[name]
		if !ok {
			t.Errorf("tensor %s is not in the recipe", name)
			continue
		}
		if strings.HasSuffix(name, "A_log") || strings.HasSuffix(name, "correction_bias") {
			g.dtype = "F32" // a source of a vector may be either
		}
		if one := func(n int64) bool { return n == 1 }; g.dtype != dtype ||
			!slices.Equal(slices.DeleteFunc(slices.Clone(g.shape), one), slices.DeleteFunc(slices.Clone(shape), one)) {
			t.Errorf("tensor %s: recipe says %v, the checkpoint has %s %v", name, g, dtype, shape)
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("the checkpoint has no tensor %s", name)
	}
	return count, total
}

// checkpoint writes zero-filled tensors into a safetensors file in memory.
func checkpoint(t *testing.T, tensors map[string]tensor) *weights.Checkpoint {
	t.Helper()
	head := map[string]any{}
	off := int64(0)
	names := make([]string, 0, len(tensors))
	for name := range tensors {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		x := tensors[name]
		n := weights.Dtype(x.dtype).Size()
		for _, d := range x.shape {
			n *= d
		}
		head[name] = map[string]any{"dtype": x.dtype, "shape": x.shape, "data_offsets": []int64{off, off + n}}
		off += n
	}
	h, err := json.Marshal(head)
	if err != nil {
		t.Fatal(err)
	}
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(h)))
	file = append(append(file, h...), make([]byte, off)...)
	c, err := weights.OpenCheckpoint(fstest.MapFS{"model.safetensors": {Data: file}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestParse(t *testing.T) {
	config := read(t, "tiny.json")
	planned, _, err := model.SpecFromConfig(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	const (
		mlp  = "language_model.model.layers.1.mlp."
		gate = mlp + "gate.weight"
		norm = "language_model.model.norm.weight"
	)
	tests := []struct {
		name string
		edit func(map[string]tensor)
		want string // of the error; "" for none
	}{
		{"as planned", func(map[string]tensor) {}, ""},
		{"vision and drafting tensors are ignored", func(m map[string]tensor) {
			m["vision_tower.x.weight"], m["mtp.fc.weight"] = tensor{"BF16", []int64{3}}, tensor{"BF16", []int64{4, 4}}
		}, ""},
		{"a norm in f32", func(m map[string]tensor) { m[norm] = tensor{"F32", []int64{256}} }, ""},
		{"a matrix without scales", func(m map[string]tensor) {
			const o = "language_model.model.layers.0.linear_attn.out_proj"
			m[o+".weight"] = tensor{"BF16", []int64{256, 512}}
			delete(m, o+".scales")
			delete(m, o+".biases")
		}, ""},
		{
			"missing tensor", func(m map[string]tensor) { delete(m, mlp+"switch_mlp.down_proj.biases") },
			`tensor "language_model.model.layers.1.mlp.switch_mlp.down_proj.biases" is missing`,
		},
		{
			"codes without scales", func(m map[string]tensor) { delete(m, mlp+"switch_mlp.down_proj.scales") },
			`tensor "language_model.model.layers.1.mlp.switch_mlp.down_proj.scales" is missing`,
		},
		{
			"missing module", func(m map[string]tensor) { delete(m, mlp+"gate.weight") },
			`tensor "language_model.model.layers.1.mlp.gate.weight" is missing`,
		},
		{
			"wrong shape", func(m map[string]tensor) { m[norm] = tensor{"BF16", []int64{255}} },
			`shape [255], want [256]`,
		},
		{
			"wrong dtype", func(m map[string]tensor) { m[norm] = tensor{"F16", []int64{256}} },
			`dtype F16, want BF16 or F32`,
		},
		{
			"groups of 32", func(m map[string]tensor) { m[mlp+"gate.scales"] = tensor{"BF16", []int64{8, 8}} },
			`mlp.gate.scales": shape`,
		},
		{
			"bits unlike the config", func(m map[string]tensor) { m[gate] = tensor{"U32", []int64{8, 32}} },
			"language_model.model.layers.1.mlp.gate: the shapes say 4 bits, config.json says 8",
		},
		{
			"2 bits", func(m map[string]tensor) { m[gate] = tensor{"U32", []int64{8, 16}} },
			"2 bits are not supported",
		},
	}
	for inputs, want := range map[int64]string{
		128: "embed_tokens: its weights are for 128 inputs, by the sizes in config.json it has 256",
		512: "embed_tokens: its weights are for 512 inputs, by the sizes in config.json it has 256",
	} {
		tests = append(tests, struct {
			name string
			edit func(map[string]tensor)
			want string
		}{fmt.Sprintf("embeddings of %d", inputs), func(m map[string]tensor) {
			const embed = "language_model.model.embed_tokens."
			rows := m[embed+"weight"].shape[0]
			m[embed+"weight"] = tensor{"U32", []int64{rows, inputs / 8}}
			m[embed+"scales"] = tensor{"BF16", []int64{rows, inputs / 64}}
			m[embed+"biases"] = m[embed+"scales"]
		}, want})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tensors := tensorsOf(t, planned.Recipe())
			tt.edit(tensors)
			s, _, err := model.Parse(config, nil, checkpoint(t, tensors))
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if got, want := len(s.Blocks), len(planned.Blocks); got != want {
					t.Errorf("%d blocks, want %d", got, want)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	tensors := tensorsOf(t, planned.Recipe())
	delete(tensors, "language_model.lm_head.weight")
	_, _, err = model.Parse(config, nil, checkpoint(t, tensors))
	if e, ok := errors.AsType[*weights.MissingTensorError](err); !ok || e.Name != "language_model.lm_head.weight" {
		t.Errorf("got %v, want a MissingTensorError", err)
	}
	if _, _, err := model.Parse(config, nil, nil); err == nil {
		t.Error("parsed without a checkpoint")
	}
}
