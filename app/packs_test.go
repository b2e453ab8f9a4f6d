package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sotto/app/models"
	"sotto/engine"
)

// copied is a copy of the built-in model in a folder of the user's.
func copied(t *testing.T, dir string) string {
	t.Helper()
	m, err := models.Resolve(models.Default)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, m.Dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func listed(t *testing.T, f Folders) (sources []string, list []Pack) {
	t.Helper()
	list, err := f.Packs()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		s := p.Source
		if p.Gone {
			s += " (gone)"
		}
		sources = append(sources, s)
	}
	slices.Sort(sources)
	return sources, list
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPacks(t *testing.T) {
	dirs := home(t)
	if got, _ := listed(t, dirs); len(got) != 0 {
		t.Errorf("without a cache: %q", got)
	}
	root := t.TempDir()
	stays, goes := copied(t, filepath.Join(root, "stays")), copied(t, filepath.Join(root, "goes"))
	link := filepath.Join(root, "link")
	if err := os.Symlink(stays, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", stays, link, goes} {
		open(t, Options{Model: name})
	}
	if err := os.Rename(goes, goes+" elsewhere"); err != nil {
		t.Fatal(err)
	}
	packs := filepath.Join(dirs.Cache, "packs")
	write(t, filepath.Join(packs, "mine", "notes.txt"), "mine")
	write(t, filepath.Join(packs, "lies", signature), stays) // a signature of another folder
	write(t, filepath.Join(packs, "a file"), "mine")

	got, list := listed(t, dirs)
	if want := []string{"", "", goes + " (gone)", stays, models.Default}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for _, p := range list {
		if p.Source != "" && p.Size < 1_000_000 {
			t.Errorf("%s has %d bytes", p.Source, p.Size)
		}
		if err := dirs.RemovePack(t.Context(), p); err != nil {
			t.Errorf("%s: %v", p.Dir, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(packs, "*", "*"))
	if err != nil || !slices.Equal(left, []string{filepath.Join(packs, "mine", "notes.txt")}) {
		t.Errorf("left: %q, %v", left, err)
	}
	if got, _ := listed(t, dirs); !slices.Equal(got, []string{""}) {
		t.Errorf("listed afterwards: %q", got)
	}
	open(t, Options{Model: stays}) // it is packed anew
}

// TestPacksUnfinished opens a model that cannot be opened, and lists one whose packing was killed.
func TestPacksUnfinished(t *testing.T) {
	dirs := home(t)
	model := copied(t, filepath.Join(t.TempDir(), "model"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen []string // while it is packed
	_, err := Open(ctx, Options{Model: model, Progress: func(engine.Loading) {
		seen, _ = listed(t, dirs)
		cancel()
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	if !slices.Equal(seen, []string{model}) {
		t.Errorf("listed while it was packed: %q", seen)
	}
	if got, _ := listed(t, dirs); len(got) != 0 {
		t.Errorf("listed after it was broken off: %q", got)
	}
}
