package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sotto/app/models"
	"sotto/engine/weights"
)

// Pack is a folder of the cache with the packed weights of one model.
type Pack struct {
	Dir    string // where they lie
	Source string // name of a built-in model, or the model's folder; "": it is not known
	Gone   bool   // the model's folder does not exist any more, or its disk is not there
	Size   int64  // bytes
}

// signature is the file beside packed weights that says which folder they were made from.
const signature = "folder"

// packHome is where the packed weights of a model belong: a readable name, different for folders of the same name, the
// same for one folder whatever it is called.
func packHome(f Folders, m models.Model) Pack {
	if m.Builtin {
		return Pack{Dir: filepath.Join(f.Cache, "packs", m.Name)}
	}
	path, err := filepath.Abs(m.Name)
	if err != nil {
		path = m.Name
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return Pack{Dir: filepath.Join(f.Cache, "packs", packName(path)), Source: path}
}

// packName is the name of the folder for the packed weights of a model in this folder.
func packName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return fmt.Sprintf("%s-%x", filepath.Base(path), sum[:6])
}

// sign notes the model's folder. Where it cannot be written the weights are as good without it; they are only listed
// without their folder.
func (p Pack) sign() {
	name := filepath.Join(p.Dir, signature)
	if old, err := os.ReadFile(name); p.Source == "" || err == nil && string(old) == p.Source {
		return
	}
	if os.MkdirAll(p.Dir, 0o700) == nil {
		_ = os.WriteFile(name, []byte(p.Source), 0o600)
	}
}

// tidy deletes the folder if there are no packed weights in it. What another Sotto has there stays, but for a
// signature, which it writes again when it next opens the model.
func (p Pack) tidy() {
	entries, err := os.ReadDir(p.Dir)
	if err == nil && len(entries) == 1 && entries[0].Name() == signature {
		_ = os.Remove(filepath.Join(p.Dir, signature))
	}
	_ = os.Remove(p.Dir) // it stays if something else is in it
}

// Packs lists the packed weights of this user, by the names of their folders.
func (f Folders) Packs() ([]Pack, error) {
	root := filepath.Join(f.Cache, "packs")
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	builtin, err := models.Builtin()
	if err != nil {
		return nil, err
	}
	var list []Pack
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		p := Pack{Dir: filepath.Join(root, e.Name())}
		if err := p.measure(); err != nil {
			return nil, err
		}
		p.identify(builtin)
		list = append(list, p)
	}
	return list, nil
}

// measure finds the size. What goes away meanwhile does not count.
func (p *Pack) measure() error {
	entries, err := os.ReadDir(p.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && info.Mode().IsRegular() {
			p.Size += info.Size()
		}
	}
	return nil
}

// identify finds out which model the weights are of. A signature that does not belong here says nothing.
func (p *Pack) identify(builtin []models.Model) {
	for _, m := range builtin {
		if filepath.Base(p.Dir) == m.Name {
			p.Source = m.Name
			return
		}
	}
	path, err := os.ReadFile(filepath.Join(p.Dir, signature))
	if err != nil || packName(string(path)) != filepath.Base(p.Dir) {
		return
	}
	p.Source = string(path)
	_, err = os.Stat(p.Source)
	p.Gone = errors.Is(err, fs.ErrNotExist)
}

// RemovePack deletes packed weights. A Sotto that uses them at the moment keeps them until it ends; one that is packing
// them is waited for. Files of others stay.
func (f Folders) RemovePack(ctx context.Context, p Pack) error {
	if err := weights.Remove(ctx, p.Dir, f.Store().Manifests()); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(p.Dir, signature)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = os.Remove(p.Dir) // it stays if something else is in it
	return nil
}
