package metal

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"sotto/engine/gpu/metal/sim/source"
	"sotto/kernels"
)

func TestExpand(t *testing.T) {
	files := fstest.MapFS{
		"a.metal": {Data: []byte("// first\n#include \"common/x.h\"\n#include \"p.h\"\nint a;\n")},
		"common/x.h": {Data: []byte("#pragma once\n#include <metal_stdlib>\n#include \"../p.h\"\n" +
			"  # pragma once\nint x;\n")},
		"p.h": {Data: []byte("#pragma once\nint p;")},
	}
	got, err := expand(files, "a.metal")
	if err != nil {
		t.Fatal(err)
	}
	want := prologue + `#line 1 "a.metal"
// first
#line 1 "common/x.h"

#include <metal_stdlib>
#line 1 "p.h"

int p;
#line 4 "common/x.h"
  # pragma once
int x;
#line 3 "a.metal"
#line 4 "a.metal"
int a;
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestExpandMissing(t *testing.T) {
	files := fstest.MapFS{"a.metal": {Data: []byte("\n#include \"none.h\"\n")}}
	_, err := expand(files, "a.metal")
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "a.metal:2:") {
		t.Errorf("got %v, want that line 2 includes what does not exist", err)
	}
	if _, err := expand(files, "b.metal"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
}

func TestIncluded(t *testing.T) {
	for line, want := range map[string]string{
		`#include "a.h"`:              "a.h",
		`  #include   "b/c.h" // why`: "b/c.h",
		`#include <metal_stdlib>`:     "",
		`// #include "a.h"`:           "",
		`#include "a.h`:               "",
		`int include;`:                "",
	} {
		if got, ok := included(line); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v", line, got, ok)
		}
	}
}

// known says that the compiler brings a header.
func known(string) bool { return true }

// TestSources reads every expanded source as a compiler would and finds exactly the catalogue's kernels in it.
func TestSources(t *testing.T) {
	all := kernels.All()
	libraries, err := sourceTexts(all)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]string{}
	for file, l := range libraries {
		for name, n := range headers(l.text) {
			if n != 1 {
				t.Errorf("%s holds %s %d times", file, name, n)
			}
		}
		for line := range strings.Lines(l.text) {
			if _, ok := included(line); ok || strings.HasPrefix(line, "#pragma once") {
				t.Errorf("%s: left over: %s", file, line)
			}
		}
		functions, err := source.Functions(l.text, map[string]string{"__METAL_VERSION__": "310"}, known)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for _, f := range functions {
			declared[f.Name] = file
		}
	}
	for i := range all {
		if declared[all[i].Name] != all[i].File {
			t.Errorf("kernel %s: got it in %q, want %s", all[i].Name, declared[all[i].Name], all[i].File)
		}
		delete(declared, all[i].Name)
	}
	if len(declared) > 0 {
		t.Errorf("not in the catalogue: %v", declared)
	}
}

// headers counts the beginnings of files in a text.
func headers(text string) map[string]int {
	n := map[string]int{}
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "#line 1 "); ok {
			n[strings.TrimSpace(name)]++
		}
	}
	return n
}

func TestProbeSource(t *testing.T) {
	functions, err := source.Functions(probeSource, map[string]string{"__METAL_VERSION__": "400"}, known)
	if err != nil {
		t.Fatal(err)
	}
	if len(functions) != 1 || functions[0].Name != probeName {
		t.Errorf("got %v, want %s", functions, probeName)
	}
}
