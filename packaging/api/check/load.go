package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Source says what to check.
type Source struct {
	Dir      string   // of the module
	Flags    []string // of go list, as -modfile=...
	Patterns []string // packages
}

// program is the code of our packages and of all that they import, as a compiler for macOS on arm64 sees it.
type program struct {
	fset     *token.FileSet
	packages map[string]*pkg
	own      []*pkg // in the order in which they depend on each other
	errors   []string
}

// pkg is a package.
type pkg struct {
	path  string
	files []*ast.File
	types *types.Package
	info  *types.Info // of our packages and darwinkit's; else nil
}

// listed is what go list says of a package.
type listed struct {
	Dir, ImportPath   string
	GoFiles, CgoFiles []string
	ImportMap         map[string]string
	DepOnly           bool
	Module            *struct{ GoVersion string }
	Error             *struct{ Err string }
}

// load lists, parses and type-checks. It compiles nothing and needs no C compiler: what comes from C has no type.
func load(ctx context.Context, s Source) (*program, error) {
	args := append([]string{"list", "-e", "-deps"}, s.Flags...)
	args = append(args, "-json=Dir,ImportPath,GoFiles,CgoFiles,ImportMap,DepOnly,Module,Error")
	cmd := exec.CommandContext(ctx, "go", append(args, s.Patterns...)...)
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), "GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &program{fset: token.NewFileSet(), packages: map[string]*pkg{}}
	for dec := json.NewDecoder(out); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		p.add(l)
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	if len(p.own) == 0 {
		return nil, fmt.Errorf("go list: no packages match %v", s.Patterns)
	}
	return p, nil
}

// add type-checks a package; those that it imports have been added.
func (p *program) add(l listed) {
	if l.ImportPath == "unsafe" {
		return
	}
	ours := !l.DepOnly
	report := func(err error) {
		if ours {
			p.errors = append(p.errors, err.Error())
		}
	}
	if l.Error != nil {
		report(errors.New(strings.TrimSpace(l.Error.Err)))
	}
	names := append(l.GoFiles, l.CgoFiles...)
	q := &pkg{path: l.ImportPath, files: p.parse(l.Dir, names, report)}
	if ours || strings.HasPrefix(l.ImportPath, darwinkit+"/") {
		q.info = &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
			Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
			Instances: map[*ast.Ident]types.Instance{},
		}
	}
	conf := types.Config{
		FakeImportC: true, IgnoreFuncBodies: q.info == nil, Error: report,
		Importer: importer{l.ImportMap, p.packages}, Sizes: types.SizesFor("gc", "arm64"),
	}
	if l.Module != nil && l.Module.GoVersion != "" {
		conf.GoVersion = "go" + l.Module.GoVersion
	}
	q.types, _ = conf.Check(l.ImportPath, p.fset, q.files, q.info) // errors went to report
	p.packages[l.ImportPath] = q
	if ours {
		p.own = append(p.own, q)
	}
}

func (p *program) parse(dir string, names []string, report func(error)) []*ast.File {
	files, errs := make([]*ast.File, len(names)), make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		wg.Go(func() { files[i], errs[i] = parser.ParseFile(p.fset, name, nil, parser.SkipObjectResolution) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			report(err)
		}
	}
	return files
}

// importer finds packages that were added.
type importer struct {
	renamed  map[string]string
	packages map[string]*pkg
}

// Import returns a package by the path in an import line.
func (i importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if to, ok := i.renamed[path]; ok {
		path = to
	}
	if p := i.packages[path]; p != nil {
		return p.types, nil
	}
	return nil, fmt.Errorf("package %s is not there", path)
}
