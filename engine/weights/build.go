package weights

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// Stage is what an [Ensure] is busy with.
type Stage string

// Stages of an [Ensure] that has to do more than to map a pack.
const (
	Surveying Stage = "surveying" // finding out what can be stored more compactly
	Packing   Stage = "packing"   // writing the pack
	Verifying Stage = "verifying" // comparing its bytes with the checksums
)

// Progress reports how far a stage is. Done never falls within a stage.
type Progress struct {
	Stage       Stage
	Done, Total int64 // bytes of weights
}

// chunkSize is about what is read, written and reported at a time, in bytes.
const chunkSize = 1 << 20

// castagnoli has instructions of its own on amd64 and arm64.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Build writes the pack of a layout to path and returns its manifest. The bytes go to a temporary file beside
// path that takes its name only when they are complete and on disk, so a build that fails or whose ctx ends
// leaves nothing, and an older pack at path stays whole until it is replaced. progress may be nil; it is called
// from this goroutine. Before anything is written the shapes are checked and the free space is compared (the
// error is a *SpaceError).
func Build(ctx context.Context, c *Checkpoint, l *Layout, path string, progress func(Progress)) (Manifest, error) {
	if err := c.Check(l); err != nil {
		return Manifest{}, err
	}
	if err := checkSpace(filepath.Dir(path), l.size); err != nil {
		return Manifest{}, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), tempPattern(path))
	if err != nil {
		return Manifest{}, err
	}
	disk := &syncer{file: f, step: syncBytes}
	b := builder{
		ctx: ctx, ckpt: c, layout: l, file: bufio.NewWriterSize(disk, chunkSize), band: bandBytes,
		meter: newMeter(progress, Packing, l.data), manifest: newManifest(c.Source(), l),
	}
	err = errors.Join(b.write(), disk.wait())
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return Manifest{}, errors.Join(fmt.Errorf("build pack %s: %w", path, err), os.Remove(f.Name()))
	}
	return b.manifest, syncDir(filepath.Dir(path))
}

// tempPattern is the name of a temporary file for os.CreateTemp: hidden, and known to [sweep].
func tempPattern(path string) string { return "." + filepath.Base(path) + ".*.tmp" }

// syncDir makes a rename durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// builder writes the items of a layout in the order of the file.
type builder struct {
	ctx      context.Context //nolint:containedctx // lives for one Build
	ckpt     *Checkpoint
	layout   *Layout
	file     *bufio.Writer
	pos      int64  // bytes written
	sum      uint32 // of the item so far
	raw, out []byte
	band     int64 // bytes of an expert that are transposed at a time
	meter    meter
	manifest Manifest
}

// write writes the whole file.
func (b *builder) write() error {
	for i := range b.layout.entries {
		e := &b.layout.entries[i]
		b.sum = 0
		for s, ext := range e.streamExtents() {
			if err := b.pad(ext.Offset); err != nil {
				return err
			}
			if err := b.stream(&e.Item, s); err != nil {
				return fmt.Errorf("item %q: %w", e.Name, err)
			}
			if want := ext.Offset + ext.Length; b.pos != want {
				return fmt.Errorf("item %q ends at %d, want %d", e.Name, b.pos, want)
			}
		}
		b.manifest.Items[i].Sum = b.sum
	}
	if err := b.pad(b.layout.size); err != nil {
		return err
	}
	return b.file.Flush()
}

// pad writes zeros up to an offset; less than a page.
func (b *builder) pad(to int64) error {
	n, err := b.file.Write(make([]byte, to-b.pos))
	b.pos += int64(n)
	return err
}

// stream writes one stream of an item.
func (b *builder) stream(it *Item, s int) error {
	parts, err := b.ckpt.parts(it, s)
	if err != nil {
		return err
	}
	if it.Format == NM20 && s == 1 {
		biases, err := b.ckpt.parts(it, 2)
		if err != nil {
			return err
		}
		return b.quotients(parts[0], biases[0], int64(max(it.Experts, 1)))
	}
	if it.Format.byInput() {
		return b.transpose(parts[0], int64(max(it.Experts, 1)), s == 0)
	}
	st := it.streams()[s]
	rowSize := int64(st.width) * st.dtype.Size()
	for expert := range int64(max(it.Experts, 1)) {
		if it.Interleave {
			err = b.weave(parts, expert, st.dtype, rowSize)
		} else {
			for i := range parts {
				err = errors.Join(err, b.weave(parts[i:i+1], expert, st.dtype, rowSize))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// weave writes the rows of one expert: row i of each part in turn, some rows at a time. rowSize is the number of
// bytes of a row in the pack.
func (b *builder) weave(parts []part, expert int64, to Dtype, rowSize int64) error {
	step := int64(len(parts)) * rowSize
	atOnce := max(1, chunkSize/step)
	for row := int64(0); row < parts[0].rows; row += atOnce {
		if err := b.ctx.Err(); err != nil {
			return context.Cause(b.ctx)
		}
		n := min(atOnce, parts[0].rows-row)
		b.out = grow(b.out, n*step)
		for i, p := range parts {
			b.raw = grow(b.raw, n*p.rowSize)
			if _, err := p.tensor.ReadAt(b.raw, (expert*p.rows+row)*p.rowSize); err != nil {
				return err
			}
			if len(parts) == 1 {
				convert(b.out, to, b.raw, p.tensor.Dtype)
				break
			}
			for r := range n {
				at := r*step + int64(i)*rowSize
				convert(b.out[at:at+rowSize], to, b.raw[r*p.rowSize:(r+1)*p.rowSize], p.tensor.Dtype)
			}
		}
		if err := b.put(b.out); err != nil {
			return err
		}
	}
	return nil
}

// put writes bytes of an item.
func (b *builder) put(p []byte) error {
	n, err := b.file.Write(p)
	b.pos += int64(n)
	b.sum = crc32.Update(b.sum, castagnoli, p)
	b.meter.add(int64(n))
	return err
}

// grow returns a slice of n bytes, in place of buf if that is long enough.
func grow(buf []byte, n int64) []byte {
	if int64(cap(buf)) < n {
		return make([]byte, n)
	}
	return buf[:n]
}

// meter adds up the progress of a stage.
type meter struct {
	report func(Progress)
	now    Progress
}

// newMeter reports the start of a stage; report may be nil.
func newMeter(report func(Progress), stage Stage, total int64) meter {
	m := meter{report: report, now: Progress{Stage: stage, Total: total}}
	m.add(0)
	return m
}

// add reports n more bytes.
func (m *meter) add(n int64) {
	m.now.Done += n
	if m.report != nil {
		m.report(m.now)
	}
}
