package plist_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sotto/packaging/mac/plist"
)

const (
	head = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
`
	tail = "\n</plist>\n"
)

func TestDecode(t *testing.T) {
	tests := map[string]struct {
		text string
		want any
	}{
		"scalars": {
			"<array><string>a &amp; b</string><integer>-3</integer><integer>0x10</integer><real>1.5</real><true/>" +
				"<false/><data>AQ I=\n</data><string></string></array>",
			[]any{"a & b", int64(-3), int64(16), 1.5, true, false, []byte{1, 2}, ""},
		},
		"dict": {
			"<dict><key>a</key><string>b</string><!-- c --><key>d</key><dict/></dict>",
			map[string]any{"a": "b", "d": map[string]any{}},
		},
		"nothing": {"<array/>", []any{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := plist.Decode([]byte(head + tt.text + tail))
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %#v, %v, want %#v", got, err, tt.want)
			}
		})
	}
}

// broken are files that must be refused; Python's reader refuses those without "lenient" too.
var broken = map[string]string{
	"no header lenient":       `<plist version="1.0"><dict/></plist>`,
	"no end":                  head + "<dict>",
	"crossed":                 head + "<dict><key>a</dict></key>" + tail,
	"key without value":       head + "<dict><key>a</key></dict>" + tail,
	"value without key":       head + "<dict><string>a</string></dict>" + tail,
	"two values lenient":      head + "<dict/><dict/>" + tail,
	"no value lenient":        head + tail,
	"stray text lenient":      head + "<dict>a</dict>" + tail,
	"key twice lenient":       head + "<dict><key>a</key><true/><key>a</key><true/></dict>" + tail,
	"unknown element":         head + "<dict><key>a</key><text>b</text></dict>" + tail,
	"element in text lenient": head + "<string>a<b/></string>" + tail,
	"bad integer":             head + "<integer>3x</integer>" + tail,
	"bad data lenient":        head + "<data>!</data>" + tail,
	"bad date":                head + "<date>now</date>" + tail,
	"attribute lenient":       head + `<dict a="b"/>` + tail,
	"bare ampersand":          head + "<string>a & b</string>" + tail,
	"unknown entity lenient":  head + "<string>&nbsp;</string>" + tail,
	"full bool lenient":       head + "<true>a</true>" + tail,
	"other version lenient":   `<?xml version="1.0"?><plist version="2.0"><dict/></plist>`,
	"more after lenient":      head + "<dict/>" + tail + "<dict/>",
	"too deep lenient":        head + strings.Repeat("<array>", 100) + strings.Repeat("</array>", 100) + tail,
}

func TestDecodeRefuses(t *testing.T) {
	for name, text := range broken {
		t.Run(name, func(t *testing.T) {
			if v, err := plist.Decode([]byte(text)); err == nil {
				t.Errorf("got %#v, want an error", v)
			}
		})
	}
}

// TestAgainstPython holds this reader against an independent one.
func TestAgainstPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	dir := t.TempDir()
	for name, text := range broken {
		if strings.Contains(name, "lenient") {
			continue
		}
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const script = `
import pathlib, plistlib, sys
for p in pathlib.Path(sys.argv[1]).iterdir():
    try: print(p.name, plistlib.loads(p.read_bytes(), fmt=plistlib.FMT_XML))
    except Exception: pass
`
	out, err := exec.CommandContext(t.Context(), python, "-c", script, dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(out) > 0 {
		t.Errorf("Python reads what it was thought to refuse:\n%s", out)
	}
}

func FuzzDecode(f *testing.F) {
	for _, text := range broken {
		f.Add([]byte(text))
	}
	f.Add([]byte(head + "<dict><key>a</key><array><string>b</string></array></dict>" + tail))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := plist.Decode(b); err == nil && v == nil {
			t.Error("neither a value nor an error")
		}
	})
}
