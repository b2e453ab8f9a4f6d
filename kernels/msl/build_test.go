package msl_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/kernels/msl"
)

const addOne = `#include <metal_stdlib>
using namespace metal;
kernel void %s(device float* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] += 1.0f; }
`

// tree makes a source tree with the given kernels and returns its root.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "kernels"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, "kernels", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestBuild holds that a build compiles what has changed and no more, names what is refused, and leaves the last good
// library alone when it fails.
func TestBuild(t *testing.T) {
	tool := newBuilder(t).Tool
	root := tree(t, map[string]string{"one.metal": fmt.Sprintf(addOne, "one"), "two.metal": fmt.Sprintf(addOne, "two")})
	fast := filepath.Join(root, "engine/gpu/host/lib/fast/sotto.so")
	var compiled []string
	build := func(r msl.Request) error {
		compiled = nil
		r.What, r.Root, r.Jobs = "host-fast", root, 1
		r.Log = func(format string, args ...any) {
			compiled = append(compiled, strings.TrimPrefix(fmt.Sprintf(format, args...), "compile host-fast "))
		}
		return msl.Build(t.Context(), tool, r)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root, "kernels", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(step string, want ...string) {
		t.Helper()
		if got := strings.Join(compiled, " "); got != strings.Join(want, " ") {
			t.Errorf("%s: compiled %q, want %q", step, got, want)
		}
	}
	if err := build(msl.Request{}); err != nil {
		t.Fatal(err)
	}
	expect("first", "one.metal", "two.metal", "rt/pool.cpp", "rt/fast.cpp", "table")
	if err := build(msl.Request{}); err != nil {
		t.Fatal(err)
	}
	expect("again")
	write("two.metal", "// a comment changes nothing that is compiled, but moves lines\n"+fmt.Sprintf(addOne, "two"))
	if err := build(msl.Request{}); err != nil {
		t.Fatal(err)
	}
	expect("after an edit", "two.metal")
	good, err := os.ReadFile(fast)
	if err != nil {
		t.Fatal(err)
	}

	write("one.metal", strings.Replace(fmt.Sprintf(addOne, "one"), "1.0f", "2.0f * missing", 1))
	err = build(msl.Request{})
	if err == nil || !strings.Contains(err.Error(), "kernels/one.metal:3:") {
		t.Errorf("a broken source: got %v, want its place", err)
	}
	if now, err := os.ReadFile(fast); err != nil || string(now) != string(good) {
		t.Errorf("a failed build has touched the library (%v)", err)
	}
	if err = build(msl.Request{KeepGoing: true}); err == nil {
		t.Error("a broken source left out: got no error")
	}
	if l := loadLibrary(t, fast, 1); len(l.kernels) != 1 || l.kernels["two"].name == nil {
		t.Errorf("a broken source left out: got kernels %v, want two alone", l.kernels)
	}
	if err := build(msl.Request{Only: "two.metal"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "build/kernels/two-sotto.so")); err != nil {
		t.Error(err)
	}
}

// TestOneNameInTwoFiles holds that host names are unique over all sources.
func TestOneNameInTwoFiles(t *testing.T) {
	root := tree(t, map[string]string{"a.metal": fmt.Sprintf(addOne, "same"), "b.metal": fmt.Sprintf(addOne, "same")})
	r := msl.Request{What: "host-fast", Root: root, Log: t.Logf}
	err := msl.Build(t.Context(), newBuilder(t).Tool, r)
	want := "kernels/b.metal:3: host name same is taken at kernels/a.metal:3"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNoCompiler(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := msl.FindToolchain(t.Context()); !errors.Is(err, msl.ErrNoCompiler) {
		t.Errorf("got %v, want %v", err, msl.ErrNoCompiler)
	}
}
