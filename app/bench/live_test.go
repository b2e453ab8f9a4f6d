package bench

import (
	"strings"
	"testing"
	"time"

	"sotto/engine/run"
)

// passes are those of one part, in microseconds.
func passes(micros ...int) []run.PartTime {
	p := run.PartTime{Name: "layer 0"}
	for _, us := range micros {
		p.Passes = append(p.Passes, time.Duration(us)*time.Microsecond)
	}
	return []run.PartTime{p}
}

// TestLiveHiccup holds that a pass which something disturbs moves no figure.
func TestLiveHiccup(t *testing.T) {
	r := NewLiveReport([]string{"experts"}, nil, []Round{{passes(20, 20, 22), passes(10, 10, 90000)}})
	if p := r.Parts[0]; p.Dense.Median != 20 || p.Sparse.Median != 10 || p.Ratio.Median != 2 {
		t.Errorf("got %+v, want 20 and 10 microseconds", p)
	}
}

// TestLiveUnits prints bytes in a unit that fits them, and says which.
func TestLiveUnits(t *testing.T) {
	for _, c := range []struct {
		full, live, touched int64
		want                []string
	}{
		{5_600_000, 560_000, 1_300_000, []string{"\nMB of the down projection", "full MB", " 5.6 ", " 0.6 ", " 1.3 "}},
		{73_700, 5_100, 9_900, []string{"\nkB of the down projection", "full kB", " 73.7 ", " 5.1 ", " 9.9 "}},
	} {
		routed := run.Count{Full: c.full, LiveOnly: c.live, Touched: c.touched}
		n := run.Neurons{Layer: 0, Routed: routed, Shared: run.Count{Visits: 1}}
		var out strings.Builder
		r := NewLiveReport([]string{"experts"}, []run.Neurons{n}, []Round{{passes(2), passes(1)}})
		if err := r.Table(&out); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the table lacks %q:\n%s", want, out.String())
			}
		}
	}
}
