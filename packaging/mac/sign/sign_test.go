package sign_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sotto/packaging/mac/plist"
	"sotto/packaging/mac/sign"
)

const identifier = "app.sotto.Test"

// makeBundle makes an unsigned bundle and returns it.
func makeBundle(t *testing.T) string {
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
	program, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	app := filepath.Join(t.TempDir(), "Test.app")
	for name, b := range map[string][]byte{
		"Info.plist": []byte("<plist/>"), "MacOS/Test": program, "Resources/a & b": []byte("a"),
		"Resources/sub/c": []byte("c"), "Resources/.DS_Store": []byte("d"),
	} {
		path := filepath.Join(app, "Contents", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return app
}

func TestBundle(t *testing.T) {
	app := makeBundle(t)
	if err := sign.Bundle(app, "Test", identifier); err != nil {
		t.Fatal(err)
	}
	if err := sign.Verify(app, "Test", identifier); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(app, "Contents", "MacOS", "Test")
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := sign.Bundle(app, "Test", identifier); err != nil {
		t.Fatal(err)
	}
	if second, err := os.ReadFile(path); err != nil || !bytes.Equal(first, second) {
		t.Errorf("signed again the binary differs (%v)", err)
	}
	b, err := os.ReadFile(filepath.Join(app, "Contents", "_CodeSignature", "CodeResources"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := plist.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	files, _ := v.(map[string]any)["files2"].(map[string]any)
	if len(files) != 2 || files["Resources/a & b"] == nil || files["Resources/sub/c"] == nil {
		t.Errorf("sealed %v, want the two files that are not the Finder's", files)
	}
}

func TestVerifyRefuses(t *testing.T) {
	write := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, contents string) {
			if err := os.WriteFile(filepath.Join(contents, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	flip := func(offset int) func(*testing.T, string) {
		return func(t *testing.T, contents string) {
			path := filepath.Join(contents, "MacOS", "Test")
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b[offset] ^= 1
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := map[string]struct {
		change func(*testing.T, string)
		want   string
	}{
		"changed file":   {write("Resources/sub/c", "x"), "not those that were sealed"},
		"added file":     {write("Resources/new", "x"), "not those that were sealed"},
		"changed plist":  {write("Info.plist", "x"), "Info.plist was changed"},
		"changed seal":   {write("_CodeSignature/CodeResources", "x"), "not those that were sealed"},
		"changed binary": {flip(17000), "changed after signing, near 0x4000"},
		"no Mach-O":      {write("MacOS/Test", "x"), "not a thin"},
		"magic":          {flip(0), "not a thin"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			app := makeBundle(t)
			if err := sign.Bundle(app, "Test", identifier); err != nil {
				t.Fatal(err)
			}
			tt.change(t, filepath.Join(app, "Contents"))
			if err := sign.Verify(app, "Test", identifier); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	t.Run("other name", func(t *testing.T) {
		app := makeBundle(t)
		if err := sign.Bundle(app, "Test", identifier); err != nil {
			t.Fatal(err)
		}
		if err := sign.Verify(app, "Test", "app.other"); err == nil || !strings.Contains(err.Error(), "signed as") {
			t.Errorf("got %v, want the other name refused", err)
		}
	})
}

// TestUnsigned signs a binary whose signature's load command was taken out: there is room for it.
func TestUnsigned(t *testing.T) {
	app := makeBundle(t)
	path := filepath.Join(app, "Contents", "MacOS", "Test")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	at, last := 32, 0
	for range le.Uint32(b[16:]) {
		last = at
		at += int(le.Uint32(b[at+4:]))
	}
	if le.Uint32(b[last:]) != 0x1d {
		t.Fatal("the signature is not the last load command")
	}
	b = b[:le.Uint32(b[last+8:])]
	le.PutUint32(b[16:], le.Uint32(b[16:])-1)
	le.PutUint32(b[20:], le.Uint32(b[20:])-16)
	clear(b[last:at])
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sign.Verify(app, "Test", identifier); err == nil {
		t.Error("an unsigned bundle passes")
	}
	if err := sign.Bundle(app, "Test", identifier); err != nil {
		t.Fatal(err)
	}
	if err := sign.Verify(app, "Test", identifier); err != nil {
		t.Error(err)
	}
}

func TestBundleRefuses(t *testing.T) {
	app := makeBundle(t)
	if err := os.Symlink("a & b", filepath.Join(app, "Contents", "Resources", "link")); err != nil {
		t.Fatal(err)
	}
	if err := sign.Bundle(app, "Test", identifier); err == nil || !strings.Contains(err.Error(), "no plain file") {
		t.Errorf("got %v, want the link refused", err)
	}
}
