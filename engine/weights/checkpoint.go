package weights

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

// Names of files of a checkpoint directory.
const (
	shardPattern = "model*.safetensors"
	indexFile    = "model.safetensors.index.json"
	configFile   = "config.json"
)

// Checkpoint is the open weight files of a model directory. Its methods but Close may be called at once.
type Checkpoint struct {
	shards  []*shard
	tensors map[string]*Tensor
	absent  map[string]string // tensor -> missing file that the index names
	source  string
}

// shard is one open safetensors file.
type shard struct {
	name string
	file fs.File
	data io.ReaderAt
	info fs.FileInfo
	head []byte // raw header, until the identity is known
}

// Tensor is one tensor of a checkpoint.
type Tensor struct {
	Name   string
	Dtype  Dtype
	Shape  []int64
	File   string // shard
	Offset int64  // of the first byte in the file; of any alignment
	Length int64  // bytes, = product of Shape and the element size
	data   io.ReaderAt
}

// ReadAt reads len(p) bytes from byte off of the tensor; fewer, with an error, when the tensor or the file ends.
func (t *Tensor) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > t.Length {
		return 0, fmt.Errorf("%s: tensor %q: read at %d of %d bytes", t.File, t.Name, off, t.Length)
	}
	short := int64(len(p)) > t.Length-off
	if short {
		p = p[:t.Length-off]
	}
	if err := readFull(t.data, p, t.Offset+off); err != nil {
		return 0, fmt.Errorf("%s: tensor %q: %w", t.File, t.Name, err)
	}
	if short {
		return len(p), io.EOF
	}
	return len(p), nil
}

// MissingTensorError reports a tensor that the checkpoint does not have.
type MissingTensorError struct {
	Name string
	File string // missing shard that the index names for it, if it does
}

func (e *MissingTensorError) Error() string {
	if e.File != "" {
		return fmt.Sprintf("tensor %q: its file %s is missing", e.Name, e.File)
	}
	return fmt.Sprintf("tensor %q is missing", e.Name)
}

// OpenCheckpoint opens every model*.safetensors at the top of fsys and checks the headers. The index is not
// needed: it only serves to name the file of a tensor that is asked for and not there, so one that is stale,
// broken or superfluous does no harm. Files must implement io.ReaderAt. An error wraps fs.ErrNotExist when there
// is no weight file at all.
func OpenCheckpoint(fsys fs.FS) (*Checkpoint, error) {
	names, err := fs.Glob(fsys, shardPattern)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no weights (%s): %w", shardPattern, fs.ErrNotExist)
	}
	c := &Checkpoint{tensors: map[string]*Tensor{}}
	for _, name := range names {
		if err := c.add(fsys, name); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	c.readIndex(fsys)
	if c.source, err = c.identify(fsys); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// add opens one shard.
func (c *Checkpoint) add(fsys fs.FS, name string) error {
	info, err := fs.Stat(fsys, name) // before it is opened, which may take for ever with a pipe
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", name)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	s := &shard{name: name, file: f}
	c.shards = append(c.shards, s)
	if s.info, err = f.Stat(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var ok bool
	if s.data, ok = f.(io.ReaderAt); !ok {
		return fmt.Errorf("%s: this file system gives no random access (io.ReaderAt)", name)
	}
	h, err := readHeader(s.data, s.info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.head = h.raw
	for _, t := range h.tensors {
		if other, ok := c.tensors[t.Name]; ok {
			return fmt.Errorf("tensor %q is in both %s and %s", t.Name, other.File, name)
		}
		t.File, t.data = name, s.data
		c.tensors[t.Name] = t
	}
	return nil
}

// readIndex notes which tensors the index places in files that are not there.
func (c *Checkpoint) readIndex(fsys fs.FS) {
	info, err := fs.Stat(fsys, indexFile)
	if err != nil || info.Size() > MaxHeader {
		return
	}
	raw, err := fs.ReadFile(fsys, indexFile)
	if err != nil {
		return
	}
	var index struct {
		Map map[string]string `json:"weight_map"`
	}
	if json.Unmarshal(raw, &index) != nil {
		return
	}
	c.absent = map[string]string{}
	for tensor, file := range index.Map {
		if !slices.ContainsFunc(c.shards, func(s *shard) bool { return s.name == file }) {
			c.absent[tensor] = file
		}
	}
}

// Names of all tensors, sorted.
func (c *Checkpoint) Names() []string {
	names := make([]string, 0, len(c.tensors))
	for name := range c.tensors {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Lookup finds a tensor by its name.
func (c *Checkpoint) Lookup(name string) (*Tensor, bool) {
	t, ok := c.tensors[name]
	return t, ok
}

// Tensor finds a tensor that must be there; else the error is a *MissingTensorError.
func (c *Checkpoint) Tensor(name string) (*Tensor, error) {
	if t, ok := c.tensors[name]; ok {
		return t, nil
	}
	return nil, &MissingTensorError{Name: name, File: c.absent[name]}
}

// Quantized tells whether a module's weight is stored as codes: whether it has a sibling ".scales".
func (c *Checkpoint) Quantized(module string) bool {
	_, ok := c.tensors[module+".scales"]
	return ok
}

// Bits derives the width of the codes of a module with cols inputs from the shape of its weight; 0 means that
// the weight is stored plainly. Codes without scales are an error, a *MissingTensorError.
func (c *Checkpoint) Bits(module string, cols int) (int, error) {
	t, err := c.Tensor(module + ".weight")
	if err != nil {
		return 0, err
	}
	if !c.Quantized(module) {
		if t.Dtype == U32 {
			_, err = c.Tensor(module + ".scales")
		}
		return 0, err
	}
	if t.Dtype != U32 || len(t.Shape) < 2 || cols <= 0 {
		return 0, fmt.Errorf("%s: tensor %q: %s %v is no matrix of codes", t.File, t.Name, t.Dtype, t.Shape)
	}
	words := t.Shape[len(t.Shape)-1]
	bits := words * 32 / int64(cols)
	if words > int64(cols) || bits < 1 || bits*int64(cols) != words*32 {
		return 0, fmt.Errorf("%s: tensor %q: %d words a row do not fit %d inputs", t.File, t.Name, words, cols)
	}
	return int(bits), nil
}

// Close closes the files. Tensors cannot be read afterwards.
func (c *Checkpoint) Close() error {
	var errs []error
	for _, s := range c.shards {
		errs = append(errs, s.file.Close())
	}
	return errors.Join(errs...)
}
