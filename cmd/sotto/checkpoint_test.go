package main

import (
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/app/models"
)

// checkpoint is a copy of the built-in model for a test to damage.
type checkpoint struct {
	t   *testing.T
	dir string
}

func newCheckpoint(t *testing.T) checkpoint {
	t.Helper()
	c := checkpoint{t, filepath.Join(t.TempDir(), "copy")}
	source, err := models.Resolve(models.Default)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(c.dir, source.Dir); err != nil {
		t.Fatal(err)
	}
	files, err := fs.Glob(os.DirFS(c.dir), "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files { // embedded files are read-only
		if err := os.Chmod(filepath.Join(c.dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c checkpoint) read(name string) string {
	c.t.Helper()
	b, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(b)
}

func (c checkpoint) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c checkpoint) remove(name string) {
	c.t.Helper()
	if err := os.RemoveAll(filepath.Join(c.dir, name)); err != nil {
		c.t.Fatal(err)
	}
}

// edit replaces the first place of old.
func (c checkpoint) edit(name, old, replacement string) {
	c.t.Helper()
	c.write(name, c.replace(c.read(name), old, replacement))
}

func (c checkpoint) replace(text, old, replacement string) string {
	c.t.Helper()
	if !strings.Contains(text, old) {
		c.t.Fatalf("the built-in model has no %q to damage", old)
	}
	return strings.Replace(text, old, replacement, 1)
}

// header changes the header of the weights; the data stay.
func (c checkpoint) header(edit func(string) string) {
	c.t.Helper()
	file := c.read("model.safetensors")
	n := binary.LittleEndian.Uint64([]byte(file[:8]))
	head := edit(file[8 : 8+n])
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(head)))
	c.write("model.safetensors", string(length)+head+file[8+n:])
}

// Names of tensors and files that are damaged.
const (
	normTensor = "language_model.model.layers.0.input_layernorm.weight"
	shard      = "model.safetensors"
)

func TestCheckpointRefused(t *testing.T) {
	tests := []struct {
		name   string
		damage func(checkpoint)
		want   []string
	}{
		{"no config", func(c checkpoint) { c.remove("config.json") }, []string{"config.json", "no such file"}},
		{"no weights", func(c checkpoint) { c.remove(shard) }, []string{"no weights", "safetensors"}},
		{"no tokenizer", func(c checkpoint) { c.remove("tokenizer.json") }, []string{"tokenizer.json", "no such file"}},
		{"missing tensor", func(c checkpoint) {
			c.header(func(h string) string { return c.replace(h, normTensor, "other") })
		}, []string{normTensor, "is missing"}},
		{"missing shard", func(c checkpoint) {
			c.header(func(h string) string { return c.replace(h, normTensor, "other") })
			c.edit("model.safetensors.index.json", `"`+normTensor+`": "model.safetensors"`,
				`"`+normTensor+`": "model-00002-of-00002.safetensors"`)
		}, []string{normTensor, "model-00002-of-00002.safetensors is missing"}},
		{"wrong shape", func(c checkpoint) {
			c.header(func(h string) string {
				before, after, ok := strings.Cut(h, normTensor)
				if !ok {
					c.t.Fatal("no norm")
				}
				return before + normTensor + c.replace(after, "[256]", "[2,128]")
			})
		}, []string{normTensor, "[2 128]", "[256]"}},
		{"config of another size", func(c checkpoint) {
			c.edit("config.json", `"hidden_size": 256`, `"hidden_size": 512`)
		}, []string{"embed_tokens: its weights are for 256 inputs, by the sizes in config.json it has 512"}},
		{"other model type", func(c checkpoint) {
			c.edit("config.json", `"model_type": "qwen3_5_moe"`, `"model_type": "llama"`)
		}, []string{"config.json", `model_type "llama" is not supported`, "qwen3_5_moe"}},
		{"cut shard", func(c checkpoint) {
			c.write(shard, c.read(shard)[:4_000_000])
		}, []string{shard, "cut short"}},
		{"shard cut inside its header", func(c checkpoint) {
			c.write(shard, c.read(shard)[:100])
		}, []string{shard, "100 bytes"}},
		{"empty shard", func(c checkpoint) { c.write(shard, "") }, []string{shard, "0 bytes"}},
		{"shard that is a folder", func(c checkpoint) {
			c.remove(shard)
			if err := os.Mkdir(filepath.Join(c.dir, shard), 0o700); err != nil {
				c.t.Fatal(err)
			}
		}, []string{shard, "not a regular file"}},
		{"lying header", func(c checkpoint) {
			c.write(shard, "\xff\xff\xff\xff\xff\xff\xff\x7f"+c.read(shard)[8:])
		}, []string{shard, "header of 9223372036854775807 bytes"}},
		{"trailing comma in config", func(c checkpoint) {
			c.edit("config.json", `"model_type": "qwen3_5_moe",`, `"model_type": "qwen3_5_moe",,`)
		}, []string{"config.json:9:", "invalid character ','"}},
		{"empty config", func(c checkpoint) { c.write("config.json", "") }, []string{"config.json"}},
		{"config that is a list", func(c checkpoint) {
			c.write("config.json", "[]")
		}, []string{"config.json", "not a JSON object"}},
		{"infinite integer", func(c checkpoint) {
			c.edit("config.json", `"hidden_size": 256`, `"hidden_size": Infinity`)
		}, []string{"config.json", "hidden_size"}},
		{"infinite epsilon", func(c checkpoint) {
			c.edit("config.json", `"rms_norm_eps": 1e-06`, `"rms_norm_eps": Infinity`)
		}, []string{"config.json", "rms_norm_eps"}},
		{"broken tokenizer", func(c checkpoint) { c.write("tokenizer.json", "{") }, []string{"tokenizer.json"}},
		{"broken template", func(c checkpoint) {
			c.edit("tokenizer_config.json", "endfor", "end")
		}, []string{"chat template"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := emptyHome(t)
			c := newCheckpoint(t)
			tt.damage(c)
			refused(t, sotto(t, "ask", "--model", c.dir, "hi"), exitFailure, append(tt.want, "open "+c.dir)...)
			if left := filesIn(t, home); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestModelRefused(t *testing.T) {
	home := emptyHome(t)
	file := filepath.Join(home, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, sotto(t, "ask", "--model", "/no/such/folder", "hi"), exitFailure,
		`no model "/no/such/folder"`, "qwen-tiny", "folder")
	refused(t, sotto(t, "ask", "--model", file, "hi"), exitFailure, "is a file", "config.json")
	refused(t, pipedSotto(t, "hi", "chat", "--model", "qwen-huge"), exitFailure, `no model "qwen-huge"`)
	if left := filesIn(t, home); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// TestDefectsTolerated holds what does not keep a model from answering.
func TestDefectsTolerated(t *testing.T) {
	tests := []struct {
		name    string
		damage  func(checkpoint)
		warning []string
	}{
		{"infinity where a float may be", func(c checkpoint) {
			c.edit("config.json", `"model_type"`, `"time_step_limit": [0.0, Infinity], "model_type"`)
		}, nil},
		{"trailing comma in generation config", func(c checkpoint) {
			c.edit("generation_config.json", `"top_k": 20`, `"top_k": 20,`)
		}, []string{"warning: generation_config.json:"}},
		{"no generation config", func(c checkpoint) { c.remove("generation_config.json") }, nil},
		{"no index", func(c checkpoint) { c.remove("model.safetensors.index.json") }, nil},
		{"broken index", func(c checkpoint) { c.write("model.safetensors.index.json", "{") }, nil},
	}
	want := ask(t, "Hello! Who are you?")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			emptyHome(t)
			c := newCheckpoint(t)
			tt.damage(c)
			o := sotto(t, "ask", "--json", "--temperature", "0", "--model", c.dir, "Hello! Who are you?")
			if got := answered(t, o); got.Text != want.Text {
				t.Errorf("got %q, want %q", got.Text, want.Text)
			}
			if n := strings.Count(o.err, "warning"); n != len(tt.warning) {
				t.Errorf("%d warnings, want %d: %q", n, len(tt.warning), o.err)
			}
			for _, w := range tt.warning {
				if !strings.Contains(o.err, w) {
					t.Errorf("got %q, want %q in it", o.err, w)
				}
			}
		})
	}
}

// TestNoPlaceForFiles holds what happens when the folders cannot be made.
func TestNoPlaceForFiles(t *testing.T) {
	for _, name := range folders {
		t.Run(name, func(t *testing.T) {
			home := emptyHome(t)
			place := filepath.Join(home, name)
			if err := os.WriteFile(place, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			refused(t, sotto(t, "ask", "hi"), exitFailure, place, "not a directory")
			if b, err := os.ReadFile(place); string(b) != "mine" {
				t.Errorf("the file in the way now has %q, %v", b, err)
			}
		})
	}
}
