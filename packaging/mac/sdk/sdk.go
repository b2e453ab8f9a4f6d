// Package sdk writes what the linker and the C compiler need of macOS in order to build Sotto for it on another system:
// a text stub (.tbd) for every library, with the few symbols that are used, and headers in which the protocols that
// darwinkit asks for are declared. It replaces Apple's SDK for this one program and nothing else; libc's headers and
// libSystem's stub come from elsewhere.
//
// Protocols and their methods come from the API facts. A protocol that the facts do not know is declared empty: the
// program may name it, but objects that adopt it answer nothing. On a Mac the frameworks' own protocols are used.
package sdk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"sotto/packaging/api"
)

// Sources are where the facts come from.
type Sources struct {
	Facts     *api.Facts
	Darwinkit string // folder of darwinkit's sources
	GoRoot    string
}

// Write writes include, Frameworks and lib under the folder out. Files that are right already are left alone; what does
// not belong there is removed.
func Write(out string, s Sources) error {
	files := map[string][]byte{}
	libraries, err := readLibraries(s)
	if err != nil {
		return err
	}
	for _, l := range libraries {
		for _, name := range l.files() {
			files[name] = l.stub()
		}
	}
	protocols, includes, err := darwinkitProtocols(s.Darwinkit)
	if err != nil {
		return err
	}
	files["include/protocols.h"] = Header(s.Facts, protocols)
	for _, part := range []string{"NSArray", "NSData", "NSDictionary", "NSObject", "NSString"} {
		includes = append(includes, "Foundation/"+part+".h") // darwinkit imports these by themselves
	}
	for _, name := range includes {
		if name != "Foundation/Foundation.h" {
			files["include/"+name] = []byte("#import <Foundation/Foundation.h>\n")
		}
	}
	return replace(out, files)
}

var (
	importLine   = regexp.MustCompile(`(?m)^#import "([\w/.]+)"`)
	protocolUse  = regexp.MustCompile(`@protocol\((\w+)\)`)
	frameworkUse = regexp.MustCompile(`-framework (\w+)`)
	cgoLine      = regexp.MustCompile(`(?m)^// #cgo LDFLAGS:.*$`)
)

// darwinkitProtocols returns the protocols that darwinkit asks the compiler for and the headers where it expects them.
func darwinkitProtocols(dir string) (protocols, includes []string, err error) {
	sources, err := filepath.Glob(filepath.Join(dir, "macos", "*", "protocols.gen.m"))
	if err != nil {
		return nil, nil, err
	}
	if len(sources) == 0 {
		return nil, nil, fmt.Errorf("%s: no protocols.gen.m of darwinkit", dir)
	}
	for _, name := range sources {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, nil, err
		}
		for _, m := range importLine.FindAllSubmatch(b, -1) {
			includes = append(includes, string(m[1]))
		}
		for _, m := range protocolUse.FindAllSubmatch(b, -1) {
			protocols = append(protocols, string(m[1]))
		}
	}
	slices.Sort(protocols)
	return slices.Compact(protocols), includes, nil
}

// frameworks returns the frameworks that darwinkit's cgo lines name.
func frameworks(dir string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, line := range cgoLine.FindAll(b, -1) {
			for _, m := range frameworkUse.FindAllSubmatch(line, -1) {
				out = append(out, string(m[1]))
			}
		}
		return nil
	})
	slices.Sort(out)
	return slices.Compact(out), err
}

// replace makes the folder hold the files and nothing else.
func replace(out string, files map[string][]byte) error {
	err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(out, path)
		if err != nil {
			return err
		}
		if _, ok := files[filepath.ToSlash(rel)]; !ok {
			return os.Remove(path)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for name, want := range files {
		path := filepath.Join(out, filepath.FromSlash(name))
		if got, err := os.ReadFile(path); err == nil && bytes.Equal(got, want) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			return err
		}
	}
	return nil
}
