package weights

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// memory keeps manifests for a test.
type memory struct {
	mu     sync.Mutex
	values map[string][]byte
	fail   error // of Save
}

func newMemory() *memory { return &memory{values: map[string][]byte{}} }

func (m *memory) Load(key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.values[key], nil
}

func (m *memory) Save(key string, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if value == nil {
		delete(m.values, key)
		return nil
	}
	if m.fail != nil {
		return m.fail
	}
	m.values[key] = value
	return nil
}

// bench is a checkpoint, a folder for its pack and what an Ensure did last.
type bench struct {
	t      *testing.T
	files  map[string][]byte
	recipe Recipe
	dir    string
	kept   *memory
	stages []Stage
}

// short leaves out what takes long.
func short[T any](list []T, name func(T) string) []T {
	return slices.DeleteFunc(list, func(x T) bool { return strings.HasPrefix(name(x), "long") })
}

func newBench(t *testing.T) *bench {
	return &bench{
		t: t, files: modelFiles(short(modelTensors(), func(r raw) string { return r.name })),
		recipe: Recipe{Items: slices.DeleteFunc(short(modelRecipe().Items, func(it Item) string { return it.Name }),
			func(it Item) bool { return it.Format == NM })},
		dir: filepath.Join(t.TempDir(), "cache", "model"), kept: newMemory(),
	}
}

// ensure notes the stages that it went through.
func (b *bench) ensure(ctx context.Context) (*Pack, error) {
	b.t.Helper()
	b.stages = nil
	return Ensure(ctx, open(b.t, directory(b.files)), b.recipe, b.dir, b.kept, func(p Progress) {
		if p.Done == 0 {
			b.stages = append(b.stages, p.Stage)
		}
	})
}

// want ensures a pack with the right content, and that it took these stages.
func (b *bench) want(what string, stages ...Stage) {
	b.t.Helper()
	p, err := b.ensure(b.t.Context())
	if err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	defer p.Close()
	if !slices.Equal(b.stages, stages) {
		b.t.Errorf("%s: stages %v, want %v", what, b.stages, stages)
	}
	o := oracle{}
	for _, x := range modelTensors() {
		o[x.name] = x
	}
	o.compareAll(b.t, p.Layout(), p.Bytes())
	if names := left(b.t, b.dir); len(names) != 1 || !strings.HasSuffix(names[0], packSuffix) {
		b.t.Errorf("%s: %v is left, want one pack", what, names)
	}
	if len(b.kept.values) != 1 {
		b.t.Errorf("%s: %d manifests are kept, want one", what, len(b.kept.values))
	}
}

// path of the only pack.
func (b *bench) path() string { return filepath.Join(b.dir, left(b.t, b.dir)[0]) }

// change edits the pack in place, at a later time than it was written.
func (b *bench) change(edit func(data []byte) []byte) {
	b.t.Helper()
	path := b.path()
	data, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, edit(data), 0o600); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, info.ModTime().Add(time.Second)); err != nil {
		b.t.Fatal(err)
	}
}

// manifest edits the only manifest.
func (b *bench) manifest(edit func(m *Manifest)) {
	b.t.Helper()
	for key, value := range b.kept.values {
		m, err := DecodeManifest(value)
		if err != nil {
			b.t.Fatal(err)
		}
		edit(&m)
		if b.kept.values[key], err = m.Encode(); err != nil {
			b.t.Fatal(err)
		}
	}
}

func TestEnsure(t *testing.T) {
	b := newBench(t)
	b.want("first", Packing, Verifying)
	b.want("second")
	b.change(func(data []byte) []byte { return data })
	b.want("written but equal", Verifying)
	b.want("verified before")
}

func TestEnsureRebuilds(t *testing.T) {
	entries := plan(t, newBench(t).recipe).Entries()
	last := entries[len(entries)-1].Codes.Offset
	other := func() *bench {
		b := newBench(t)
		b.recipe.Items = b.recipe.Items[:3]
		p, err := b.ensure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = p.Close()
		return b
	}()
	built, found := []Stage{Packing, Verifying}, []Stage{Verifying, Packing, Verifying}
	cases := []struct {
		name   string
		harm   func(b *bench)
		stages []Stage
	}{
		{"first byte", func(b *bench) { b.change(func(d []byte) []byte { d[0]++; return d }) }, found},
		{"last item", func(b *bench) { b.change(func(d []byte) []byte { d[last]++; return d }) }, found},
		{"cut", func(b *bench) { b.change(func(d []byte) []byte { return d[:len(d)-1] }) }, built},
		{"longer", func(b *bench) { b.change(func(d []byte) []byte { return append(d, 0) }) }, built},
		{"empty", func(b *bench) { b.change(func([]byte) []byte { return nil }) }, built},
		{"deleted", func(b *bench) { _ = os.Remove(b.path()) }, built},
		{"a folder", func(b *bench) {
			path := b.path()
			_ = os.Remove(path)
			_ = os.Mkdir(path, 0o700)
		}, built},
		{"a pipe", func(b *bench) {
			path := b.path()
			_ = os.Remove(path)
			_ = unix.Mkfifo(path, 0o600)
		}, built},
		{"no manifest", func(b *bench) { clear(b.kept.values) }, built},
		{"garbage manifest", func(b *bench) {
			for key := range b.kept.values {
				b.kept.values[key] = []byte("{")
			}
		}, built},
		{"manifest of another pack", func(b *bench) {
			for key := range b.kept.values {
				b.kept.values[key] = slices.Collect(maps.Values(other.kept.values))[0]
			}
		}, built},
		{"older layout", func(b *bench) { b.manifest(func(m *Manifest) { m.Version-- }) }, built},
		{"other source", func(b *bench) { b.manifest(func(m *Manifest) { m.Source = "x" }) }, built},
		{"other size", func(b *bench) { b.manifest(func(m *Manifest) { m.Size++ }) }, built},
		{"fewer items", func(b *bench) { b.manifest(func(m *Manifest) { m.Items = m.Items[1:] }) }, built},
		{"other offset", func(b *bench) { b.manifest(func(m *Manifest) { m.Items[3].Offset += 256 }) }, built},
		{"other sum", func(b *bench) { b.manifest(func(m *Manifest) { m.Items[3].Sum++; m.Checked = 0 }) }, found},
		{"a killed build", func(b *bench) {
			key := strings.TrimSuffix(filepath.Base(b.path()), packSuffix)
			_ = os.Remove(b.path())
			_ = os.WriteFile(filepath.Join(b.dir, "."+key+packSuffix+".123.tmp"), []byte("half"), 0o600)
		}, built},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.want("first", Packing, Verifying)
			c.harm(b)
			b.want("after", c.stages...)
			b.want("again")
		})
	}
}

func TestEnsureReplacesOtherContent(t *testing.T) {
	b := newBench(t)
	b.want("first", Packing, Verifying)
	first := b.path()
	b.files["config.json"] = []byte("{}")
	b.want("other config", Packing, Verifying)
	b.recipe.Items[0], b.recipe.Items[1] = b.recipe.Items[1], b.recipe.Items[0]
	b.want("other recipe", Packing, Verifying)
	if b.path() == first {
		t.Error("other content has the same name")
	}
}

func TestEnsureKeepsForeignFiles(t *testing.T) {
	b := newBench(t)
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	foreign := []string{"notes.pack", "0123456789abcdef0123456789abcdef.packs", ".x.tmp"}
	for _, name := range foreign {
		if err := os.WriteFile(filepath.Join(b.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := b.ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Close()
	names := left(t, b.dir)
	for _, name := range foreign {
		if !slices.Contains(names, name) {
			t.Errorf("%s was deleted", name)
		}
	}
}

func TestEnsureCancelled(t *testing.T) {
	for _, stage := range []Stage{Packing, Verifying} {
		b := newBench(t)
		ctx, cancel := context.WithCancel(t.Context())
		c := open(t, directory(b.files))
		_, err := Ensure(ctx, c, b.recipe, b.dir, b.kept, func(p Progress) {
			if p.Stage == stage && p.Done > p.Total/2 {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want %v", stage, err, context.Canceled)
		}
		if stage == Packing {
			if names := left(t, b.dir); len(names) > 0 {
				t.Errorf("%v is left", names)
			}
			b.want("after", Packing, Verifying)
		} else {
			b.want("after", Verifying)
		}
	}
}

func TestEnsureWithoutManifestLeavesNothing(t *testing.T) {
	b := newBench(t)
	b.kept.fail = errors.New("store is full")
	if _, err := b.ensure(t.Context()); !errors.Is(err, b.kept.fail) {
		t.Errorf("%v, want %v", err, b.kept.fail)
	}
	if names := left(t, b.dir); len(names) > 0 {
		t.Errorf("%v is left", names)
	}
}

func TestEnsureAtOnce(t *testing.T) {
	b := newBench(t)
	var mu sync.Mutex
	stages := map[Stage]int{}
	var group sync.WaitGroup
	packs := make([]*Pack, 4)
	for i := range packs {
		c := open(t, directory(b.files))
		group.Go(func() {
			var err error
			packs[i], err = Ensure(t.Context(), c, b.recipe, b.dir, b.kept, func(p Progress) {
				if p.Done == 0 {
					mu.Lock()
					stages[p.Stage]++
					mu.Unlock()
				}
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if want := map[Stage]int{Packing: 1, Verifying: 1}; !maps.Equal(stages, want) {
		t.Errorf("stages %v, want %v", stages, want)
	}
	for _, p := range packs {
		if p == nil || !bytes.Equal(p.Bytes(), packs[0].Bytes()) {
			t.Fatal("packs differ")
		}
	}
	for _, p := range packs {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	b.want("after")
}

func TestWaitForLockEnds(t *testing.T) {
	b := newBench(t)
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	release, err := lockDir(t.Context(), b.dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := b.ensure(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want %v", err, context.DeadlineExceeded)
	}
	release()
	b.want("after", Packing, Verifying)
}

func TestPackOutlivesItsFile(t *testing.T) {
	b := newBench(t)
	p, err := b.ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := bytes.Clone(p.Bytes())
	if at := uintptr(unsafe.Pointer(&p.Bytes()[0])); at%PageAlign != 0 {
		t.Errorf("mapped at %#x, want a multiple of %d", at, PageAlign)
	}
	if int64(len(before)) != p.Layout().Size() {
		t.Errorf("%d bytes, want %d", len(before), p.Layout().Size())
	}
	b.files["config.json"] = []byte("{}")
	b.want("replaced", Packing, Verifying)
	if !bytes.Equal(p.Bytes(), before) {
		t.Error("the mapped pack changed with its replacement")
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil || p.Bytes() != nil {
		t.Errorf("Close twice: %v", err)
	}
}

// FuzzManifest holds that stored bytes never pass for the manifest of a pack unless they say the same.
func FuzzManifest(f *testing.F) {
	l, err := Plan(Recipe{Items: []Item{
		{Name: "a", Sources: []Source{{"a", 2}}, Rows: 2, Cols: 1, Format: Vector, Dtype: F32},
	}})
	if err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(f.TempDir(), "test.pack")
	if err := os.WriteFile(path, make([]byte, l.Size()), 0o600); err != nil {
		f.Fatal(err)
	}
	good, err := newManifest("source", l).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(bytes.Replace(good, []byte(`"Version":1`), []byte(`"Version":2`), 1))
	f.Add(append(bytes.Clone(good), '}'))
	for _, text := range []string{
		``, `{}`, `null`, `[]`, `{"Size":-1}`, `{"Items":[{"Sum":4294967296}]}`, `{"Other":1}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := DecodeManifest(data)
		if err != nil {
			return
		}
		again, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if m2, err := DecodeManifest(again); err != nil || fmt.Sprint(m2) != fmt.Sprint(m) {
			t.Fatalf("%v came back as %v, %v", m, m2, err)
		}
		p, err := Open(path, l, m, "source")
		var stale *StaleError
		switch {
		case err == nil:
			want := newManifest("source", l)
			want.Checked, want.Items[0].Sum = m.Checked, m.Items[0].Sum
			if fmt.Sprint(m) != fmt.Sprint(want) {
				t.Fatalf("accepted %v, want %v", m, want)
			}
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
		case !errors.As(err, &stale):
			t.Fatal(err)
		}
	})
}
