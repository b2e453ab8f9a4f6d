// Package app joins the engine to the machine: folders, the device, the store, the choice of a model. Front ends
// ask it for an open model and talk to that; it holds no behaviour of a conversation.
package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"sotto/app/models"
	"sotto/app/store"
	"sotto/engine"
	"sotto/engine/gpu"
	"sotto/kernels"
)

// Options say what to open.
type Options struct {
	Model    string // name of a built-in model or folder; "": the default one
	Driver   string // one of [Drivers]; "": what this machine has
	DType    kernels.DType
	Chunk    int  // rows of a prefill chunk; 0: what takes the device about 100 ms
	Threads  int  // host driver; 0: all cores
	Sessions int  // conversations whose state is kept, fewer if memory is short; 0: 1
	RawOnly  bool // a checkpoint without a chat template will do
	Without  engine.Ablation
	Progress func(engine.Loading)
	Warn     func(string)
}

// Model is an open model with what the catalogue says of it.
type Model struct {
	models.Model
	Engine *engine.Engine
}

// Close stops what runs and frees the device.
func (m *Model) Close() error { return m.Engine.Close() }

// manifests does without a store that is damaged: what it knows of packs can be found out again. Conversations are
// another matter, which the store's other users must look after.
type manifests struct {
	store.Manifests
	memory map[string][]byte // instead of a damaged store
	warn   func(string)
	once   *sync.Once // of the warning
}

func (m manifests) Load(key string) ([]byte, error) {
	value, err := m.Manifests.Load(key)
	if !errors.Is(err, store.ErrDamaged) {
		return value, err
	}
	if m.warn != nil {
		m.once.Do(func() {
			m.warn(err.Error() + "; weights are packed anew at each start until the file is moved away")
		})
	}
	return m.memory[key], nil
}

func (m manifests) Save(key string, value []byte) error {
	err := m.Manifests.Save(key, value)
	if errors.Is(err, store.ErrDamaged) {
		m.memory[key] = value
		return nil
	}
	return err
}

// Open finds a model and makes it ready on this machine's device.
func Open(ctx context.Context, o Options) (*Model, error) {
	if o.Model == "" {
		o.Model = models.Default
	}
	m, err := models.Resolve(o.Model)
	if err != nil {
		return nil, err
	}
	if _, err := fs.Stat(m.Dir, "config.json"); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open %s: there is no model in this folder: %w", m.Name, err)
	}
	p := &progress{tell: o.Progress}
	defer p.end()
	o.Progress = p.loading
	device, err := openDevice(o) //nolint:contextcheck // a device that opens is not given up half-way
	if err != nil {
		return nil, err
	}
	reopened := o
	reopened.Progress = nil
	dirs := UserFolders()
	home := packHome(dirs, m)
	home.sign() // before packing: what is left when that is killed has a name
	e, err := engine.Open(ctx, m.Dir, engine.Options{
		Device: device,
		Reopen: func() (gpu.Device, error) { return openDevice(reopened) }, //nolint:contextcheck // as above
		DType:  o.DType, Chunk: o.Chunk, Sessions: o.Sessions,
		PackDir:   home.Dir,
		Manifests: manifests{dirs.Store().Manifests(), map[string][]byte{}, o.Warn, &sync.Once{}},
		RawOnly:   o.RawOnly, Without: o.Without,
		Progress: o.Progress, Warn: o.Warn,
	})
	if err != nil {
		home.tidy()
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		return nil, fmt.Errorf("open %s: %w", m.Name, err)
	}
	m.Family = e.Info().Family
	return &Model{Model: m, Engine: e}, nil
}
