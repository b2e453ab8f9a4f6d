package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/adrg/xdg"

	"sotto/app/models"
	"sotto/engine"
	"sotto/kernels"
)

// home gives the test empty folders.
func home(t *testing.T) Folders {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(xdg.Reload) // after the variables are back
	t.Setenv("XDG_DATA_HOME", filepath.Join(dir, "data"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	xdg.Reload()
	want := Folders{Data: filepath.Join(dir, "data", "sotto"), Cache: filepath.Join(dir, "cache", "sotto")}
	if got := UserFolders(); got != want {
		t.Fatalf("folders %+v, want %+v", got, want)
	}
	return want
}

// packs lists the packs under a cache, with the time of their last change.
func packs(t *testing.T, f Folders) map[string]string {
	t.Helper()
	found := map[string]string{}
	names, err := filepath.Glob(filepath.Join(f.Cache, "packs", "*", "*.pack"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		found[name] = info.ModTime().String()
	}
	return found
}

func open(t *testing.T, o Options) *Model {
	t.Helper()
	m, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestOpenPacksOnce(t *testing.T) {
	dirs := home(t)
	var stages []string
	m := open(t, Options{Progress: func(l engine.Loading) {
		if l.Done < 0 || l.Done > l.Total {
			t.Errorf("progress %+v", l)
		}
		stages = append(stages, l.Stage)
	}})
	if m.Name != models.Default || m.Family != "qwen3_5_moe" || !m.Tiny {
		t.Errorf("opened %+v", m.Model)
	}
	first := packs(t, dirs)
	if len(first) != 1 || len(stages) == 0 {
		t.Fatalf("packs %v, stages %v", first, stages)
	}
	if _, err := os.Stat(filepath.Join(dirs.Data, "sotto.db")); err != nil {
		t.Error(err)
	}
	open(t, Options{Model: "qwen-tiny", DType: kernels.F32, Progress: func(l engine.Loading) {
		t.Errorf("packs again: %+v", l)
	}})
	second := packs(t, dirs)
	for name, changed := range first {
		if second[name] != changed || len(second) != 1 {
			t.Errorf("packs %v, then %v", first, second)
		}
	}
}

// TestOpenFolders holds that folders of one name do not share a pack, however they are spelled.
func TestOpenFolders(t *testing.T) {
	dirs := home(t)
	source, err := models.Resolve(models.Default)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, parent := range []string{"a", "b"} {
		dir := filepath.Join(root, parent, "model")
		if err := os.CopyFS(dir, source.Dir); err != nil {
			t.Fatal(err)
		}
		m := open(t, Options{Model: dir})
		if m.Name != dir || m.Family != "qwen3_5_moe" || m.Tiny || m.Builtin {
			t.Errorf("opened %+v", m.Model)
		}
	}
	if n := len(packs(t, dirs)); n != 2 {
		t.Errorf("%d packs of two folders", n)
	}
	t.Chdir(filepath.Join(root, "a"))
	open(t, Options{Model: "model"})
	open(t, Options{Model: "../a/model/"})
	if n := len(packs(t, dirs)); n != 2 {
		t.Errorf("another spelling of a folder made a pack: %d", n)
	}
}

func TestOpenRefused(t *testing.T) {
	dirs := home(t)
	empty := t.TempDir()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name    string
		ctx     context.Context //nolint:containedctx // a row of the table
		options Options
		is      error
		want    string
	}{
		{"unknown model", t.Context(), Options{Model: "qwen-huge"}, nil, `no model "qwen-huge"`},
		{"folder that is gone", t.Context(), Options{Model: filepath.Join(empty, "gone")}, nil, "the folder is gone"},
		{
			"empty folder", t.Context(),
			Options{Model: empty},
			fs.ErrNotExist,
			"open " + empty + ": there is no model in this folder",
		},
		{"cancelled", cancelled, Options{}, context.Canceled, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Open(tt.ctx, tt.options)
			if err == nil {
				m.Close()
				t.Fatal("opened")
			}
			if tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	if n := len(packs(t, dirs)); n != 0 {
		t.Errorf("%d packs of nothing", n)
	}
}

// TestCompilingIsTold opens a model on a device that compiles its kernels: the progress is told before the model is
// open, and not after.
func TestCompilingIsTold(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the simulated device is for Linux")
	}
	home(t)
	var mu sync.Mutex
	var last engine.Loading
	m := open(t, Options{Driver: DriverSim, Progress: func(l engine.Loading) {
		mu.Lock()
		defer mu.Unlock()
		if l.Stage == engine.StageCompiling {
			last = l
		}
	}})
	mu.Lock()
	told := last
	mu.Unlock()
	if told.Done < 20 || told.Done > told.Total {
		t.Errorf("told of %d kernels of %d", told.Done, told.Total)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if last != told {
		t.Errorf("told of %d kernels after the model was open with %d", last.Done, told.Done)
	}
}

// TestProgressTakesNoTurns holds that kernels which are compiled while weights are packed are not told of, and are
// before and after.
func TestProgressTakesNoTurns(t *testing.T) {
	var got []string
	p := &progress{tell: func(l engine.Loading) { got = append(got, fmt.Sprint(l.Stage, " ", l.Done)) }}
	for _, l := range []engine.Loading{
		{Stage: engine.StageCompiling, Done: 1, Total: 9},
		{Stage: engine.StagePacking, Done: 0, Total: 2},
		{Stage: engine.StageCompiling, Done: 2, Total: 9},
		{Stage: engine.StagePacking, Done: 2, Total: 2},
		{Stage: engine.StageCompiling, Done: 3, Total: 9},
	} {
		p.loading(l)
	}
	p.end()
	p.loading(engine.Loading{Stage: engine.StageCompiling, Done: 4, Total: 9})
	if want := []string{"compiling 1", "packing 0", "packing 2", "compiling 3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
