//go:build linux && amd64

package metal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sotto/engine/gpu/metal"
	"sotto/engine/gpu/metal/sim"
	"sotto/kernels"
)

// Messages that tell what an archive was used for.
const (
	addMessage   = "MTLBinaryArchive addComputePipelineFunctionsWithDescriptor:error:"
	writeMessage = "MTLBinaryArchive serializeToURL:error:"
)

// session opens a device with an archive, lets it build everything and closes it. It returns how many pipelines were
// added to the archive and how often it was written.
func session(t *testing.T, o sim.Options, dir string, rules ...rule) (added, written int) {
	t.Helper()
	r := newRuntime(t, o)
	d := openOn(t, r, metal.Options{ArchiveDir: dir}, rules...)
	metal.Built(d)
	for _, k := range kernels.All() {
		if _, err := metal.Need(d, k.Name); err != nil {
			t.Error(err)
		}
	}
	b := newBench(t, d)
	b.run(b.compile(b.chain(2)), b.step(benchRows))
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	sent := r.Sent()
	return int(sent[addMessage]), int(sent[writeMessage])
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestArchive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "down")
	all := len(kernels.All())
	if added, written := session(t, sim.Options{}, dir); added != all || written != 1 {
		t.Errorf("first time: %d pipelines added, written %d times", added, written)
	}
	first := files(t, dir)
	if len(first) != 1 {
		t.Fatalf("got files %v, want one", first)
	}
	if added, written := session(t, sim.Options{}, dir); added != 0 || written != 0 {
		t.Errorf("second time: %d pipelines added, written %d times", added, written)
	}
	// Another system has another file, beside the old one.
	if added, _ := session(t, sim.Options{OS: systems()[1]}, dir); added != all {
		t.Errorf("another system: %d pipelines added, want %d", added, all)
	}
	if second := files(t, dir); len(second) != 2 || !slices.Contains(second, first[0]) {
		t.Errorf("got files %v after %v, want one more", second, first)
	}
	if added, _ := session(t, sim.Options{}, dir); added != 0 {
		t.Errorf("the first system again: %d pipelines added", added)
	}
	if added, _ := session(t, sim.Options{OS: systems()[1], GPU: sim.M2}, dir); added != all {
		t.Errorf("another GPU: %d pipelines added, want %d", added, all)
	}
}

// TestArchivesOfOthers keeps the archives of other versions that were used last, and no more of them; what is left of
// writing counts as one.
func TestArchivesOfOthers(t *testing.T) {
	dir := t.TempDir()
	session(t, sim.Options{}, dir)
	mine := files(t, dir)[0]
	age := func(name string, d time.Duration) {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chtimes(path, time.Time{}, time.Now().Add(-d)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 * metal.KeptArchives {
		age(fmt.Sprintf("version%d.metalarchive", i), time.Duration(i)*time.Hour)
	}
	age("version1.metalarchive.12.new", 90*time.Minute)
	age(filepath.Base(mine), 1000*time.Hour)
	session(t, sim.Options{}, dir)
	want := []string{
		filepath.Base(mine), "version0.metalarchive", "version1.metalarchive", "version1.metalarchive.12.new",
		"version2.metalarchive",
	}
	var got []string
	for _, path := range files(t, dir) {
		got = append(got, filepath.Base(path))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	// What is used is not old.
	if info, err := os.Stat(mine); err != nil || time.Since(info.ModTime()) > time.Hour {
		t.Errorf("the archive in use looks unused: %v, %v", info.ModTime(), err)
	}
}

// TestArchiveDamaged finds files that are no archives, or not this one's.
func TestArchiveDamaged(t *testing.T) {
	dir := t.TempDir()
	session(t, sim.Options{}, dir)
	path := files(t, dir)[0]
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := len(kernels.All())
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"empty", nil}, {"cut", good[:len(good)/2]}, {"noise", []byte("\x00\x01\x02")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(path, c.data, 0o600); err != nil {
				t.Fatal(err)
			}
			if added, written := session(t, sim.Options{}, dir); added != all || written != 1 {
				t.Errorf("%d pipelines added, written %d times", added, written)
			}
			if got, err := os.ReadFile(path); err != nil || len(got) != len(good) {
				t.Errorf("got a file of %d bytes, %v, want %d", len(got), err, len(good))
			}
		})
	}
}

// TestArchiveIncomplete keeps what is there and adds what is not.
func TestArchiveIncomplete(t *testing.T) {
	dir := t.TempDir()
	o := sim.Options{Inject: []sim.Fault{{Kind: sim.ArchiveFails, On: "add", After: 10, Times: 3}}}
	if _, written := session(t, o, dir); written != 1 {
		t.Fatalf("written %d times", written)
	}
	if added, written := session(t, sim.Options{}, dir); added != 3 || written != 1 {
		t.Errorf("%d pipelines added, written %d times, want 3 and 1", added, written)
	}
	if added, written := session(t, sim.Options{}, dir); added != 0 || written != 0 {
		t.Errorf("%d pipelines added, written %d times, want none", added, written)
	}
}

// TestArchiveFails does without an archive, whatever is in its way.
func TestArchiveFails(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, dir string) string
		fault   sim.Fault
		rules   []rule
		left    int // files
	}{
		{name: "folder is a file", prepare: func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "file")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}, left: 1},
		{name: "cannot be made", rules: []rule{{selector: "newBinaryArchiveWithDescriptor:error:"}}},
		{name: "cannot be described", rules: []rule{{selector: "new", times: 1}}},
		{name: "cannot be written", fault: sim.Fault{Kind: sim.ArchiveFails, On: "write"}},
		{name: "nothing can be added", fault: sim.Fault{Kind: sim.ArchiveFails, On: "add", Times: -1}},
		{name: "lost on writing", rules: []rule{{selector: "serializeToURL:error:", answer: 1}}},
		{name: "old ones cannot go", prepare: func(t *testing.T, dir string) string {
			for i := range metal.KeptArchives + 1 {
				if err := os.MkdirAll(filepath.Join(dir, fmt.Sprint(i, ".metalarchive"), "full"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			return dir
		}, left: metal.KeptArchives + 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			at := dir
			if c.prepare != nil {
				at = c.prepare(t, dir)
			}
			o := sim.Options{}
			if c.fault.Kind != 0 {
				o.Inject = []sim.Fault{c.fault}
			}
			session(t, o, at, c.rules...)
			if got := files(t, dir); len(got) != c.left {
				t.Errorf("left: %v", got)
			}
		})
	}
}

// TestArchiveFolderInTheWay has a folder where the archive should be, or where it is written first.
func TestArchiveFolderInTheWay(t *testing.T) {
	for _, suffix := range []string{"", fmt.Sprintf(".%d.new", os.Getpid())} {
		dir := t.TempDir()
		session(t, sim.Options{}, dir)
		path := files(t, dir)[0]
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(path+suffix, "full"), 0o700); err != nil {
			t.Fatal(err)
		}
		session(t, sim.Options{}, dir)
		if got := files(t, dir); len(got) != 1 || got[0] != path+suffix {
			t.Errorf("left: %v", got)
		}
	}
}

// TestArchivesOfOneProcess has two devices of a process write the same archive at the same time: one after the other,
// since both write it first to one file.
func TestArchivesOfOneProcess(t *testing.T) {
	dir := t.TempDir()
	var writing, together atomic.Int32
	var all sync.WaitGroup
	for range 2 {
		began := func(*metal.Message) {
			if writing.Add(1) > 1 {
				together.Add(1)
			}
			time.Sleep(100 * time.Millisecond)
			writing.Add(-1)
		}
		d := openOn(t, newRuntime(t, sim.Options{}), metal.Options{ArchiveDir: dir},
			rule{selector: "serializeToURL:error:", hook: began})
		all.Go(func() { metal.Built(d) })
	}
	all.Wait()
	if n := together.Load(); n != 0 {
		t.Errorf("%d archives were written beside another", n)
	}
	if left := files(t, dir); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	if added, written := session(t, sim.Options{}, dir); added != 0 || written != 0 {
		t.Errorf("%d pipelines added, written %d times, want none", added, written)
	}
}
