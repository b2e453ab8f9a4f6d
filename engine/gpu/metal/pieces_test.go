package metal

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestCut(t *testing.T) {
	const page, limit, most = 16, 64, 128
	for _, c := range []struct {
		name   string
		ranges []span
		want   []span
	}{
		{"nothing", nil, nil},
		{"one", []span{{3, 5}}, []span{{0, 16}}},
		{"whole pages", []span{{16, 32}}, []span{{16, 32}}},
		{"neighbours", []span{{16, 32}, {32, 48}, {0, 16}}, []span{{0, 48}}},
		{"in one page", []span{{2, 4}, {8, 9}}, []span{{0, 16}}},
		{"pages between are left out", []span{{0, 16}, {48, 50}}, []span{{0, 16}, {48, 64}}},
		{"full", []span{{0, 48}, {48, 80}}, []span{{0, 48}, {48, 80}}},
		{"full in the middle of a page", []span{{0, 60}, {60, 70}}, []span{{0, 64}, {48, 80}}},
		{"longer than the limit", []span{{0, 100}, {100, 120}}, []span{{0, 112}, {96, 128}}},
		{"inside a long one", []span{{0, 100}, {20, 40}}, []span{{0, 112}}},
		{"overlapping", []span{{0, 40}, {30, 60}}, []span{{0, 64}}},
		{"the same twice", []span{{0, 40}, {0, 40}}, []span{{0, 48}}},
	} {
		got, err := cut(c.ranges, page, limit, most)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, %v, want %v", c.name, got, err, c.want)
		}
	}
	if got, err := cut([]span{{0, 129}}, page, limit, most); err == nil {
		t.Errorf("got %v for a range that fits no buffer, want an error", got)
	}
}

// TestCutCovers checks what cut promises, on ranges of chance.
func TestCutCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		const page, limit, most = 16, 256, 512
		var ranges []span
		for range r.IntN(20) {
			off := r.Int64N(4000)
			ranges = append(ranges, span{off, off + 1 + r.Int64N(400)})
		}
		spans, err := cut(ranges, page, limit, most)
		if err != nil {
			t.Fatal(err)
		}
		var pieces []piece
		for _, s := range spans {
			if s.off%page != 0 || s.end%page != 0 || s.size() > most {
				t.Fatalf("piece %v", s)
			}
			pieces = append(pieces, piece{span: s})
		}
		for _, s := range ranges {
			if inside(pieces, s) == nil {
				t.Fatalf("range %v lies in none of %v", s, spans)
			}
		}
	}
}
