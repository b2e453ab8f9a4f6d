package models

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "weights")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, model, want, err string }{
		{"built-in", "qwen-tiny", "qwen-tiny", ""},
		{"the other built-in", "nemotron-tiny", "nemotron-tiny", ""},
		{"folder", dir, dir, ""},
		{
			"missing", "nothing", "",
			"neither a built-in one (qwen-tiny, nemotron-tiny) nor a folder",
		},
		{"folder that is gone", filepath.Join(dir, "nothing"), "", "the folder is gone"},
		{"file", file, "", "is a file"},
		{"empty", "", "", "no model"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Resolve(c.model)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got error %v, want one with %q", err, c.err)
				}
				return
			}
			if err != nil || m.Name != c.want {
				t.Fatalf("got %q, %v, want %q", m.Name, err, c.want)
			}
		})
	}
}

func TestBuiltinModelsAreWhole(t *testing.T) {
	list, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, m := range list {
		found = found || m.Name == Default
		for _, name := range []string{"config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"} {
			if _, err := fs.Stat(m.Dir, name); err != nil {
				t.Errorf("%s: %v", m.Name, err)
			}
		}
		if n, err := m.Size(); err != nil || n < 1<<20 {
			t.Errorf("%s: size %d, %v", m.Name, n, err)
		}
	}
	if !found {
		t.Errorf("the default model %s is not built in", Default)
	}
}
