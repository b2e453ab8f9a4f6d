package msl_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sotto/kernels"
	"sotto/kernels/msl"
)

// compare holds the catalogue against the entry points of the sources, by file, and lists what differs.
func compare(list []kernels.Kernel, entries map[string][]msl.Entry) []string {
	var wrong []string
	known := map[string]bool{}
	for _, k := range list {
		if known[k.Name] {
			wrong = append(wrong, k.Name+" is in the catalogue twice")
		}
		known[k.Name] = true
		i := slices.IndexFunc(entries[k.File], func(e msl.Entry) bool { return e.Host == k.Name })
		if i < 0 {
			wrong = append(wrong, fmt.Sprintf("%s is in the catalogue, but not in %s", k.Name, k.File))
			continue
		}
		for _, w := range compareArguments(k, entries[k.File][i].Kernel) {
			wrong = append(wrong, k.Name+": "+w)
		}
	}
	for file, list := range entries {
		for _, e := range list {
			if !known[e.Host] {
				wrong = append(wrong, fmt.Sprintf("%s is in %s, but not in the catalogue", e.Host, file))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// compareArguments compares the buffers of a kernel: the parameter struct at 0, then the arguments in order.
func compareArguments(k kernels.Kernel, source *msl.Kernel) []string {
	buffers := map[int]msl.Param{}
	for _, p := range source.Params {
		if p.Attr == "buffer" {
			buffers[p.Num] = p
		}
	}
	var wrong []string
	differ := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	params := reflect.TypeOf(k.Params)
	if want := "constant " + params.Name() + " &"; buffers[0].Type != want {
		differ("buffer 0 is %q in the source, want %q", buffers[0].Type, want)
	}
	if len(buffers) != len(k.Args)+1 {
		differ("%d arguments in the source, %d in the catalogue", len(buffers)-1, len(k.Args))
	}
	for i, a := range k.Args {
		p, ok := buffers[i+1]
		writes := !slices.Contains(strings.Fields(p.Type), "const") && !strings.HasPrefix(p.Type, "constant")
		switch {
		case !ok:
			differ("buffer %d (%s) is not in the source", i+1, a.Name)
		case p.Name != a.Name:
			differ("buffer %d is %s in the source, %s in the catalogue", i+1, p.Name, a.Name)
		case writes && a.Access == kernels.Read:
			differ("buffer %d (%s) is only read by the catalogue, but not const", i+1, a.Name)
		case !writes && a.Access != kernels.Read:
			differ("buffer %d (%s) is written by the catalogue, but const", i+1, a.Name)
		}
	}
	return wrong
}

// TestCatalogue holds that the catalogue and the sources agree both ways, and that a source has the same entry points
// at either width.
func TestCatalogue(t *testing.T) {
	b := newBuilder(t)
	files, err := b.Sources()
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string][]msl.Entry{}
	for _, file := range files {
		wide, err := b.Parse(t.Context(), msl.HostExact, file)
		if err != nil {
			t.Fatal(err)
		}
		narrow, err := b.Parse(t.Context(), msl.HostFast, file)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := hosts(narrow), hosts(wide); !slices.Equal(got, want) {
			t.Errorf("%s: entry points at width 1 are %v, at width 32 %v", file, got, want)
		}
		entries[file] = wide.Entries
	}
	for _, w := range compare(kernels.All(), entries) {
		t.Error(w)
	}
}

func hosts(u *msl.Unit) []string {
	var names []string
	for _, e := range u.Entries {
		names = append(names, e.Host)
	}
	return names
}

// TestCompare shows each difference that [compare] finds.
func TestCompare(t *testing.T) {
	type Params struct{ N uint32 }
	source := &msl.Kernel{Name: "f", Params: []msl.Param{
		{Name: "p", Type: "constant Params &", Attr: "buffer", Num: 0},
		{Name: "lane", Type: "uint", Attr: "thread_index_in_simdgroup"},
		{Name: "x", Type: "device const T *", Attr: "buffer", Num: 1},
		{Name: "y", Type: "device T *", Attr: "buffer", Num: 2},
	}}
	entries := map[string][]msl.Entry{"f.metal": {{Host: "f_f32", Kernel: source}}}
	good := kernels.Kernel{
		Name: "f_f32", File: "f.metal", Params: Params{},
		Args: []kernels.Arg{{Name: "x", Access: kernels.Read}, {Name: "y", Access: kernels.Write}},
	}
	args := func(list ...kernels.Arg) func(k *kernels.Kernel) { return func(k *kernels.Kernel) { k.Args = list } }
	for _, c := range []struct {
		name string
		edit func(k *kernels.Kernel)
		want []string
	}{
		{"equal", func(*kernels.Kernel) {}, nil},
		{
			"missing and dead", func(k *kernels.Kernel) { k.Name = "g_f32" },
			[]string{"f_f32 is in f.metal, but not in the catalogue", "g_f32 is in the catalogue, but not in f.metal"},
		},
		{
			"other file", func(k *kernels.Kernel) { k.File = "g.metal" },
			[]string{"f_f32 is in the catalogue, but not in g.metal"},
		},
		{
			"params", func(k *kernels.Kernel) { k.Params = struct{ N uint32 }{} },
			[]string{`f_f32: buffer 0 is "constant Params &" in the source, want "constant  &"`},
		},
		{"count", args(good.Args[0]), []string{"f_f32: 2 arguments in the source, 1 in the catalogue"}},
		{"order", args(good.Args[1], good.Args[0]), []string{
			"f_f32: buffer 1 is x in the source, y in the catalogue",
			"f_f32: buffer 2 is y in the source, x in the catalogue",
		}},
		{
			"reads what is not const", args(good.Args[0], kernels.Arg{Name: "y", Access: kernels.Read}),
			[]string{"f_f32: buffer 2 (y) is only read by the catalogue, but not const"},
		},
		{
			"writes what is const", args(kernels.Arg{Name: "x", Access: kernels.ReadWrite}, good.Args[1]),
			[]string{"f_f32: buffer 1 (x) is written by the catalogue, but const"},
		},
	} {
		k := good
		c.edit(&k)
		if got := compare([]kernels.Kernel{k}, entries); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
