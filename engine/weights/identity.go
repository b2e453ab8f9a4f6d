package weights

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
)

// Sampling of a shard for the identity of a checkpoint.
const (
	sampleWhole  = 16 << 20 // bytes: shards up to this size are hashed whole
	sampleBlocks = 64       // blocks of larger shards, at even distances from the first byte to the last
	sampleBlock  = 4096     // bytes
)

// Source identifies the content of the checkpoint: it changes when a shard, its date or config.json is replaced.
// To stay cheap for files of many gigabytes it hashes names, sizes, dates (where the file system has them),
// headers and 64 evenly spread blocks of each shard; shards up to 16 MiB are hashed whole, because embedded
// files have no date.
func (c *Checkpoint) Source() string { return c.source }

// identify computes Source and drops the raw headers.
func (c *Checkpoint) identify(fsys fs.FS) (string, error) {
	h := sha256.New()
	if err := hashConfig(h, fsys); err != nil {
		return "", fmt.Errorf("%s: %w", configFile, err)
	}
	for _, s := range c.shards {
		date := s.info.ModTime()
		fmt.Fprintf(h, "shard %q %d %d.%d %d\n", s.name, s.info.Size(), date.Unix(), date.Nanosecond(), len(s.head))
		h.Write(s.head)
		s.head = nil
		if err := sample(h, s.data, s.info.Size()); err != nil {
			return "", fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// hashConfig hashes config.json; a checkpoint without one is fine here.
func hashConfig(h hash.Hash, fsys fs.FS) error {
	f, err := fsys.Open(configFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	n, err := io.Copy(h, f)
	fmt.Fprintf(h, "config %d\n", n)
	return errors.Join(err, f.Close())
}

// sample hashes a file of the given size, or blocks of it.
func sample(h hash.Hash, r io.ReaderAt, size int64) error {
	if size <= sampleWhole {
		_, err := io.Copy(h, io.NewSectionReader(r, 0, size))
		return err
	}
	var block [sampleBlock]byte
	step := (size - sampleBlock) / (sampleBlocks - 1)
	for i := range int64(sampleBlocks) {
		off := i * step
		if i == sampleBlocks-1 {
			off = size - sampleBlock
		}
		if err := readFull(r, block[:], off); err != nil {
			return err
		}
		h.Write(block[:])
	}
	return nil
}
