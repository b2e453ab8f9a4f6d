//go:build linux && amd64

package sim_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sotto/assets"
	"sotto/engine"
	"sotto/engine/gpu"
	"sotto/engine/gpu/metal"
	"sotto/engine/gpu/metal/sim"
	"sotto/engine/sample"
)

// TestWhatIsAdmittedRuns opens models on a device that has the least memory that they are admitted to: everything that
// they can be asked then runs, programs' parameters, zeroes and whole pages included. A diagnosis may be refused, and
// then takes nothing from what follows.
func TestWhatIsAdmittedRuns(t *testing.T) {
	for _, model := range []string{"qwen-tiny", "nemotron-tiny"} {
		for _, chunk := range []int{1, 256} {
			t.Run(fmt.Sprintf("%s, chunks of %d", model, chunk), func(t *testing.T) { testAdmitted(t, model, chunk) })
		}
	}
}

func testAdmitted(t *testing.T, model string, chunk int) {
	dir, err := assets.Model(model)
	if err != nil {
		t.Fatal(err)
	}
	packs, kept := t.TempDir(), manifests{}
	open := func(limit int64) (*engine.Engine, error) {
		g := sim.M4
		g.WorkingSet = limit
		dev, err := sim.Open(sim.Options{GPU: g}, metal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return engine.Open(t.Context(), dir, engine.Options{
			Device: dev, Chunk: chunk, PackDir: packs, Manifests: kept,
		})
	}
	var needs int64
	if _, err := open(1 << 20); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Fatalf("got %v, want %v", err, gpu.ErrOutOfMemory)
	} else if _, err := fmt.Sscanf(err.Error(), "%d MB of weights", &needs); err != nil {
		t.Fatalf("what the model needs: %v", err)
	}
	const step = 16 << 10
	refused, taken := needs*1e6, (needs+1)*1e6
	for taken-refused > step {
		limit := (refused + taken) / 2
		e, err := open(limit)
		if err != nil {
			refused = limit
			continue
		}
		taken = limit
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	e, err := open(taken)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	s := e.NewSession()
	for _, diagnosed := range []bool{true, false} {
		for _, text := range []string{"Hello!", strings.Repeat("one two three ", 40), "Hello! Who?"} {
			for _, temperature := range []float32{0, 1} {
				r := engine.Request{Messages: []engine.Message{{Role: engine.User, Content: text}}, MaxTokens: 4}
				r.Sampling = sample.Settings{Temperature: temperature, TopP: 1}
				r.Census, r.Times = diagnosed, diagnosed
				for _, err := range s.Generate(t.Context(), r) {
					if err != nil && (!diagnosed || !errors.Is(err, gpu.ErrOutOfMemory)) {
						t.Errorf("in %d bytes, %d letters: %v", taken, len(text), err)
					}
				}
			}
		}
	}
}
