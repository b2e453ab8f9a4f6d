package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sotto/assets"
	"sotto/engine/weights"
)

// shardBytes is the size of a weight file at which the next one begins, as mlx has it.
const shardBytes = 5 << 30

// tensor is a line of the list.
type tensor struct {
	name  string
	dtype weights.Dtype
	shape []int64
	bytes int64
}

// checkpoint is what is to be written.
type checkpoint struct {
	config  []byte
	tensors []tensor
	seed    uint64
	shard   int64 // bytes
}

// readCheckpoint reads what a model is like.
func readCheckpoint(config, list string) (*checkpoint, error) {
	c := &checkpoint{shard: shardBytes}
	var err error
	if c.config, err = os.ReadFile(config); err != nil {
		return nil, err
	}
	f, err := os.Open(list)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err == nil {
		c.tensors, err = readTensors(zipped)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", list, err)
	}
	return c, nil
}

// readTensors reads a list of tensors.
func readTensors(r io.Reader) ([]tensor, error) {
	var out []tensor
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var t tensor
		var shape string
		if _, err := fmt.Sscan(lines.Text(), &t.name, &t.dtype, &shape); err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		for n := range strings.SplitSeq(shape, "x") {
			d, err := strconv.ParseInt(n, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", lines.Text(), err)
			}
			t.shape = append(t.shape, d)
		}
		out = append(out, t.sized())
	}
	return out, lines.Err()
}

// sized computes the size.
func (t tensor) sized() tensor {
	t.bytes = t.dtype.Size()
	for _, d := range t.shape {
		t.bytes *= d
	}
	return t
}

// total is the size of all tensors in bytes.
func (c *checkpoint) total() int64 {
	n := int64(0)
	for _, t := range c.tensors {
		n += t.bytes
	}
	return n
}

// write makes the folder dir. It takes its name when everything is in it: what is broken off leaves nothing, or a
// folder with a name of its own that the next write removes.
func (c *checkpoint) write(ctx context.Context, dir string, progress func(done, total int64)) error {
	if _, err := os.Stat(dir); err == nil {
		return fmt.Errorf("%s is there already", dir)
	}
	work := filepath.Clean(dir) + ".partial"
	if err := errors.Join(os.RemoveAll(work), os.MkdirAll(work, 0o755)); err != nil {
		return err
	}
	err := c.room(work)
	if err == nil {
		err = errors.Join(c.writeTexts(work), c.writeShards(ctx, work, progress))
	}
	if err == nil {
		err = os.Rename(work, dir)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(work))
	}
	return nil
}

// room compares what is free with what the weights take, and their pack, which is made next.
func (c *checkpoint) room(dir string) error {
	free, err := weights.Free(dir)
	if need := 2*c.total() + 64<<20; err == nil && free < need { // more than the texts beside the weights
		err = fmt.Errorf("the checkpoint and its pack take %.2f GB, %.2f GB are free in %s", float64(need)/1e9,
			float64(free)/1e9, filepath.Dir(dir))
	}
	return err
}

// writeTexts writes what is not weights.
func (c *checkpoint) writeTexts(dir string) error {
	model, err := assets.Model("qwen-tiny")
	if err != nil {
		return err
	}
	tokenizer, settings, err := texts(c.config, model)
	if err != nil {
		return err
	}
	var errs []error
	for name, data := range map[string][]byte{
		"config.json": c.config, "tokenizer.json": tokenizer, "tokenizer_config.json": settings,
	} {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	return errors.Join(errs...)
}

// writeShards writes the weights and their index.
func (c *checkpoint) writeShards(ctx context.Context, dir string, progress func(done, total int64)) error {
	shards := c.split()
	index := map[string]string{}
	d := newDrawer(c.seed, c.tensors)
	done, total := int64(0), c.total()
	for i, list := range shards {
		name := fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, len(shards))
		for _, t := range list {
			index[t.name] = name
		}
		err := writeShard(filepath.Join(dir, name), list, func(t tensor, at int64, p []byte) error {
			d.draw(t, at, p)
			done += int64(len(p))
			return context.Cause(ctx)
		})
		if err != nil {
			return err
		}
		progress(done, total)
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"total_size": total}, "weight_map": index})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), data, 0o644)
}

// split spreads the tensors over files.
func (c *checkpoint) split() [][]tensor {
	var out [][]tensor
	size := c.shard
	for _, t := range c.tensors {
		if size+t.bytes > c.shard && size > 0 {
			out, size = append(out, nil), 0
		}
		out[len(out)-1] = append(out[len(out)-1], t)
		size += t.bytes
	}
	return out
}

// pieceBytes is what is drawn and written at a time, a multiple of every element's size.
const pieceBytes = 1 << 20

// syncBytes is what is written before the disk is waited for: a write that is broken off ends soon, and no later
// measurement pays for what is not on the disk yet.
const syncBytes = 128 << 20

// writeShard writes one safetensors file. draw fills p with what is at byte at of a tensor. The header is not padded,
// as that of mlx is not: tensors lie at any address.
func writeShard(path string, list []tensor, draw func(t tensor, at int64, p []byte) error) error {
	head := map[string]any{"__metadata__": map[string]string{"format": "mlx"}}
	off := int64(0)
	for _, t := range list {
		head[t.name] = map[string]any{
			"dtype": t.dtype, "shape": t.shape, "data_offsets": []int64{off, off + t.bytes},
		}
		off += t.bytes
	}
	raw, err := json.Marshal(head)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	raw = append(binary.LittleEndian.AppendUint64(nil, uint64(len(raw))), raw...)
	if _, err := f.Write(raw); err != nil {
		return err
	}
	piece, dirty := make([]byte, pieceBytes), 0
	for _, t := range list {
		for at := int64(0); at < t.bytes; at += pieceBytes {
			p := piece[:min(pieceBytes, t.bytes-at)]
			if err := draw(t, at, p); err != nil {
				return err
			}
			if _, err := f.Write(p); err != nil {
				return err
			}
			if dirty += len(p); dirty < syncBytes {
				continue
			}
			if err := f.Sync(); err != nil {
				return err
			}
			dirty = 0
		}
	}
	return f.Sync()
}
