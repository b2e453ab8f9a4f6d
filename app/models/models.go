// Package models knows which models can be opened: the built-in ones by name, others by folder. It reads no
// weights; it says where they are and what to tell the user about them.
package models

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sotto/assets"
)

// Model is something that can be opened.
type Model struct {
	Name    string // "qwen-tiny", or the folder as the user gave it
	Family  string // model_type, "" until opened
	Builtin bool
	Tiny    bool   // a demonstration model: what it says is not to be relied on
	Note    string // one sentence for lists and banners
	Dir     fs.FS
}

// Default is the model that runs when none is chosen.
const Default = "qwen-tiny"

// tinyNote is what to say of a demonstration model. How a larger one is opened is said where it is shown.
const tinyNote = "a tiny built-in model (14 M parameters) to show how Sotto works: for real answers open a larger one"

// Builtin lists the models that every copy of Sotto carries.
func Builtin() ([]Model, error) {
	list := []Model{
		{Name: "qwen-tiny", Family: "qwen3_5_moe"},
		{Name: "nemotron-tiny", Family: "nemotron_h"},
	}
	for i := range list {
		list[i].Builtin, list[i].Tiny, list[i].Note = true, true, tinyNote
		dir, err := assets.Model(list[i].Name)
		if err != nil {
			return nil, fmt.Errorf("built-in model %s: %w", list[i].Name, err)
		}
		list[i].Dir = dir
	}
	return list, nil
}

// Resolve finds a model by the name of a built-in one, or else by the path of its folder.
func Resolve(name string) (Model, error) {
	builtin, err := Builtin()
	if err != nil {
		return Model{}, err
	}
	names := make([]string, len(builtin))
	for i, m := range builtin {
		if m.Name == name {
			return m, nil
		}
		names[i] = m.Name
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && filepath.IsAbs(name):
		return Model{}, fmt.Errorf("no model %q: the folder is gone (moved, deleted, or on a disk that is not "+
			"connected); built in are %s", name, strings.Join(names, ", "))
	case errors.Is(err, fs.ErrNotExist):
		return Model{}, fmt.Errorf("no model %q: neither a built-in one (%s) nor a folder", name,
			strings.Join(names, ", "))
	case err != nil:
		return Model{}, fmt.Errorf("model %q: %w", name, err)
	case !info.IsDir():
		return Model{}, fmt.Errorf("model %q is a file: give the folder that holds config.json", name)
	}
	return Model{Name: name, Dir: os.DirFS(name)}, nil
}

// Size is the number of bytes of the model's folder, without subfolders.
func (m Model) Size() (int64, error) {
	entries, err := fs.ReadDir(m.Dir, ".")
	if err != nil {
		return 0, fmt.Errorf("model %s: %w", m.Name, err)
	}
	var n int64
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return 0, fmt.Errorf("model %s: %w", m.Name, err)
		}
		if info.Mode().IsRegular() {
			n += info.Size()
		}
	}
	return n, nil
}
