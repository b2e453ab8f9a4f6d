package model_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
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

// TestFullSizeTensors compares the recipe with the tensors of the published 4-bit checkpoint.
func TestFullSizeTensors(t *testing.T) {
	s, _, err := model.SpecFromConfig(read(t, "qwen36_35b_a3b.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := tensorsOf(t, s.Recipe())
	zipped, err := gzip.NewReader(bytes.NewReader(read(t, "qwen36_35b_a3b.tensors.gz")))
	if err != nil {
		t.Fatal(err)
	}
	total, count := int64(0), 0
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
		if strings.HasSuffix(name, "A_log") {
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
	if count != 1757 || total != 19_508_789_376 {
		t.Errorf("%d tensors of %d bytes", count, total)
	}
	l, err := weights.Plan(s.Recipe())
	if err != nil {
		t.Fatal(err)
	}
	// dt_bias is widened to f32, and every stream starts at a multiple of 256 bytes.
	if l.Size() < total || l.Size() > total+1<<20 {
		t.Errorf("pack of %d bytes for tensors of %d", l.Size(), total)
	}
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
