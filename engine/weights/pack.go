package weights

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// StaleError reports a pack that is not what its manifest, layout and source say. It is to be built anew.
type StaleError struct {
	Path   string
	Reason string
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("pack %s does not match its manifest: %s", e.Path, e.Reason)
}

// Pack is a mapped pack. It needs neither the checkpoint nor the manifest any more.
type Pack struct {
	layout   *Layout
	manifest Manifest
	file     *os.File
	changed  int64  // modification time, ns
	reserved []byte // address range, longer than the file
	bytes    []byte // the file
}

// Open maps the pack at path without reading it. Version, source, offsets and size are compared (a *StaleError
// if they differ), checksums are not: see [Pack.Verify].
func Open(path string, l *Layout, m Manifest, source string) (*Pack, error) {
	if why := m.mismatch(source, l); why != "" {
		return nil, &StaleError{path, why}
	}
	// Opening a pipe would wait for a writer; whether it is a file is seen below.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	p := &Pack{layout: l, manifest: m, file: f}
	if err := p.mapFile(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

// mapFile maps the file read-only at a multiple of [PageAlign], which devices ask for and which a system with
// smaller pages does not give by itself.
func (p *Pack) mapFile() error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &StaleError{p.file.Name(), "not a regular file"}
	}
	size := p.layout.size
	if info.Size() != size {
		return &StaleError{p.file.Name(), fmt.Sprintf("%d bytes, want %d", info.Size(), size)}
	}
	if size > math.MaxInt-PageAlign {
		return &os.PathError{Op: "map", Path: p.file.Name(), Err: unix.ENOMEM}
	}
	p.changed = info.ModTime().UnixNano()
	mem, err := unix.Mmap(-1, 0, int(size)+PageAlign, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return &os.PathError{Op: "reserve memory for", Path: p.file.Name(), Err: err}
	}
	skip := -uintptr(unsafe.Pointer(&mem[0])) % PageAlign
	_, err = unix.MmapPtr(int(p.file.Fd()), 0, unsafe.Pointer(&mem[skip]), uintptr(size),
		unix.PROT_READ, unix.MAP_SHARED|unix.MAP_FIXED)
	if err != nil {
		return errors.Join(&os.PathError{Op: "map", Path: p.file.Name(), Err: err}, unix.Munmap(mem))
	}
	p.reserved = mem
	p.bytes = mem[skip : skip+uintptr(size) : skip+uintptr(size)]
	return nil
}

// Bytes is the whole mapped file, read-only (a write faults), at an address that is a multiple of [PageAlign],
// valid until Close.
func (p *Pack) Bytes() []byte { return p.bytes }

// Layout says where the items lie in Bytes.
func (p *Pack) Layout() *Layout { return p.layout }

// Verify reads the file and compares every item with its checksum; the error for a difference is a *StaleError.
// progress may be nil. It reads through the file, so that a bad disk gives an error and not a fault.
func (p *Pack) Verify(ctx context.Context, progress func(Progress)) error {
	m := newMeter(progress, Verifying, p.layout.data)
	buf := make([]byte, chunkSize)
	for i := range p.layout.entries {
		e := &p.layout.entries[i]
		sum := uint32(0)
		for _, ext := range e.streamExtents() {
			for done := int64(0); done < ext.Length; {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				part := buf[:min(chunkSize, ext.Length-done)]
				if err := readFull(p.file, part, ext.Offset+done); err != nil {
					return fmt.Errorf("verify %s: item %q: %w", p.file.Name(), e.Name, err)
				}
				sum = crc32.Update(sum, castagnoli, part)
				done += int64(len(part))
				m.add(int64(len(part)))
			}
		}
		if sum != p.manifest.Items[i].Sum {
			return &StaleError{p.file.Name(), fmt.Sprintf("item %q is damaged", e.Name)}
		}
	}
	return nil
}

// checked tells whether the file was verified and not written since.
func (p *Pack) checked() bool { return p.manifest.Checked == p.changed && p.changed != 0 }

// Close unmaps the pack. Bytes must not be used any more.
func (p *Pack) Close() error {
	mem := p.reserved
	p.reserved, p.bytes = nil, nil
	if mem == nil {
		return nil
	}
	return errors.Join(unix.Munmap(mem), p.file.Close())
}
