package bench

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"sotto/engine/run"
)

// fake takes a step from a list of durations with every call after the first.
type fake struct {
	name    string
	calls   *[]string
	decodes []time.Duration
	n       int
	fail    error
}

func (f *fake) Measure(_ context.Context, prompt, tokens int, _ uint64) (run.Figures, error) {
	*f.calls = append(*f.calls, f.name)
	d := time.Second
	if f.n > 0 {
		d = f.decodes[f.n-1]
	}
	f.n++
	return run.Figures{
		Read: prompt, Prefill: 2 * time.Second, FirstToken: 3 * time.Millisecond, Completion: tokens, Decode: d,
	}, f.fail
}

func TestRun(t *testing.T) {
	var calls []string
	ms := func(v ...int) (d []time.Duration) {
		for _, x := range v {
			d = append(d, time.Duration(x)*time.Millisecond)
		}
		return d
	}
	arms := []Arm{
		{"a", &fake{name: "a", calls: &calls, decodes: ms(100, 400, 200)}},
		{"b", &fake{name: "b", calls: &calls, decodes: ms(50, 400, 50)}},
	}
	steps := 0
	r, err := Run(t.Context(), arms, Plan{Prompts: []int{10}, Tokens: 11, Rounds: 3}, func(done, total int) {
		if steps++; done != steps || total != 8 {
			t.Errorf("progress %d of %d after %d steps of 8", done, total, steps)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Split("abbaabba", ""); !slices.Equal(calls, want) {
		t.Errorf("order %v, want %v: arms take turns", calls, want)
	}
	a, b := r.Lengths[0].Arms[0], r.Lengths[0].Arms[1]
	for _, c := range []struct {
		name string
		got  Spread
		want Spread
	}{
		{"prefill", a.Prefill, Spread{5, 5, 5}},
		{"decode of a", a.Decode, Spread{50, 25, 100}},
		{"decode of b", b.Decode, Spread{200, 25, 200}},
		{"ratio of a", a.DecodeRatio, Spread{1, 1, 1}},
		{"ratio of b within rounds", b.DecodeRatio, Spread{2, 1, 4}},
		{"first token", b.First, Spread{3, 3, 3}},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
		}
	}
	printed(t, r)
}

func printed(t *testing.T, r *Report) {
	t.Helper()
	r.Model, r.Device = "tiny <&>", "device"
	var table, svg strings.Builder
	if err := errors.Join(r.Table(&table), r.SVG(&svg)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"50.0 [25.0, 100.0]", "2.00 [1.00, 4.00]", "tiny <&>"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, table.String())
		}
	}
	for d := xml.NewDecoder(strings.NewReader(svg.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the picture is no XML: %v\n%s", err, svg.String())
		}
	}
	if n := strings.Count(svg.String(), "<rect x="); n != 4 {
		t.Errorf("%d bars, want 4", n)
	}
}

func TestRunFails(t *testing.T) {
	broken := errors.New("broken")
	var calls []string
	_, err := Run(t.Context(), []Arm{{"a", &fake{name: "a", calls: &calls, fail: broken}}},
		Plan{Prompts: []int{10}, Tokens: 2, Rounds: 1}, func(int, int) {})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "a, prompt of 10 tokens") {
		t.Errorf("got %v, want the arm and the length named", err)
	}
}

// TestRunEnds ends a measurement in its second length: the report has the rounds that all arms have been through.
func TestRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var calls []string
	decodes := slices.Repeat([]time.Duration{time.Second}, 20)
	arms := []Arm{
		{"a", &fake{name: "a", calls: &calls, decodes: decodes}},
		{"b", &fake{name: "b", calls: &calls, decodes: decodes}},
	}
	for i := range arms {
		arms[i].Measurer = ending{arms[i].Measurer}
	}
	r, err := Run(ctx, arms, Plan{Prompts: []int{10, 20}, Tokens: 11, Rounds: 3}, func(done, _ int) {
		if done == 8+2+2+1 { // of the second length one round, and half of the next
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if l := r.Lengths; len(l) != 2 || l[0].Rounds != 3 || l[1].Rounds != 1 || l[1].Arms[1].Decode.Min != 10 {
		t.Errorf("got %+v, want 3 rounds and 1", l)
	}
	const want = "not finished: 1 of 3 rounds at 20 tokens"
	var table strings.Builder
	if err := r.Table(&table); err != nil || !strings.Contains(table.String(), want) {
		t.Errorf("%v, %s", err, table.String())
	}
}

// ending is a measurer that heeds its context.
type ending struct{ Measurer }

func (e ending) Measure(ctx context.Context, prompt, tokens int, seed uint64) (run.Figures, error) {
	if ctx.Err() != nil {
		return run.Figures{}, ctx.Err()
	}
	return e.Measurer.Measure(ctx, prompt, tokens, seed)
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want Spread
	}{
		{nil, Spread{}},
		{[]float64{3}, Spread{3, 3, 3}},
		{[]float64{4, 1}, Spread{2.5, 1, 4}},
		{[]float64{9, 1, 2}, Spread{2, 1, 9}},
	} {
		if got := spread(len(c.v), func(i int) float64 { return c.v[i] }); got != c.want {
			t.Errorf("%v: got %v, want %v", c.v, got, c.want)
		}
	}
}
