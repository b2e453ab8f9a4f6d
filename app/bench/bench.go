// Package bench measures reading and decoding of an open model. Arms (the model with and without a technique, or two
// models) take turns within every round, in an order that changes from round to round, so that what disturbs the
// machine disturbs all of them; figures are medians with their spread, and arms are compared within rounds.
//
// It measures and prints; it opens nothing and knows no device.
package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sotto/engine/run"
)

// Measurer reads so many tokens and decodes so many.
type Measurer interface {
	Measure(ctx context.Context, prompt, tokens int, seed uint64) (run.Figures, error)
}

// Arm is one side of a comparison. The first arm is the base.
type Arm struct {
	Name string
	Measurer
}

// Plan says what is measured.
type Plan struct {
	Prompts []int // lengths of prompts, in tokens
	Tokens  int   // decoded after each
	Rounds  int
	Seed    uint64
}

// Report is what was measured, for people and as JSON.
type Report struct {
	Model   string   `json:"model"`
	Device  string   `json:"device"`
	Arms    []string `json:"arms"`
	Tokens  int      `json:"decoded_tokens"`
	Rounds  int      `json:"rounds"`
	Lengths []Length `json:"lengths"`
}

// Length is what was measured at one length of prompts.
type Length struct {
	Prompt int      `json:"prompt_tokens"`
	Rounds int      `json:"rounds"` // fewer than the report's if something ended the measurement
	Arms   []Figure `json:"arms"`
}

// Figure is one arm at one length.
type Figure struct {
	Arm     string `json:"arm"`
	Prefill Spread `json:"prefill_tokens_per_second"`
	Decode  Spread `json:"decode_tokens_per_second"`
	First   Spread `json:"first_token_ms"`
	// PrefillRatio and DecodeRatio are this arm's rate over the base's in the same round; 1 for the base.
	PrefillRatio Spread `json:"prefill_ratio"`
	DecodeRatio  Spread `json:"decode_ratio"`
}

// Spread is a median with the smallest and the largest value.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Run measures. Every arm reads and decodes once before the rounds begin, so that nothing is measured while it is
// compiled or read from disk. With an error comes a report of the lengths and rounds that were finished before it.
func Run(ctx context.Context, arms []Arm, p Plan, progress func(done, total int)) (*Report, error) {
	r := &Report{Tokens: p.Tokens, Rounds: p.Rounds}
	for _, a := range arms {
		r.Arms = append(r.Arms, a.Name)
	}
	done, total := 0, len(p.Prompts)*(p.Rounds+1)*len(arms)
	for _, prompt := range p.Prompts {
		samples := make([][]run.Figures, len(arms))
		for round := range p.Rounds + 1 {
			for i := range arms {
				at := (i + round) % len(arms)
				f, err := arms[at].Measure(ctx, prompt, p.Tokens, p.Seed)
				if err != nil {
					r.add(prompt, arms, samples)
					return r, fmt.Errorf("%s, prompt of %d tokens: %w", arms[at].Name, prompt, err)
				}
				if round > 0 {
					samples[at] = append(samples[at], f)
				}
				done++
				progress(done, total)
			}
		}
		r.add(prompt, arms, samples)
	}
	return r, nil
}

// add sums up the rounds at one length that all arms have been through, if there are any.
func (r *Report) add(prompt int, arms []Arm, samples [][]run.Figures) {
	rounds := len(samples[0])
	for _, s := range samples {
		rounds = min(rounds, len(s))
	}
	if rounds > 0 {
		r.Lengths = append(r.Lengths, summarise(prompt, rounds, arms, samples))
	}
}

func summarise(prompt, rounds int, arms []Arm, samples [][]run.Figures) Length {
	l := Length{Prompt: prompt, Rounds: rounds}
	over := func(arm int, rate func(run.Figures) float64) Spread {
		return spread(rounds, func(i int) float64 { return rate(samples[arm][i]) })
	}
	ratio := func(arm int, rate func(run.Figures) float64) Spread {
		return spread(rounds, func(i int) float64 { return rate(samples[arm][i]) / rate(samples[0][i]) })
	}
	for i, a := range arms {
		l.Arms = append(l.Arms, Figure{
			Arm: a.Name, Prefill: over(i, run.Figures.PrefillRate), Decode: over(i, run.Figures.DecodeRate),
			First:        over(i, func(f run.Figures) float64 { return float64(f.FirstToken.Microseconds()) / 1e3 }),
			PrefillRatio: ratio(i, run.Figures.PrefillRate), DecodeRatio: ratio(i, run.Figures.DecodeRate),
		})
	}
	return l
}

func spread(n int, value func(i int) float64) Spread {
	v := make([]float64, n)
	for i := range v {
		v[i] = value(i)
	}
	slices.SortFunc(v, cmp.Compare[float64])
	if n == 0 {
		return Spread{}
	}
	return Spread{Median: (v[(n-1)/2] + v[n/2]) / 2, Min: v[0], Max: v[n-1]}
}
