// Package sample says how the next token is chosen: settings in the terms of the user, and how they are laid into
// the step record that the sampling kernels read. The kernels do the choosing; the order of the filters is theirs
// (kernels.Sampler).
package sample

import (
	"fmt"

	"sotto/kernels"
)

// Settings say how tokens are chosen. The zero value is greedy.
type Settings struct {
	Temperature float32 // 0: greedy, the fields below are not read
	TopP        float32 // 0 or 1: off
	MinP        float32 // 0: off
	TopK        int     // 0: off
	Seed        uint64  // key of the counter-based generator; the same seed gives the same tokens
}

// Logs says which log-probabilities are recorded with each token.
type Logs struct {
	Chosen bool
	Alts   int // and that many of the best alternatives, at most kernels.MaxAlternatives
}

// greedyBelow is the temperature under which the kernels take the best token.
const greedyBelow = 1e-6

// Greedy says whether the best token is taken every time.
func (s Settings) Greedy() bool { return s.Temperature < greedyBelow }

// Validate reports the first field that is out of range.
func (s Settings) Validate() error {
	switch {
	case !(s.Temperature >= 0 && s.Temperature <= 100):
		return fmt.Errorf("temperature %g: want 0 to 100", s.Temperature)
	case !(s.TopP >= 0 && s.TopP <= 1):
		return fmt.Errorf("top-p %g: want 0 to 1", s.TopP)
	case !(s.MinP >= 0 && s.MinP <= 1):
		return fmt.Errorf("min-p %g: want 0 to 1", s.MinP)
	case s.TopK < 0 || s.TopK > 1<<24:
		return fmt.Errorf("top-k %d: want 0 to %d", s.TopK, 1<<24)
	}
	return nil
}

// Validate reports a number of alternatives that the ring cannot hold.
func (l Logs) Validate() error {
	if l.Alts < 0 || l.Alts > kernels.MaxAlternatives {
		return fmt.Errorf("%d alternatives: want 0 to %d", l.Alts, kernels.MaxAlternatives)
	}
	return nil
}

// Fill lays valid settings into the sampling fields of a step record.
func Fill(p *kernels.StepParams, s Settings, l Logs) {
	p.Greedy = 0
	if s.Greedy() {
		p.Greedy = 1
	}
	p.Temp, p.TopP, p.MinP, p.TopK = s.Temperature, s.TopP, s.MinP, uint32(s.TopK)
	if s.TopP == 0 {
		p.TopP = 1
	}
	p.SeedLo, p.SeedHi = uint32(s.Seed), uint32(s.Seed>>32)
	p.Alts, p.Logprobs = uint32(l.Alts), 0
	if l.Chosen || l.Alts > 0 {
		p.Logprobs = 1
	}
}
