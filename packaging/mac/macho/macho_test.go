package macho_test

import (
	"bytes"
	"compress/gzip"
	gomacho "debug/macho"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sotto/packaging/mac/macho"
)

func hello(t testing.TB) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "hello.gz"))
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
	return b
}

var libraries = []string{
	"/System/Library/Frameworks/Foundation.framework/Versions/C/Foundation", "/usr/lib/libobjc.A.dylib",
	"/usr/lib/libSystem.B.dylib",
}

func want() macho.Want {
	return macho.Want{
		CPU: gomacho.CpuArm64, Minimum: macho.MakeVersion(14, 0), SDK: macho.MakeVersion(26, 0), Libraries: libraries,
	}
}

func TestRead(t *testing.T) {
	f, err := macho.Read(bytes.NewReader(hello(t)))
	if err != nil {
		t.Fatal(err)
	}
	if faults := f.Faults(want()); len(faults) > 0 {
		t.Errorf("got faults %q, want none", faults)
	}
	if !slices.Equal(f.Libraries, libraries) {
		t.Errorf("got libraries %q, want %q", f.Libraries, libraries)
	}
	wantProtocols := map[string]*macho.Protocol{
		"Base": {Adopts: []string{"NSObject"}, Required: []string{"-greet:"}},
		"Greeting": {
			Adopts: []string{"Base"}, Required: []string{"+reset", "-count"}, Optional: []string{"-greet:with:"},
		},
	}
	for name, p := range wantProtocols {
		if got := f.Protocols[name]; !reflect.DeepEqual(got, p) {
			t.Errorf("protocol %s: got %+v, want %+v", name, got, p)
		}
	}
}

// command returns where the first load command of a kind lies, and its size.
func command(t *testing.T, b []byte, kind uint32) (int, int) {
	t.Helper()
	at := 32
	for range binary.LittleEndian.Uint32(b[16:]) {
		size := int(binary.LittleEndian.Uint32(b[at+4:]))
		if binary.LittleEndian.Uint32(b[at:]) == kind {
			return at, size
		}
		at += size
	}
	t.Fatalf("no load command %#x", kind)
	return 0, 0
}

func TestFaults(t *testing.T) {
	const build, dylib, signature, entry = 0x32, 0xc, 0x1d, 0x80000028
	put := binary.LittleEndian.PutUint32
	patch := func(kind uint32, offset int, v uint32) func(*testing.T, []byte) {
		return func(t *testing.T, b []byte) {
			at, _ := command(t, b, kind)
			put(b[at+offset:], v)
		}
	}
	without := func(flag uint32) func(*testing.T, []byte) {
		return func(_ *testing.T, b []byte) { put(b[24:], binary.LittleEndian.Uint32(b[24:])&^flag) }
	}
	tests := map[string]struct {
		change func(*testing.T, []byte)
		want   string
	}{
		"old SDK":       {patch(build, 16, 12<<16), "linked for the SDK of macOS 12.0, not 26.0"},
		"other minimum": {patch(build, 12, 11<<16|3<<8|1), "asks for macOS 11.3.1, not 14.0"},
		"iOS":           {patch(build, 8, 2), "platform is 2"},
		"no signature":  {patch(signature, 0, 0x29), "not signed"},
		"no start":      {patch(entry, 0, 0x29), "where to start"},
		"a library":     {func(_ *testing.T, b []byte) { put(b[12:], 6) }, "it is no program"},
		"Intel":         {func(_ *testing.T, b []byte) { put(b[4:], 0x01000007) }, "it is for CpuAmd64"},
		"fixed address": {without(0x200000), "position"},
		"flat names":    {without(0x80), "do not name their"},
		"other library": {func(t *testing.T, b []byte) {
			at, _ := command(t, b, dylib)
			copy(b[at+24:], "/opt/Library")
		}, "/opt/Library"},
		"a library twice": {func(t *testing.T, b []byte) {
			at, size := command(t, b, dylib)
			name := b[at+24 : at+size]
			copy(name, append([]byte("/usr/lib/libobjc.A.dylib"), make([]byte, len(name)-24)...))
		}, "loads /usr/lib/libobjc.A.dylib twice"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := hello(t)
			tt.change(t, b)
			f, err := macho.Read(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(f.Faults(want()), "; "); !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestMissingLibrary(t *testing.T) {
	f, err := macho.Read(bytes.NewReader(hello(t)))
	if err != nil {
		t.Fatal(err)
	}
	w := want()
	w.Libraries = append(slices.Clone(libraries), "/usr/lib/libffi.dylib")
	if got := f.Faults(w); len(got) != 1 || !strings.Contains(got[0], "does not load /usr/lib/libffi.dylib") {
		t.Errorf("got %q, want the missing library", got)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, b := range map[string][]byte{
		"empty": nil, "text": []byte(strings.Repeat("text ", 100)), "cut off": hello(t)[:600],
		"32 bits": append([]byte{0xce, 0xfa, 0xed, 0xfe}, make([]byte, 100)...),
	} {
		t.Run(name, func(t *testing.T) {
			if f, err := macho.Read(bytes.NewReader(b)); err == nil {
				t.Errorf("got %+v, want an error", f)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(hello(f))
	f.Fuzz(func(_ *testing.T, b []byte) {
		if m, err := macho.Read(bytes.NewReader(b)); err == nil {
			m.Faults(macho.Want{})
		}
	})
}
