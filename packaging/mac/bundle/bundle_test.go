package bundle_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/packaging/api"
	"sotto/packaging/mac/bundle"
	"sotto/packaging/mac/macho"
	"sotto/packaging/mac/sign"
)

// hello writes a small program for macOS and returns its path.
func hello(t *testing.T) string {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "macho", "testdata", "hello.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hello")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func facts(t *testing.T) *api.Facts {
	t.Helper()
	f, err := api.Load()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestWrite(t *testing.T) {
	app := filepath.Join(t.TempDir(), "Sotto.app")
	if err := bundle.Write(app, hello(t), filepath.Join("..", "..", "..", "Info.plist")); err != nil {
		t.Fatal(err)
	}
	info, err := bundle.InfoOf(app)
	if err != nil {
		t.Fatal(err)
	}
	if err := sign.Bundle(app, info.Executable, info.Identifier); err != nil {
		t.Fatal(err)
	}
	if err := bundle.Check(app, facts(t), false); err != nil {
		t.Errorf("as made on a Mac: %v", err)
	}
	err = bundle.Check(app, facts(t), true)
	if err == nil || !strings.Contains(err.Error(), "does not load /System/Library/Frameworks/AppKit.framework") {
		t.Errorf("got %v, want the libraries missed that Sotto loads and this program does not", err)
	}
	if err := os.Chmod(filepath.Join(app, "Contents", "MacOS", "Sotto"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(app, "Contents", "Resources", "Sotto.icns")); err != nil {
		t.Fatal(err)
	}
	err = bundle.Check(app, facts(t), true)
	for _, want := range []string{"cannot be executed", "the icon is missing", "not those that were sealed"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "Info.plist")
	const text = `<?xml version="1.0"?><plist version="1.0"><dict></plist>`
	if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	app := filepath.Join(t.TempDir(), "Sotto.app")
	if err := bundle.Write(app, hello(t), bad); err == nil || !strings.Contains(err.Error(), "Info.plist: line 1") {
		t.Errorf("got %v, want the broken Info.plist refused", err)
	}
	if _, err := os.Stat(app); err == nil {
		t.Error("a bundle was made all the same")
	}
	keep := t.TempDir()
	if err := bundle.Write(keep, hello(t), filepath.Join("..", "..", "..", "Info.plist")); err == nil {
		t.Error("a folder that is no bundle is replaced")
	}
}

// TestProtocols takes a method out of a binary's protocol.
func TestProtocols(t *testing.T) {
	f := facts(t)
	whole := func() *macho.File {
		p := &macho.Protocol{}
		for key, s := range f.Protocol("NSMenuDelegate").Methods {
			if s.Optional() {
				p.Optional = append(p.Optional, key)
			} else {
				p.Required = append(p.Required, key)
			}
		}
		return &macho.File{Protocols: map[string]*macho.Protocol{"NSMenuDelegate": p, "Ours": {}}}
	}
	if got := bundle.Protocols(whole(), f); len(got) > 0 {
		t.Errorf("got %q, want nothing", got)
	}
	cut := whole()
	lost := cut.Protocols["NSMenuDelegate"].Optional[0]
	cut.Protocols["NSMenuDelegate"].Optional = cut.Protocols["NSMenuDelegate"].Optional[1:]
	got := bundle.Protocols(cut, f)
	if len(got) != 1 || !strings.Contains(got[0], "NSMenuDelegate lacks the optional method "+lost) {
		t.Errorf("got %q, want %s missed", got, lost)
	}
	if got := bundle.Protocols(&macho.File{}, f); len(got) != 1 {
		t.Errorf("a binary without protocols: got %q", got)
	}
}
