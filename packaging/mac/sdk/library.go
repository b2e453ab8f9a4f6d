package sdk

import (
	"bufio"
	_ "embed" // for the list of symbols
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed symbols.txt
var symbolList string

const systemLibrary = "/usr/lib/libSystem.B.dylib"

// library is one that the program loads.
type library struct {
	framework bool
	name      string // as the linker is told it
	install   string // where macOS keeps it
	version   string // oldest version that will do
	symbols   []string
	classes   []string
	reexports []string
}

// files returns the paths of the library's stub: by the name that the linker is told and by the one it is installed as.
func (l *library) files() []string {
	if l.framework {
		return []string{"Frameworks/" + l.name + ".framework/" + l.name + ".tbd"}
	}
	installed := "lib/" + strings.TrimSuffix(filepath.Base(l.install), ".dylib") + ".tbd"
	return slices.Compact([]string{"lib/lib" + l.name + ".tbd", installed})
}

// stub returns the library's .tbd file.
func (l *library) stub() []byte {
	const targets = "[ x86_64-macos, arm64-macos ]"
	var b strings.Builder
	fmt.Fprintf(&b, "--- !tapi-tbd\ntbd-version: 4\ntargets: %s\ninstall-name: '%s'\n", targets, l.install)
	fmt.Fprintf(&b, "current-version: %s\ncompatibility-version: %s\n", l.version, l.version)
	list := func(key string, names []string) {
		if len(names) > 0 {
			sorted := slices.Compact(slices.Sorted(slices.Values(names)))
			fmt.Fprintf(&b, "    %s: [ %s ]\n", key, strings.Join(sorted, ", "))
		}
	}
	if len(l.reexports) > 0 {
		fmt.Fprintf(&b, "reexported-libraries:\n  - targets: %s\n", targets)
		list("libraries", l.reexports)
	}
	if len(l.symbols)+len(l.classes) > 0 {
		fmt.Fprintf(&b, "exports:\n  - targets: %s\n", targets)
		list("symbols", l.symbols)
		list("objc-classes", l.classes)
	}
	return []byte(b.String() + "...\n")
}

// readLibraries puts together what darwinkit, Go's packages and symbols.txt name.
func readLibraries(s Sources) ([]*library, error) {
	listed, err := parseSymbols(symbolList)
	if err != nil {
		return nil, err
	}
	byInstall := map[string]*library{}
	for _, l := range listed {
		byInstall[l.install] = l
	}
	add := func(install string) *library {
		if byInstall[install] == nil {
			name := filepath.Base(install)
			byInstall[install] = &library{framework: true, name: name, install: install, version: "1.0.0"}
		}
		return byInstall[install]
	}
	names, err := frameworks(s.Darwinkit)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if !slices.ContainsFunc(listed, func(l *library) bool { return l.framework && l.name == n }) {
			add(frameworkPath(n, "A"))
		}
	}
	imports, err := goImports(filepath.Join(s.GoRoot, "src"))
	if err != nil {
		return nil, err
	}
	for _, i := range imports {
		l := add(i.library)
		l.symbols = append(l.symbols, "_"+i.symbol)
	}
	out := make([]*library, 0, len(byInstall))
	for _, l := range byInstall {
		out = append(out, l)
	}
	return out, nil
}

func frameworkPath(name, version string) string {
	return "/System/Library/Frameworks/" + name + ".framework/Versions/" + version + "/" + name
}

// parseSymbols reads symbols.txt.
func parseSymbols(text string) ([]*library, error) {
	var out []*library
	line := 0
	for sc := bufio.NewScanner(strings.NewReader(text)); sc.Scan(); {
		line++
		w := strings.Fields(sc.Text())
		switch {
		case len(w) == 0 || w[0] == "#" || w[0][0] == '#':
		case w[0] == "library" && len(w) == 4:
			out = append(out, &library{name: w[1], install: w[2], version: w[3]})
		case w[0] == "framework" && len(w) == 4:
			out = append(out, &library{framework: true, name: w[1], install: frameworkPath(w[1], w[2]), version: w[3]})
		case len(out) == 0 || w[0] == "library" || w[0] == "framework":
			return nil, fmt.Errorf("symbols.txt:%d: %q is not understood", line, sc.Text())
		case w[0] == "class":
			out[len(out)-1].classes = append(out[len(out)-1].classes, w[1:]...)
		case w[0] == "reexports":
			out[len(out)-1].reexports = append(out[len(out)-1].reexports, w[1:]...)
		default:
			for _, s := range w {
				out[len(out)-1].symbols = append(out[len(out)-1].symbols, "_"+s)
			}
		}
	}
	return out, nil
}

// goImport is a function that one of Go's own packages takes from a library.
type goImport struct{ symbol, library string }

var importPragma = regexp.MustCompile(`(?m)^//go:cgo_import_dynamic \w+ (\w+) "(/[^"]+)"$`)

// goImports reads what Go's packages take from other libraries than libSystem.
func goImports(src string) ([]goImport, error) {
	var out []goImport
	err := filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "testdata" || path == filepath.Join(src, "cmd") {
				return filepath.SkipDir
			}
			return nil
		}
		forMac := strings.Contains(d.Name(), "darwin") || filepath.Base(filepath.Dir(path)) == "macos"
		if filepath.Ext(path) != ".go" || !forMac {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range importPragma.FindAllSubmatch(b, -1) {
			if l := string(m[2]); l != systemLibrary {
				out = append(out, goImport{string(m[1]), l})
			}
		}
		return nil
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("%s: none of Go's packages for macOS takes anything from a library", src)
	}
	return out, err
}
