package weights

import (
	"math"
	"testing"
)

func TestPlanPlacesStreams(t *testing.T) {
	l := plan(t, Recipe{Items: []Item{
		{Name: "a", Sources: []Source{{"a", 3}}, Rows: 3, Cols: 64, Format: Q4},
		{Name: "b", Sources: []Source{{"b", 5}}, Experts: 2, Rows: 5, Cols: 128, Format: Q8},
		{Name: "c", Sources: []Source{{"c", 300}}, Rows: 300, Cols: 1, Format: Vector, Dtype: F32},
		{Name: "d", Sources: []Source{{"d", 100}}, Rows: 100, Cols: 81, Format: B16},
	}})
	want := []Entry{
		{Codes: Extent{0, 96}, Scales: Extent{256, 6}, Biases: Extent{512, 6}},
		{Codes: Extent{768, 1280}, Scales: Extent{2048, 40}, Biases: Extent{2304, 40}},
		{Codes: Extent{2560, 1200}},
		{Codes: Extent{3840, 16200}},
	}
	for i, got := range l.Entries() {
		if got.Codes != want[i].Codes || got.Scales != want[i].Scales || got.Biases != want[i].Biases {
			t.Errorf("%s: %v %v %v, want %v", got.Name, got.Codes, got.Scales, got.Biases, want[i])
		}
	}
	if l.Size() != 2*PageAlign {
		t.Errorf("Size = %d, want %d", l.Size(), 2*PageAlign)
	}
	if got, ok := l.Lookup("b"); !ok || got.Cols != 128 || got.Codes != want[1].Codes {
		t.Errorf("Lookup(b) = %v, %v", got, ok)
	}
	if _, ok := l.Lookup("e"); ok {
		t.Error("Lookup finds what is not there")
	}
}

func TestPlanRefuses(t *testing.T) {
	good := Item{Name: "a", Sources: []Source{{"x", 2}, {"y", 2}}, Rows: 4, Cols: 64, Format: Q4}
	cases := []struct {
		name   string
		change func(it *Item)
		want   string
	}{
		{"no name", func(it *Item) { it.Name = "" }, "no name"},
		{"format", func(it *Item) { it.Format = 9 }, "unknown format 9"},
		{"no rows", func(it *Item) { it.Rows = 0 }, "0 rows"},
		{"negative inputs", func(it *Item) { it.Cols = -64 }, "-64 inputs"},
		{"negative experts", func(it *Item) { it.Experts = -1 }, "-1 experts"},
		{"half a group", func(it *Item) { it.Cols = 96 }, "multiple of 64"},
		{"no sources", func(it *Item) { it.Sources = nil }, "no sources"},
		{"too few source rows", func(it *Item) { it.Rows = 5 }, "4 rows, want 5"},
		{"too many source rows", func(it *Item) { it.Rows = 3 }, `"y": 2 rows where 1 are left`},
		{"source without rows", func(it *Item) { it.Sources = []Source{{"x", 4}, {"y", 0}} }, `"y": 0 rows`},
		{"source without name", func(it *Item) { it.Sources = []Source{{"", 4}} }, `source ""`},
		{"uneven weave", func(it *Item) {
			it.Interleave, it.Sources = true, []Source{{"x", 3}, {"y", 1}}
		}, "interleave"},
		{"matrix with dtype", func(it *Item) { it.Dtype = BF16 }, "dtype"},
		{"vector without dtype", func(it *Item) { it.Format = Vector }, "dtype"},
		{"vector of halves", func(it *Item) { it.Format, it.Dtype = Vector, F16 }, "dtype"},
		{"row too long", func(it *Item) { it.Cols = math.MaxInt - 63 }, "more than"},
		{"too many experts", func(it *Item) { it.Experts = math.MaxInt }, "more than"},
		{"just too large", func(it *Item) {
			*it = Item{
				Name: "a", Sources: []Source{{"x", 1}}, Rows: 1, Cols: math.MaxInt/2 - 10, Format: B16,
			}
		}, "more than"},
	}
	if _, err := Plan(Recipe{Items: []Item{good}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			it := good
			c.change(&it)
			_, err := Plan(Recipe{Items: []Item{it}})
			wantParts(t, err, c.want)
		})
	}
	_, err := Plan(Recipe{Items: []Item{good, good}})
	wantParts(t, err, `"a" twice`)
	_, err = Plan(Recipe{})
	wantParts(t, err, "no items")
	big := Item{Name: "b", Sources: []Source{{"x", 1}}, Rows: 1, Cols: math.MaxInt / 8 * 3, Format: B16}
	bigger := big
	bigger.Name = "c"
	_, err = Plan(Recipe{Items: []Item{good, big, bigger}})
	wantParts(t, err, `item "c"`, "more than")
}

func TestLayoutHash(t *testing.T) {
	base := plan(t, modelRecipe()).Hash()
	if again := plan(t, modelRecipe()).Hash(); again != base {
		t.Errorf("one recipe has two hashes, %s and %s", base, again)
	}
	for name, change := range map[string]func(r *Recipe){
		"order":      func(r *Recipe) { r.Items[0], r.Items[1] = r.Items[1], r.Items[0] },
		"interleave": func(r *Recipe) { r.Items[1].Interleave = false },
		"source":     func(r *Recipe) { r.Items[0].Sources[0].Name = "other" },
		"dtype":      func(r *Recipe) { r.Items[11].Dtype = BF16 },
	} {
		r := modelRecipe()
		change(&r)
		if plan(t, r).Hash() == base {
			t.Errorf("%s: the hash did not change", name)
		}
	}
}
