package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"sotto/packaging/api"
)

const metalFacts = "../../engine/gpu/metal/sim/facts.json"

var update = flag.Bool("update", false, "rewrite the facts of the simulated Metal runtime")

// TestMetalIsCurrent holds the simulator's facts to these ones.
func TestMetalIsCurrent(t *testing.T) {
	want, err := api.Metal()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(metalFacts, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(metalFacts)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not current: run go run ./packaging/api/cmd/metalfacts %s", metalFacts, metalFacts[6:])
	}
}

func TestMetalSince(t *testing.T) {
	b, err := api.Metal()
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Types map[string]struct{ Since map[string]string }
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, class, method, want string }{
		{"a class", "MTLResidencySet", "", "15.0"},
		{"a method", "MTLCompileOptions", "-setMathMode:", "15.0"},
		{"takes a newer type", "MTLCommandBuffer", "-useResidencySet:", "15.0"},
		{"gives Metal 4", "MTLDevice", "-newCommandAllocator", "26.0"},
		{"all of Metal 4", "MTL4Compiler", "", "26.0"},
		{"takes an enumeration of Metal 4", "MTLDevice", "-sizeOfCounterHeapEntry:", "26.0"},
		{"old", "MTLDevice", "-newBufferWithLength:options:", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := f.Types[tt.class].Since[tt.method]; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
