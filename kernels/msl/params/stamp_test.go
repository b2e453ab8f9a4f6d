package params_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"sotto/kernels"
	"sotto/kernels/msl/params"
)

// TestStamp holds that a change of any source changes the stamp, and that nothing else does.
func TestStamp(t *testing.T) {
	tree := fstest.MapFS{}
	err := fs.WalkDir(kernels.Tree(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(kernels.Tree(), path)
		tree[path] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	stamp := func() string {
		t.Helper()
		s, err := params.Stamp(tree)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	want := stamp()
	tree["gemv.go"] = &fstest.MapFile{Data: []byte("package kernels")}
	if stamp() != want {
		t.Error("a file that is no source changes the stamp")
	}
	for _, path := range []string{
		"gemv.metal", "common/simd.h", "params.h", "msl/rt/pool.cpp", "msl/rt/runtime.h", "msl/shim/msl_math.h",
	} {
		kept := tree[path]
		if kept == nil {
			t.Fatalf("%s is not in the tree", path)
		}
		tree[path] = &fstest.MapFile{Data: append([]byte{'\n'}, kept.Data...)}
		if stamp() == want {
			t.Errorf("another %s has the same stamp", path)
		}
		tree[path] = kept
	}
	delete(tree, "params.h")
	if _, err := params.Stamp(tree); err == nil {
		t.Error("a tree without params.h has a stamp")
	}
}
