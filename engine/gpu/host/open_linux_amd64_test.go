package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/engine/gpu"
)

func TestOpenRefused(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.so")
	if err := os.WriteFile(text, []byte("not a library"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name    string
		options Options
		want    string
	}{
		{"missing library", Options{Library: "no/such.so"}, "no/such.so"},
		{"not a library", Options{Library: text}, text},
		{"negative threads", Options{Threads: -1}, "-1 threads"},
		{"too many threads", Options{Threads: maxThreads + 1}, "65 threads"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dev, err := Open(tc.options)
			if err == nil {
				t.Fatal("opened", dev.Close())
			}
			var ge *gpu.Error
			if !errors.As(err, &ge) || ge.Op != "open host" || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error of opening with %q", err, tc.want)
			}
		})
	}
}

func TestOpenWithoutEmbeddedLibrary(t *testing.T) {
	if _, err := fastDir.ReadFile(fastPath); err == nil {
		t.Skip("this test binary holds the library")
	}
	if _, err := Open(Options{}); !errors.Is(err, errNoLibrary) {
		t.Errorf("got %v, want %v", err, errNoLibrary)
	}
}

// TestLinkRefused checks that both ways to the dynamic linker refuse a cut file and leave nothing behind.
func TestLinkRefused(t *testing.T) {
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for name, how := range map[string]func([]byte) (*library, error){"memory": link, "file": linkFile} {
		if l, err := how(data[:100]); err == nil {
			t.Errorf("%s: linked a cut library as %+v", name, l)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 0 {
		t.Errorf("%v is left behind", left)
	}
}

func TestMemoryIsPlausible(t *testing.T) {
	if got := memory(); got < 64<<20 || got > addressable {
		t.Errorf("got %d bytes", got)
	}
	if Processor() == "" {
		t.Error("the processor has no name")
	}
}
