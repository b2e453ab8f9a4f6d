package docs_test

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module   = "sotto"
	goLines  = 600
	mslLines = 400
)

// outside lists modules that only some folders may import, by prefix of the import path.
var outside = map[string][]string{
	"github.com/progrium/darwinkit":  {"ui"},
	"github.com/ebitengine/purego":   {"engine/gpu/host", "engine/gpu/cuda", "engine/gpu/metal", "kernels/msl"},
	"go.etcd.io/bbolt":               {"app/store"},
	"github.com/ardanlabs/jinja":     {"engine/prompt"},
	"github.com/spf13/cobra":         {"cmd/sotto"},
	"github.com/yuin/goldmark":       {"app/screen"},
	"github.com/adrg/xdg":            {"app", "cmd/sotto"},
	"net/http":                       {"app/server", "packaging/linux-rig/uitest"},
	"C":                              {"ui"},
	"github.com/openai/openai-go/v3": {"app/server"},
}

// long lists files that may pass the size budget, with the reason.
var long = map[string]string{}

// table reads the fenced block of docs/architecture.md that opens with the given info string.
func table(t *testing.T, info string) map[string][]string {
	t.Helper()
	b, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "```"+info+"\n")
	if !ok {
		t.Fatalf("architecture.md: no block %q", info)
	}
	block, _, _ := strings.Cut(rest, "```")
	out := map[string][]string{}
	for line := range strings.Lines(block) {
		folder, list, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			t.Fatalf("architecture.md: line %q has no colon", line)
		}
		out[folder] = strings.Fields(list)
	}
	return out
}

// source is one Go file of the tree.
type source struct {
	path, folder string // slashes, relative to the module root
	test         bool
	file         *ast.File
}

// sources parses every Go file, whatever system it is for, without testdata and generated trees.
func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	walk(t, func(path string) {
		if !strings.HasSuffix(path, ".go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", path), nil,
			parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, source{path, filepath.ToSlash(filepath.Dir(path)), strings.HasSuffix(path, "_test.go"), f})
	})
	if len(out) < 20 {
		t.Fatalf("found %d Go files: the walk is broken", len(out))
	}
	return out
}

func walk(t *testing.T, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir("..", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "testdata" || name == "build" || name == "bin" || len(name) > 2 && name[0] == '.') {
			return filepath.SkipDir
		}
		if !d.IsDir() {
			rel, err := filepath.Rel("..", p)
			if err != nil {
				return err
			}
			visit(filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImports(t *testing.T) {
	allowed, tests := table(t, "imports"), table(t, "test imports")
	seen := map[string]bool{}
	for _, s := range sources(t) {
		seen[s.folder] = true
		rule, ok := allowed[s.folder]
		if !ok {
			t.Errorf("%s: folder %s is not in the import table", s.path, s.folder)
			continue
		}
		if s.test {
			rule = append(slices.Clone(rule), append(tests[s.folder], s.folder)...)
		}
		for _, im := range s.file.Imports {
			path, err := strconv.Unquote(im.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if own, ok := strings.CutPrefix(path, module+"/"); ok && !slices.Contains(rule, own) {
				t.Errorf("%s imports %s: not allowed for %s", s.path, own, s.folder)
			}
			checkOutside(t, s, path)
		}
	}
	for folder := range allowed {
		if !seen[folder] {
			t.Errorf("import table: folder %s has no Go file", folder)
		}
	}
}

func TestOutsideNamesFolders(t *testing.T) {
	for prefix, folders := range outside {
		for _, f := range folders {
			if info, err := os.Stat(filepath.Join("..", filepath.FromSlash(f))); err != nil || !info.IsDir() {
				t.Errorf("%s may be imported by %s, which is no folder", prefix, f)
			}
		}
	}
}

func checkOutside(t *testing.T, s source, path string) {
	t.Helper()
	for prefix, folders := range outside {
		if path != prefix && !strings.HasPrefix(path, prefix+"/") {
			continue
		}
		inside := func(f string) bool { return s.folder == f || strings.HasPrefix(s.folder, f+"/") }
		if !slices.ContainsFunc(folders, inside) {
			t.Errorf("%s imports %s: only %v may", s.path, path, folders)
		}
	}
}

func TestPackageComments(t *testing.T) {
	docs, packages := map[string]int{}, map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		packages[s.folder] = true
		if s.file.Doc != nil {
			docs[s.folder]++
		}
	}
	for folder := range packages {
		if docs[folder] != 1 {
			t.Errorf("%s: %d files carry the package comment, want 1", folder, docs[folder])
		}
	}
}

func TestFileSizes(t *testing.T) {
	walk(t, func(path string) {
		limit := map[string]int{".go": goLines, ".metal": mslLines, ".h": mslLines}[filepath.Ext(path)]
		if limit == 0 || path == "kernels/params.h" {
			return
		}
		f, err := os.Open(filepath.Join("..", path))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		n := 0
		for sc := bufio.NewScanner(f); sc.Scan(); n++ {
		}
		if _, ok := long[path]; n > limit && !ok {
			t.Errorf("%s: %d lines, limit %d", path, n, limit)
		}
	})
}

func TestTopLevel(t *testing.T) {
	want := []string{
		"app", "engine", "kernels", "ui", "assets", "packaging", "go.mod", "go.sum", "Info.plist", "Makefile",
		"cmd", "docs", "README.md", "build", "bin",
	}
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name()[0] != '.' && !slices.Contains(want, e.Name()) {
			t.Errorf("%s at the top level: not one of %v", e.Name(), want)
		}
	}
}
