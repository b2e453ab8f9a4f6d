package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sotto/assets"
	"sotto/engine"
	"sotto/engine/gpu/host"
	"sotto/engine/sample"
	"sotto/engine/weights"
)

// small is a model to be made up that has the tensors of a built-in one.
func small(t *testing.T, name string) *checkpoint {
	t.Helper()
	dir, err := assets.Model(name)
	if err != nil {
		t.Fatal(err)
	}
	from, err := weights.OpenCheckpoint(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	c := &checkpoint{seed: 1, shard: 1 << 20}
	if c.config, err = fs.ReadFile(dir, "config.json"); err != nil {
		t.Fatal(err)
	}
	for _, name := range from.Names() {
		x, _ := from.Lookup(name)
		c.tensors = append(c.tensors, tensor{name: name, dtype: x.Dtype, shape: x.Shape}.sized())
	}
	return c
}

// written writes a model and returns its folder.
func written(t *testing.T, c *checkpoint) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	if err := c.write(t.Context(), dir, func(int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	return dir
}

type memory map[string][]byte

func (m memory) Load(key string) ([]byte, error)     { return m[key], nil }
func (m memory) Save(key string, value []byte) error { m[key] = value; return nil }

// TestModel has made-up models of both families answer, and looks at what their numbers are like.
func TestModel(t *testing.T) {
	for _, name := range []string{"qwen-tiny", "nemotron-tiny"} {
		t.Run(name, func(t *testing.T) {
			device, err := host.Open(host.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var warnings []string
			m, err := engine.Open(t.Context(), os.DirFS(written(t, small(t, name))), engine.Options{
				Device: device, PackDir: t.TempDir(), Manifests: memory{},
				Warn: func(s string) { warnings = append(warnings, s) },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if len(warnings) > 0 {
				t.Errorf("warnings %q", warnings)
			}
			var r engine.Result
			logs := []float32{}
			for e, err := range m.NewSession().Generate(t.Context(), engine.Request{
				Messages: []engine.Message{{Role: engine.User, Content: question}},
				Sampling: sample.Settings{TopP: 1}, MaxTokens: 32, Census: true, Logprobs: true,
			}) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Kind == engine.Text && e.Token.ID >= 0 {
					logs = append(logs, e.Token.Log)
				}
				r = e.Result
			}
			if different := slices.Compact(slices.Sorted(slices.Values(r.IDs))); len(r.IDs) < 2 || len(different) < 2 {
				t.Errorf("the answer is %v", r.IDs)
			}
			if least, most := slices.Min(logs), slices.Max(logs); most > -0.01 || least < -8 || least == most {
				t.Errorf("log-probabilities of the best tokens are from %v to %v", least, most)
			}
			live(t, r.Neurons)
		})
	}
}

// live looks at the neurons of sparse experts: about a tenth of them is to be alive, in every layer.
func live(t *testing.T, layers []engine.Neurons) {
	t.Helper()
	for _, l := range layers {
		for kind, share := range map[string]float64{"routed": l.Routed.Share(), "shared": l.Shared.Share()} {
			if share < 0.05 || share > 0.2 {
				t.Errorf("layer %d: %.3f of the neurons of %s experts are alive", l.Layer, share, kind)
			}
		}
	}
}

// TestSame writes a model twice, and one of another seed.
func TestSame(t *testing.T) {
	c := small(t, "nemotron-tiny")
	read := func() map[string][]byte {
		dir := written(t, c)
		out := map[string][]byte{}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if out[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	one, two := read(), read()
	c.seed = 2
	other := read()
	shards := 0
	for name, data := range one {
		if !bytes.Equal(data, two[name]) {
			t.Errorf("%s differs from one time to the next", name)
		}
		if strings.HasSuffix(name, ".safetensors") {
			shards++
			if bytes.Equal(data, other[name]) {
				t.Errorf("%s is the same with another seed", name)
			}
		}
	}
	var index struct {
		Map map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(one["model.safetensors.index.json"], &index); err != nil {
		t.Fatal(err)
	}
	if shards < 3 || len(index.Map) != len(c.tensors) {
		t.Errorf("%d weight files, %d of %d tensors in the index", shards, len(index.Map), len(c.tensors))
	}
}

// TestPieces draws a tensor in pieces of different sizes.
func TestPieces(t *testing.T) {
	c := small(t, "nemotron-tiny")
	d := newDrawer(1, c.tensors)
	for _, x := range c.tensors[:40] {
		whole := make([]byte, x.bytes)
		d.draw(x, 0, whole)
		pieces := make([]byte, x.bytes)
		for at := int64(0); at < x.bytes; at += 12 {
			d.draw(x, at, pieces[at:min(at+12, x.bytes)])
		}
		if !bytes.Equal(whole, pieces) {
			t.Errorf("%s differs", x.name)
		}
	}
}

// TestBrokenOff looks for what a write leaves that does not come to its end.
func TestBrokenOff(t *testing.T) {
	c := small(t, "qwen-tiny")
	home := t.TempDir()
	dir := filepath.Join(home, "model")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := c.write(ctx, dir, func(int64, int64) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled write: %v", err)
	}
	huge := *c
	x := tensor{name: "x", dtype: weights.BF16, shape: []int64{1 << 60}}
	huge.tensors = append(slices.Clone(c.tensors), x.sized())
	fails(t, &huge, dir, "are free in "+home)
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	// What a killed write leaves is removed by the next, and what is whole is not written over.
	if err := os.MkdirAll(filepath.Join(dir+".partial", "old"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.write(t.Context(), dir, func(int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "old")); err == nil {
		t.Error("the folder has what an earlier write left")
	}
	fails(t, c, dir, "is there already")
}

// fails writes a model that cannot be written.
func fails(t *testing.T, c *checkpoint, dir, want string) {
	t.Helper()
	if err := c.write(t.Context(), dir, func(int64, int64) {}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestTokens looks at a vocabulary of a real size: every id has a token, and control tokens lie at the end ids.
func TestTokens(t *testing.T) {
	ends := []int{248046, 248044}
	added := addedTokens(ends)
	vocab, merges := tokens(248320, added)
	if len(vocab)+len(added) != 248320 || len(merges) < 248320-256-len(added) {
		t.Errorf("%d tokens, %d of them added, %d merges", len(vocab), len(added), len(merges))
	}
	seen := map[int]bool{}
	for _, id := range vocab {
		seen[id] = true
	}
	for _, a := range added {
		if seen[a.ID] {
			t.Errorf("%q has the id of another token", a.Content)
		}
	}
	end := slices.IndexFunc(added, func(a addedToken) bool { return a.Content == "<|im_end|>" })
	if added[end].ID != 248046 {
		t.Errorf("turns end with %d", added[end].ID)
	}
}
