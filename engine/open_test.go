package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/assets"
	"sotto/engine/gpu/host"
	"sotto/kernels"
)

// copyModel copies the files of a built-in model; edit changes config.json.
func copyModel(t *testing.T, name string, edit *strings.Replacer) string {
	t.Helper()
	dir, err := assets.Model(name)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(to, dir); err != nil {
		t.Fatal(err)
	}
	config, err := fs.ReadFile(dir, "config.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, "config.json"), []byte(edit.Replace(string(config))), 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// refused opens a model folder and returns the error; packs is where its weights would lie.
func refused(t *testing.T, dir, packs string) error {
	t.Helper()
	device, err := host.Open(host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := Open(t.Context(), os.DirFS(dir), Options{Device: device, PackDir: packs, Manifests: memory{}})
	if err == nil {
		_ = e.Close()
		t.Fatal("the model was opened")
	}
	return err
}

// TestShapesWithoutKernels refuses a model that cannot run before its weights are packed, not when it is asked.
func TestShapesWithoutKernels(t *testing.T) {
	dir := copyModel(t, "nemotron-tiny", strings.NewReplacer(
		`"ssm_state_size": 128`, `"ssm_state_size": 256`, `"n_groups": 2`, `"n_groups": 1`))
	packs := filepath.Join(t.TempDir(), "packs")
	err := refused(t, dir, packs)
	var unsupported *kernels.UnsupportedError
	if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), "layer 0") {
		t.Errorf("got %v, want the layer and its kernel", err)
	}
	if _, err := os.Stat(packs); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("weights were packed: %v", err)
	}
}

// TestLongFiles refuses files of a size that no model has, before memory is asked for.
func TestLongFiles(t *testing.T) {
	for _, name := range []string{"config.json", "tokenizer.json"} {
		dir := copyModel(t, "nemotron-tiny", strings.NewReplacer())
		if err := os.Truncate(filepath.Join(dir, name), 1<<42); err != nil {
			t.Skipf("no file of this size can be made here: %v", err)
		}
		err := refused(t, dir, filepath.Join(t.TempDir(), "packs"))
		if want := name + ": 4398046511104 bytes, at most "; !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
