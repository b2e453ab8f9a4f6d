package metal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// archive is a file of compiled pipelines. It is only ever a saving of time: whatever is wrong with it, it is thrown
// away and written again.
type archive struct {
	path   string // "": none
	obj    object // MTLBinaryArchive
	loaded bool   // from the file
}

const archiveSuffix = ".metalarchive"

// archiveName names the file for these sources, this system and this GPU, so that another's is never taken.
func archiveName(libraries map[string]*library, s System, name string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %d\n", s.Build, name, s.language())
	for _, file := range slices.Sorted(maps.Keys(libraries)) {
		fmt.Fprintf(h, "%q %q\n", file, libraries[file].text)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]) + archiveSuffix
}

// openArchive loads the archive in dir, or begins one. A pool must be in place.
func (b *builder) openArchive(dir, name string) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.log.Warn("pipelines are not kept", slog.Any("error", err))
		return
	}
	b.clean(dir, name)
	b.archive.path = filepath.Join(dir, name)
	_, err := os.Stat(b.archive.path)
	if err == nil {
		if err = b.newArchive(b.archive.path); err == nil {
			b.archive.loaded = true
			return
		}
		b.log.Warn("archive of pipelines is damaged", slog.Any("error", err))
		err = os.Remove(b.archive.path)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = b.newArchive("")
	}
	if err != nil {
		b.log.Warn("pipelines are not kept", slog.Any("error", err))
		b.archive.path = ""
	}
}

// clean removes archives of other sources, systems and GPUs.
func (b *builder) clean(dir, name string) {
	old, err := filepath.Glob(filepath.Join(dir, "*"+archiveSuffix+"*"))
	for _, path := range old {
		if filepath.Base(path) != name {
			err = errors.Join(err, os.Remove(path))
		}
	}
	if err != nil {
		b.log.Warn("old archives of pipelines stay", slog.Any("error", err))
	}
}

// newArchive makes an archive from a file, or an empty one.
func (b *builder) newArchive(path string) error {
	d := b.objects.keep(b.objc.class(archiveDescriptorNew), "MTLBinaryArchiveDescriptor", path)
	defer b.objects.drop(&d)
	if d.id == 0 {
		return errors.New("no archive descriptor")
	}
	if path != "" {
		b.objc.send(archiveDescriptorURL, d.id, uintptr(b.objc.url(path)))
	}
	id, err := b.objc.try(deviceArchive, b.device, uintptr(d.id))
	if err != nil {
		return err
	}
	b.archive.obj = b.objects.keep(id, "MTLBinaryArchive", path)
	return nil
}

// save adds what the archive lacks and writes it, if that is anything.
func (b *builder) save() {
	if b.archive.path == "" {
		return
	}
	added := 0
	for _, p := range b.order {
		if b.isStopped() {
			return
		}
		if !p.missed || p.err != nil {
			continue
		}
		if err := b.archivePipeline(p); err != nil {
			b.log.Warn("pipeline is not kept", slog.String("kernel", p.name), slog.Any("error", err))
			continue
		}
		added++
	}
	if added == 0 {
		return
	}
	if err := b.write(); err != nil {
		b.log.Warn("archive of pipelines is not written", slog.Any("error", err))
	}
}

func (b *builder) archivePipeline(p *pipeline) error {
	d, err := b.descriptor(p)
	if err != nil {
		return err
	}
	defer b.objects.drop(&d)
	return b.objc.tryBool(archiveAdd, b.archive.obj.id, uintptr(d.id))
}

// write replaces the file as a whole.
func (b *builder) write() error {
	fresh := b.archive.path + ".new"
	if err := b.objc.tryBool(archiveWrite, b.archive.obj.id, uintptr(b.objc.url(fresh))); err != nil {
		return errors.Join(err, remove(fresh))
	}
	return os.Rename(fresh, b.archive.path)
}

// remove removes a file that may not be there.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
