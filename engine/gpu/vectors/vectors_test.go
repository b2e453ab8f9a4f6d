//go:build linux && amd64

package vectors

import (
	"slices"
	"testing"

	"sotto/kernels"
)

// TestBuilds replays the vectors on both host builds: the exact one must give the recorded bits.
func TestBuilds(t *testing.T) {
	for _, c := range []struct {
		name, library string
		exact         bool
	}{{"exact", exactLibrary, true}, {"fast", "", false}} {
		t.Run(c.name, func(t *testing.T) {
			worst, unequal := 0.0, 0
			err := Check(t.Context(), open(t, c.library), func(_, _ int, r Result) {
				if r.Err != nil || c.exact && !r.Equal {
					t.Errorf("%v: %v (equal: %v)", r.Kernels, r.Err, r.Equal)
				}
				worst = max(worst, r.Worst)
				if !r.Equal {
					unequal++
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d vectors differ, by %.2g of the largest number at most", unequal, worst)
		})
	}
}

// TestCovered finds entry points that no vector runs.
func TestCovered(t *testing.T) {
	s, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	var covered []string
	for _, v := range s.Vectors {
		covered = append(covered, v.Covers...)
	}
	for _, k := range kernels.All() {
		if !slices.Contains(covered, k.Name) {
			t.Errorf("%s is in no vector: record them anew with -update", k.Name)
		}
	}
}

// TestWrongResult plants one wrong bit in an output of each kind.
func TestWrongResult(t *testing.T) {
	word := []byte{0, 0, 0x80, 0x3f, 7, 0, 0, 0}
	nan := []byte{0, 0, 0xc0, 0x7f, 7, 0, 0, 0}
	before := []byte{0xc1, 0x7f, 0xc1, 0x7f, 0, 0, 0, 0}
	for _, c := range []struct {
		name  string
		got   []byte
		want  []byte
		e     Element
		equal bool
		fails bool
	}{
		{"equal", word, word, Word, true, false},
		{"float in the last place", []byte{1, 0, 0x80, 0x3f, 7, 0, 0, 0}, word, Word, false, false},
		{"float", []byte{0, 0, 0x81, 0x3f, 7, 0, 0, 0}, word, Word, false, true},
		{"integer", []byte{0, 0, 0x80, 0x3f, 6, 0, 0, 0}, word, Word, false, true},
		{"NaN", nan, word, Word, false, true},
		{"another NaN", []byte{0xff, 0xff, 0xff, 0x7f, 7, 0, 0, 0}, nan, Word, false, false},
		{"a NaN that was there before", []byte{0xc1, 0x7f, 0xc1, 0x7f, 7, 0, 0, 0}, nan, Word, false, true},
		{"half", []byte{0, 0, 0x90, 0x3f, 7, 0, 0, 0}, word, Half, false, true},
		{"half in the last place", []byte{0, 0, 0x81, 0x3f, 7, 0, 0, 0}, word, Half, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := comparison{equal: true}
			r.add("output", c.got, c.want, before, c.e)
			if r.equal != c.equal || (r.err != nil) != c.fails {
				t.Errorf("got equal %v, error %v; want %v and an error: %v", r.equal, r.err, c.equal, c.fails)
			}
		})
	}
}
