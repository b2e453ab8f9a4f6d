package nn_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/model"
	"sotto/engine/nn"
	"sotto/engine/state"
	"sotto/engine/weights"
	"sotto/kernels"
)

var update = flag.Bool("update", false, "write the golden programs anew")

// modelOf makes everything that programs are recorded from out of a config alone.
func modelOf(t testing.TB, config string, c state.Config) nn.Model {
	t.Helper()
	text, err := os.ReadFile("../model/testdata/" + config)
	if err != nil {
		t.Fatal(err)
	}
	spec, _, err := model.SpecFromConfig(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return plan(t, spec, c)
}

func plan(t testing.TB, spec *model.Spec, c state.Config) nn.Model {
	t.Helper()
	l, err := weights.Plan(spec.Recipe())
	if err != nil {
		t.Fatal(err)
	}
	st, err := state.Plan(spec, c)
	if err != nil {
		t.Fatal(err)
	}
	return nn.Model{Spec: spec, Weights: l, State: st}
}

func record(t testing.TB, m nn.Model, o nn.Options) *nn.Pass {
	t.Helper()
	p, err := nn.Record(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Options of the golden programs.
var (
	greedy1  = nn.Options{Rows: 1, Logits: nn.LastLogits, Sampler: nn.Greedy}
	sampled1 = nn.Options{Rows: 1, Logits: nn.LastLogits, Sampler: nn.Sampled}
	verify3  = nn.Options{Rows: 3, Logits: nn.AllLogits}
	chunk64  = nn.Options{Rows: 64}
	last256  = nn.Options{Rows: 256, Logits: nn.LastLogits, Sampler: nn.Sampled}
)

func TestPrograms(t *testing.T) {
	tests := []struct {
		file, config string
		state        state.Config
		options      nn.Options
	}{
		{"tiny_decode1.txt", "tiny.json", state.Config{Slots: 1}, greedy1},
		{"tiny_decode3.txt", "tiny.json", state.Config{Slots: 2}, verify3},
		{"tiny_prefill64.txt", "tiny.json", state.Config{Slots: 1, DType: kernels.F32}, chunk64},
		{"full_decode1.txt", "qwen36_35b_a3b.json", state.Config{Slots: 1}, greedy1},
		{"full_prefill256.txt.gz", "qwen36_35b_a3b.json", state.Config{Slots: 1}, last256},
		{"nemotron_tiny_decode1.txt", "nemotron_tiny.json", state.Config{Slots: 1}, greedy1},
		{"nemotron_tiny_decode3.txt", "nemotron_tiny.json", state.Config{Slots: 2}, verify3},
		{"nemotron_tiny_prefill64.txt", "nemotron_tiny.json", state.Config{Slots: 1, DType: kernels.F32}, chunk64},
		{"nemotron_full_decode1.txt", "nemotron35_lightning.json", state.Config{Slots: 1}, live(greedy1)},
		{"nemotron_full_prefill256.txt.gz", "nemotron35_lightning.json", state.Config{Slots: 1}, last256},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			p := record(t, modelOf(t, tt.config, tt.state), tt.options)
			text := &bytes.Buffer{}
			if err := p.Print(text); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", tt.file), text.Bytes())
		})
	}
}

// golden compares text with a file, which is compressed when its name says so.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	zipped := strings.HasSuffix(file, ".gz")
	if *update {
		out := &bytes.Buffer{}
		if zipped {
			z := gzip.NewWriter(out)
			_, err := z.Write(got)
			if err := errors.Join(err, z.Close()); err != nil {
				t.Fatal(err)
			}
		} else {
			out.Write(got)
		}
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if zipped {
		z, err := gzip.NewReader(bytes.NewReader(want))
		if err != nil {
			t.Fatal(err)
		}
		if want, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	a, b := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	if len(a) != len(b) {
		t.Errorf("%d lines, want %d", len(a), len(b))
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("line %d (-update writes the file anew)\n got %s\nwant %s", i+1, a[i], b[i])
		}
	}
}

// TestFacts holds the costs of a token at full size: 374 barriers and 1,879 MB at 4K are what the design allows.
func TestFacts(t *testing.T) {
	m := modelOf(t, "qwen36_35b_a3b.json", state.Config{Slots: 1})
	tests := []struct {
		name               string
		options            nn.Options
		dispatches, stages int
	}{
		{"greedy", greedy1, 453, 373},
		{"sampled", sampled1, 454, 374},
		{"verify", verify3, 482, 402},
		{"prefill", chunk64, 640, 560},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := record(t, m, tt.options).Facts()
			if f.Dispatches != tt.dispatches || f.Stages != tt.stages {
				t.Errorf("%d dispatches in %d stages, want %d in %d", f.Dispatches, f.Stages, tt.dispatches, tt.stages)
			}
		})
	}
	p := record(t, m, greedy1)
	bytesOf := map[string]int64{}
	for _, r := range p.Facts().Regions {
		bytesOf[r.Region.Name] = r.Bytes
	}
	// The design counts weights, recurrent state and cache: 1,670 + 126 + 84 MB.
	for name, want := range map[string]int64{"weights": 1_670e6, "recurrent": 126e6, "kv": 84e6} {
		if got := bytesOf[name]; got < want-want/200 || got > want+want/200 {
			t.Errorf("%s: %d bytes a token, want about %d", name, got, want)
		}
	}
	if got := bytesOf["weights"] + bytesOf["recurrent"] + bytesOf["kv"]; got > 1_880e6 {
		t.Errorf("%d bytes a token", got)
	}
	// Activations, partial results and convolution tails stay in caches, or nearly.
	if got := p.Facts().Bytes - bytesOf["weights"] - bytesOf["recurrent"] - bytesOf["kv"]; got > 16e6 {
		t.Errorf("%d bytes a token besides", got)
	}
}

// publishedLive is the share of live neurons at which 1.3 of the 5.6 MB of a shared expert's down projection are read:
// its codes, an eighth of the rest being metadata, of which groups of 64 are read whole.
const publishedLive = 0.136

func live(o nn.Options) nn.Options {
	o.Live = publishedLive
	return o
}

// TestNemotronFacts holds the costs of a token at full size: 264 barriers, and 1,949 MB at 4K, or 1,553 MB where dead
// neurons are not read, are what the design allows. Scales of four bits save more.
func TestNemotronFacts(t *testing.T) {
	plain := modelOf(t, "nemotron35_lightning.json", state.Config{Slots: 1})
	dense := greedy1
	dense.Without = nn.Sparse
	tests := []struct {
		name               string
		model              nn.Model
		options            nn.Options
		dispatches, stages int
		megabytes          int64 // weights, state and cache; 0: not looked at
	}{
		{"greedy", plain, live(greedy1), 309, 263, 1_553},
		{"dense", plain, dense, 309, 263, 1_950},
		{"compact", compacted(t, plain), live(greedy1), 309, 263, 1_532},
		{"sampled", plain, sampled1, 310, 264, 0},
		{"verify", plain, verify3, 331, 285, 0},
		{"prefill", plain, chunk64, 422, 376, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := record(t, tt.model, tt.options).Facts()
			if f.Dispatches != tt.dispatches || f.Stages != tt.stages {
				t.Errorf("%d dispatches in %d stages, want %d in %d", f.Dispatches, f.Stages, tt.dispatches, tt.stages)
			}
			got, rest := int64(0), f.Bytes
			for _, r := range f.Regions {
				if name := r.Region.Name; name == "weights" || name == "recurrent" || name == "kv" {
					got += r.Bytes
					rest -= r.Bytes
				}
			}
			if tt.megabytes > 0 && (got+5e5)/1e6 != tt.megabytes {
				t.Errorf("%d bytes of weights, state and cache, want %d MB", got, tt.megabytes)
			}
			// Activations, partial sums and convolution tails stay in caches, or nearly.
			if tt.megabytes > 0 && rest > 20e6 {
				t.Errorf("%d bytes a token besides", rest)
			}
		})
	}
}

// TestEveryClass records the published models for every number of rows that passes have.
func TestEveryClass(t *testing.T) {
	for _, config := range []string{"qwen36_35b_a3b.json", "nemotron35_lightning.json"} {
		for _, d := range []kernels.DType{kernels.BF16, kernels.F32} {
			m := modelOf(t, config, state.Config{Slots: 1, DType: d})
			for _, rows := range []int{1, 2, 3, 4, 5, 16, 64, 256, 1024, kernels.MaxRows} {
				record(t, m, nn.Options{Rows: rows, Logits: nn.LastLogits, Sampler: nn.Sampled})
				record(t, compacted(t, m), nn.Options{Rows: rows, Masks: true})
			}
		}
	}
}

// compacted is a model whose scales by neuron are all of four bits.
func compacted(t *testing.T, m nn.Model) nn.Model {
	t.Helper()
	r := m.Spec.Recipe()
	for i := range r.Items {
		if it := &r.Items[i]; it.Format == weights.NM {
			it.Format = weights.NM20
		}
	}
	l, err := weights.Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	m.Weights = l
	return m
}

// TestSiblings holds which ops share a stage.
func TestSiblings(t *testing.T) {
	p := record(t, modelOf(t, "tiny.json", state.Config{Slots: 1}), greedy1)
	stages := p.Stages()
	at := map[string]int{}
	for i, op := range p.Ops {
		if strings.HasPrefix(op.Label, "layer 0: ") {
			at[strings.TrimPrefix(op.Label, "layer 0: ")] = stages[i]
		}
	}
	for _, pair := range [][2]string{{"router", "shared gate up"}, {"route top-k", "shared down"}} {
		if at[pair[0]] == 0 || at[pair[0]] != at[pair[1]] {
			t.Errorf("%s in stage %d, %s in stage %d", pair[0], at[pair[0]], pair[1], at[pair[1]])
		}
	}
}

func TestParts(t *testing.T) {
	m := modelOf(t, "tiny.json", state.Config{Slots: 1})
	config, err := os.ReadFile("../model/testdata/tiny.json")
	if err != nil {
		t.Fatal(err)
	}
	mixed := func(module string) nn.Model {
		text := strings.ReplaceAll(string(config), `"mode": "affine",`,
			`"mode": "affine", "language_model.model.layers.0.`+module+`": {"group_size": 64, "bits": 8},`)
		spec, _, err := model.SpecFromConfig([]byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return plan(t, spec, state.Config{Slots: 1})
	}
	whole, parted := record(t, m, greedy1), record(t, mixed("linear_attn.in_proj_z"), greedy1)
	if got, want := len(parted.Ops), len(whole.Ops)+2; got != want {
		t.Errorf("%d ops, want %d", got, want)
	}
	if got, want := parted.Facts().Stages, whole.Facts().Stages; got != want {
		t.Errorf("parts of one row take %d stages, want %d", got, want)
	}
	if p := record(t, mixed("linear_attn.in_proj_z"), chunk64); len(p.Ops) == 0 {
		t.Error("no program for many rows")
	}
	_, err = nn.Record(mixed("linear_attn.in_proj_a"), greedy1)
	if err == nil || !strings.Contains(err.Error(), "layer 0: delta in: parts of different bits meet at output 1540") {
		t.Errorf("got %v", err)
	}
	_, err = nn.Record(mixed("mlp.switch_mlp.down_proj"), greedy1)
	if err != nil {
		t.Error(err)
	}
}

func TestRecordRefused(t *testing.T) {
	m := modelOf(t, "tiny.json", state.Config{Slots: 1})
	other := m
	other.State = modelOf(t, "qwen36_35b_a3b.json", state.Config{Slots: 1}).State
	foreign := m
	foreign.Weights = modelOf(t, "qwen36_35b_a3b.json", state.Config{Slots: 1}).Weights
	tests := []struct {
		name, want string
		model      nn.Model
		options    nn.Options
	}{
		{"no rows", "row class 0", m, nn.Options{}},
		{"too many rows", "row class 4097", m, nn.Options{Rows: 4097}},
		{"sampler without logits", "a sampler needs", m, nn.Options{Rows: 1, Sampler: nn.Greedy}},
		{"sampler, all logits", "a sampler needs", m, nn.Options{Rows: 2, Logits: nn.AllLogits, Sampler: nn.Greedy}},
		{"cut short with logits", "cut short", m, nn.Options{Rows: 1, Depth: 3, Logits: nn.LastLogits}},
		{"too deep", "17 of 16 blocks", m, nn.Options{Rows: 1, Depth: 17}},
		{"state of another model", "state of 80 blocks", other, nn.Options{Rows: 1}},
		{"pack of another model", `the pack has no "embed" of 4096 x 256 in q4`, foreign, nn.Options{Rows: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := nn.Record(tt.model, tt.options)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	spec := *m.Spec
	spec.Blocks = append([]model.Block(nil), spec.Blocks...)
	odd := *spec.Blocks[0].Mixer.(*model.GatedDelta)
	odd.KeyDim = 96
	spec.Blocks[0].Mixer = &odd
	_, err := nn.Record(nn.Model{Spec: &spec, Weights: m.Weights, State: m.State}, greedy1)
	if _, ok := errors.AsType[*kernels.UnsupportedError](err); !ok {
		t.Errorf("got %v, want an UnsupportedError", err)
	}
	spec.Blocks[0].Mixer = unknown{&odd}
	_, err = nn.Record(nn.Model{Spec: &spec, Weights: m.Weights, State: m.State}, greedy1)
	if err == nil || !strings.Contains(err.Error(), "block 0: no program for nn_test.unknown") {
		t.Errorf("got %v, want a block that has no program", err)
	}
}

// unknown is a block of a kind that the recorder has not heard of.
type unknown struct{ *model.GatedDelta }

func TestBind(t *testing.T) {
	m := modelOf(t, "tiny.json", state.Config{Slots: 1})
	p := record(t, m, last256)
	bind := p.Bind(nil, nil, map[*gpu.Region]gpu.Buffer{m.State.KV: nil, m.State.Conv: nil, m.State.Recurrent: nil})
	for _, op := range p.Ops {
		for _, a := range op.Args {
			if _, ok := bind[a.Region]; !ok && a.Region != gpu.Step {
				t.Fatalf("%s: region %s is not bound", op.Label, a.Region.Name)
			}
		}
	}
}
