package run

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/model"
	"sotto/engine/state"
	"sotto/engine/weights"
	"sotto/kernels"
)

// TestFit computes what the full-size models get of the memory that Macs let their GPU have.
func TestFit(t *testing.T) {
	const nothing = 0
	for _, c := range []struct {
		config string
		limit  int64
		asked  int
		slots  int
		window int
	}{
		{"qwen36_35b_a3b", 115_448_720_384, 4, 4, 262144},
		{"qwen36_35b_a3b", 32e9, 4, 2, 262144},
		{"qwen36_35b_a3b", 25.1e9, 4, 1, 262144},
		{"qwen36_35b_a3b", 23e9, 4, 1, 131072},
		{"qwen36_35b_a3b", 21e9, 4, 1, 65536},
		{"qwen36_35b_a3b", 19.8e9, 4, 1, 8192},
		{"qwen36_35b_a3b", 19.07e9, 4, nothing, nothing},
		{"nemotron35_lightning", 23e9, 1, 1, 262144},
		{"nemotron35_lightning", 19.07e9, 4, 1, 131072},
		{"nemotron35_lightning", 12e9, 1, nothing, nothing},
	} {
		text, err := os.ReadFile(filepath.Join("../model/testdata", c.config+".json"))
		if err != nil {
			t.Fatal(err)
		}
		spec, _, err := model.SpecFromConfig(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		config := Config{Device: capable{chunk: 64, limit: c.limit}, Spec: spec, DType: kernels.BF16, Sessions: c.asked}
		if err := Supports(config); (err == nil) != (c.slots > 0) || err != nil && !errors.Is(err, gpu.ErrOutOfMemory) {
			t.Errorf("%s in %d: %v", c.config, c.limit, err)
			continue
		}
		if config.Layout, err = weights.Plan(spec.Recipe()); err != nil {
			t.Fatal(err)
		}
		var got state.Config
		_ = fit(config, func(s state.Config) error { // what it says is tested above
			l, err := state.Plan(spec, s)
			if err != nil {
				return err
			}
			_, err = admit(config, l)
			if err == nil {
				got = s
			}
			return err
		})
		if got.Slots != c.slots || got.Window != c.window {
			t.Errorf("%s in %d: %d sessions of %d tokens, want %d of %d", c.config, c.limit, got.Slots, got.Window,
				c.slots, c.window)
		}
	}
}
