// Package bundle makes Sotto.app of a binary and Info.plist, and checks the finished bundle: what it claims, what it
// loads, what it is sealed with. It runs on any system; it starts nothing and knows nothing of what the program does.
package bundle

import (
	gomacho "debug/macho"
	_ "embed" // for the list of libraries
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sotto/packaging/api"
	"sotto/packaging/mac/icon"
	"sotto/packaging/mac/macho"
	"sotto/packaging/mac/sign"
)

// libraries.txt lists what the binary loads. Who changes the list looks whether each exists on the oldest macOS.
//
//go:embed libraries.txt
var libraryList string

// Write makes the bundle app anew. The binary is not signed yet.
func Write(app, binary, infoPath string) error {
	b, err := os.ReadFile(infoPath)
	if err != nil {
		return err
	}
	info, err := ReadInfo(b)
	if err != nil {
		return err
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	picture, err := icon.File()
	if err != nil {
		return err
	}
	if filepath.Ext(app) != ".app" {
		return fmt.Errorf("%s: a bundle's name ends with .app", app)
	}
	if err := os.RemoveAll(app); err != nil {
		return err
	}
	contents := filepath.Join(app, "Contents")
	for _, f := range []struct {
		name string
		b    []byte
		mode fs.FileMode
	}{
		{infoName, b, 0o644},
		{"PkgInfo", []byte("APPL????"), 0o644},
		{"MacOS/" + info.Executable, program, 0o755},
		{"Resources/" + info.Icon + ".icns", picture, 0o644},
	} {
		path := filepath.Join(contents, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.b, f.mode); err != nil {
			return err
		}
	}
	return nil
}

// InfoOf reads a bundle's Info.plist.
func InfoOf(app string) (Info, error) {
	b, err := os.ReadFile(filepath.Join(app, "Contents", infoName))
	if err != nil {
		return Info{}, err
	}
	return ReadInfo(b)
}

// Check returns what is wrong with a bundle as one error. A linked binary was made by the linker of this source tree,
// rather than Apple's: then its SDK and its libraries are known exactly.
func Check(app string, facts *api.Facts, linked bool) error {
	info, err := InfoOf(app)
	if err != nil {
		return err
	}
	contents := filepath.Join(app, "Contents")
	path := filepath.Join(contents, "MacOS", info.Executable)
	bin, err := os.Open(path)
	if err != nil {
		return err
	}
	defer bin.Close()
	f, err := macho.Read(bin)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	want := macho.Want{CPU: gomacho.CpuArm64, Minimum: macho.MakeVersion(14, 0), SDK: f.SDK}
	var found []string
	if linked {
		want.SDK, want.Libraries = macho.MakeVersion(26, 0), strings.Fields(libraryList)
		found = Protocols(f, facts)
		if err := sign.Verify(app, info.Executable, info.Identifier); err != nil {
			found = append(found, err.Error())
		}
	}
	found = append(found, f.Faults(want)...)
	if st, err := bin.Stat(); err != nil || st.Mode()&0o111 == 0 {
		found = append(found, "the binary cannot be executed")
	}
	if _, err := os.Stat(filepath.Join(contents, "Resources", info.Icon+".icns")); errors.Is(err, fs.ErrNotExist) {
		found = append(found, "the icon is missing")
	}
	if len(found) > 0 {
		return fmt.Errorf("%s: %s", app, strings.Join(found, "; "))
	}
	return nil
}

// Protocols compares the protocols that a binary brings along with the facts: delegates answer nothing that is missing
// from their protocol.
func Protocols(f *macho.File, facts *api.Facts) []string {
	var out []string
	if len(f.Protocols) == 0 {
		return []string{"it brings no protocols along"}
	}
	for name, p := range f.Protocols {
		t := facts.Protocol(name)
		if t == nil {
			continue
		}
		for key, s := range t.Methods {
			list, kind := p.Required, "required"
			if s.Optional() {
				list, kind = p.Optional, "optional"
			}
			if key[1:] != "init" && key[1:] != "new" && !slices.Contains(list, key) {
				out = append(out, fmt.Sprintf("its protocol %s lacks the %s method %s", name, kind, key))
			}
		}
	}
	slices.Sort(out)
	return out
}
