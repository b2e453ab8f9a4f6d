// Package app joins the engine to the machine: folders, the device, the store, the choice of a model. Front ends
// ask it for an open model and talk to that; it holds no behaviour of a conversation.
package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"

	"sotto/app/models"
	"sotto/engine"
	"sotto/kernels"
)

// Options say what to open.
type Options struct {
	Model    string // name of a built-in model or folder; "": the default one
	DType    kernels.DType
	Chunk    int // rows of a prefill chunk; 0: what the device suggests
	Threads  int // host driver; 0: all cores
	Sessions int // conversations whose state is kept, fewer if memory is short; 0: 1
	Progress func(engine.Loading)
	Warn     func(string)
}

// packName is the folder of a model's packed weights: readable, and different for folders of the same name.
func packName(m models.Model) string {
	if m.Builtin {
		return m.Name
	}
	path, err := filepath.Abs(m.Name)
	if err != nil {
		path = m.Name
	}
	sum := sha256.Sum256([]byte(path))
	return fmt.Sprintf("%s-%x", filepath.Base(path), sum[:6])
}

// Model is an open model with what the catalogue says of it.
type Model struct {
	models.Model
	Engine *engine.Engine
}

// Close stops what runs and frees the device.
func (m *Model) Close() error { return m.Engine.Close() }

// Open finds a model and makes it ready on this machine's device.
func Open(ctx context.Context, o Options) (*Model, error) {
	if o.Model == "" {
		o.Model = models.Default
	}
	m, err := models.Resolve(o.Model)
	if err != nil {
		return nil, err
	}
	device, err := openDevice(o)
	if err != nil {
		return nil, err
	}
	dirs := UserFolders()
	e, err := engine.Open(ctx, m.Dir, engine.Options{
		Device: device, DType: o.DType, Chunk: o.Chunk, Sessions: o.Sessions,
		PackDir:   filepath.Join(dirs.Cache, "packs", packName(m)),
		Manifests: dirs.Store().Manifests(),
		Progress:  o.Progress, Warn: o.Warn,
	})
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		return nil, fmt.Errorf("open %s: %w", m.Name, err)
	}
	m.Family = e.Info().Family
	return &Model{Model: m, Engine: e}, nil
}
