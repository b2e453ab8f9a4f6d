package sample

import (
	"math"
	"strings"
	"testing"

	"sotto/kernels"
)

func TestValidate(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		name string
		s    Settings
		want string // "" = valid
	}{
		{"zero value", Settings{}, ""},
		{"usual", Settings{Temperature: 0.7, TopP: 0.9, TopK: 40, MinP: 0.05}, ""},
		{"hot", Settings{Temperature: 101}, "temperature 101"},
		{"cold", Settings{Temperature: -0.1}, "temperature -0.1"},
		{"temperature NaN", Settings{Temperature: nan}, "temperature NaN"},
		{"top-p above one", Settings{TopP: 1.01}, "top-p 1.01"},
		{"top-p NaN", Settings{TopP: nan}, "top-p NaN"},
		{"min-p below zero", Settings{MinP: -1}, "min-p -1"},
		{"top-k below zero", Settings{TopK: -1}, "top-k -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.s.Validate()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if (Logs{Alts: kernels.MaxAlternatives + 1}).Validate() == nil {
		t.Error("more alternatives than the ring holds: got no error")
	}
}

func TestFill(t *testing.T) {
	var p kernels.StepParams
	Fill(&p, Settings{Temperature: 0.5, TopK: 7, MinP: 0.1, Seed: 0x1_0000_0002}, Logs{Alts: 3})
	want := kernels.StepParams{Temp: 0.5, TopP: 1, MinP: 0.1, TopK: 7, SeedLo: 2, SeedHi: 1, Alts: 3, Logprobs: 1}
	if p != want {
		t.Errorf("sampled: got %+v, want %+v", p, want)
	}
	Fill(&p, Settings{}, Logs{})
	if want = (kernels.StepParams{TopP: 1, Greedy: 1}); p != want {
		t.Errorf("greedy after sampled: got %+v, want %+v", p, want)
	}
}
