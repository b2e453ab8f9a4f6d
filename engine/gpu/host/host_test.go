//go:build linux && amd64

package host_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/engine/gpu"
	"sotto/engine/gpu/gputest"
	"sotto/engine/gpu/host"
	"sotto/kernels"
	"sotto/kernels/msl/params"
)

var (
	exactFlag = flag.String("exact", "", "path of the exact kernel library (default build/kernels/exact.so)")
	fastFlag  = flag.String("fast", "", "path of the fast kernel library (default: the embedded one)")
)

// root is the module's folder.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = up
	}
}

func exactPath(t testing.TB) string {
	t.Helper()
	path := *exactFlag
	if path == "" {
		path = filepath.Join(root(t), "build", "kernels", "exact.so")
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the exact kernel library is missing, run `make kernels`: %v", err)
	}
	return path
}

func open(t testing.TB, o host.Options) gpu.Device {
	t.Helper()
	dev, err := host.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return dev
}

// builds are both kernel libraries.
func builds(t *testing.T, run func(t *testing.T, o host.Options)) {
	t.Run("exact", func(t *testing.T) { run(t, host.Options{Library: exactPath(t)}) })
	t.Run("fast", func(t *testing.T) { run(t, host.Options{Library: *fastFlag}) })
}

func TestKernels(t *testing.T) {
	builds(t, func(t *testing.T, o host.Options) {
		dev := open(t, o)
		for _, s := range gputest.Suites() {
			t.Run(s.Name, func(t *testing.T) { s.Run(t, dev) })
		}
	})
}

func TestConformance(t *testing.T) {
	builds(t, func(t *testing.T, o host.Options) {
		gputest.Run(t, func(t *testing.T) gpu.Device { return open(t, o) })
		t.Run("no garbage", func(t *testing.T) { gputest.RunNoAlloc(t, open(t, o)) })
	})
}

// TestLibrariesAreApart opens both builds in one process, again after the first was closed too.
func TestLibrariesAreApart(t *testing.T) {
	for range 2 {
		for path, want := range map[string]int{exactPath(t): 32, *fastFlag: 1} {
			dev, err := host.Open(host.Options{Library: path})
			if err != nil {
				t.Fatal(err)
			}
			if got := dev.Caps().SIMD; got != want {
				t.Errorf("library %q: got %d lanes a simdgroup, want %d", path, got, want)
			}
			if err := dev.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestForeignLibrary opens a library that lacks one of the driver's symbols.
func TestForeignLibrary(t *testing.T) {
	data, err := os.ReadFile(exactPath(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "foreign.so")
	data = bytes.ReplaceAll(data, []byte("\x00msl_run\x00"), []byte("\x00msl_RUN\x00"))
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	dev, err := host.Open(host.Options{Library: path})
	if err == nil {
		t.Fatal("opened", dev.Close())
	}
	if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "msl_run") {
		t.Errorf("got %v, want an error that names the library and msl_run", err)
	}
}

// TestStaleLibrary opens libraries that were built from other sources, one of them before libraries said so.
func TestStaleLibrary(t *testing.T) {
	data, err := os.ReadFile(exactPath(t))
	if err != nil {
		t.Fatal(err)
	}
	stamp, err := params.Stamp(kernels.Tree())
	if err != nil {
		t.Fatal(err)
	}
	other := "0" + stamp[1:]
	if other == stamp {
		other = "1" + stamp[1:]
	}
	for old, changed := range map[string]string{stamp: other, "\x00sotto_stamp\x00": "\x00sotto_STAMP\x00"} {
		stale := bytes.ReplaceAll(data, []byte(old), []byte(changed))
		if bytes.Equal(stale, data) {
			t.Fatalf("the library does not hold %q", old)
		}
		path := filepath.Join(t.TempDir(), "stale.so")
		if err := os.WriteFile(path, stale, 0o644); err != nil {
			t.Fatal(err)
		}
		dev, err := host.Open(host.Options{Library: path})
		if err == nil {
			t.Fatal("opened", dev.Close())
		}
		if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "run `make kernels`") {
			t.Errorf("got %v, want an error that names the library and what to do", err)
		}
	}
}

// TestLinkFile takes the way through a temporary file, which is gone afterwards.
func TestLinkFile(t *testing.T) {
	data, err := os.ReadFile(exactPath(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	if err := host.LinkFile(data); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v is left behind (%v)", left, err)
	}
}

// TestThreads runs the suite with fewer and more threads than processors, with and without a seed.
func TestThreads(t *testing.T) {
	for _, threads := range []int{1, 2, 5} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			builds(t, func(t *testing.T, o host.Options) {
				o.Threads, o.Seed = threads, uint64(threads-1)
				gputest.Run(t, func(t *testing.T) gpu.Device { return open(t, o) })
			})
		})
	}
}

func BenchmarkReplay(b *testing.B) {
	gputest.BenchReplay(b, open(b, host.Options{Library: *fastFlag}))
}

// BenchmarkNeuron reads 16 experts of 5.5 MB a pass, more than the caches hold.
func BenchmarkNeuron(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			gputest.BenchNeuron(b, open(b, host.Options{Library: *fastFlag, Threads: threads}), 16, 1)
		})
	}
}
