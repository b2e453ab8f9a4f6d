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
	"sync"
	"time"
)

// archive is a file of compiled pipelines. It is only ever a saving of time: whatever is wrong with it, it is thrown
// away and written again.
type archive struct {
	path   string // "": none
	obj    object // MTLBinaryArchive
	loaded bool   // from the file
	added  int    // pipelines that the file lacks
}

const (
	archiveSuffix = ".metalarchive"
	keptArchives  = 4 // of other sources, systems and GPUs: other versions of the program may be in use
)

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
			b.touch()
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

// touch notes that the archive is in use. It is no harm if that fails: an archive that is taken for old is made again.
func (b *builder) touch() {
	now := time.Now()
	if err := os.Chtimes(b.archive.path, now, now); err != nil {
		b.log.Warn("archive of pipelines looks unused", slog.Any("error", err))
	}
}

// clean removes archives of other sources, systems and GPUs, and what is left of writing some, but for those that were
// used last.
func (b *builder) clean(dir, name string) {
	all, err := filepath.Glob(filepath.Join(dir, "*"+archiveSuffix+"*"))
	used := map[string]time.Time{}
	for _, path := range all {
		if filepath.Base(path) == name {
			continue
		}
		info, failed := os.Stat(path)
		if failed != nil { // another process is cleaning too
			continue
		}
		used[path] = info.ModTime()
	}
	old := slices.SortedFunc(maps.Keys(used), func(a, b string) int { return used[b].Compare(used[a]) })
	for _, path := range old[min(keptArchives, len(old)):] {
		err = errors.Join(err, remove(path))
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

// add puts a pipeline that was built into the archive. One worker does so at a time. A pool must be in place.
func (b *builder) add(p *pipeline) {
	defer b.objects.drop(&p.descriptor)
	if err := b.objc.tryBool(archiveAdd, b.archive.obj.id, uintptr(p.descriptor.id)); err != nil {
		b.log.Warn("pipeline is not kept", slog.String("kernel", p.name), slog.Any("error", err))
		return
	}
	b.archive.added++
}

// save writes the archive if there is anything new in it: all that was added so far, so that a short run saves time
// for the next one too.
func (b *builder) save() {
	if b.archive.added == 0 {
		return
	}
	if err := b.write(); err != nil {
		b.log.Warn("archive of pipelines is not written", slog.Any("error", err))
	}
}

// writing is for the devices of this process, which write an archive first to a file of the same name.
var writing sync.Mutex

// write replaces the file as a whole. Of several processes the last one wins.
func (b *builder) write() error {
	writing.Lock()
	defer writing.Unlock()
	fresh := fmt.Sprintf("%s.%d.new", b.archive.path, os.Getpid())
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
