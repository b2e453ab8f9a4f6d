package msl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Where the products go, from the root of the tree.
const (
	exactLibrary = "build/kernels/exact.so"
	fastLibrary  = "engine/gpu/host/lib/fast/sotto.so"
	ptxFolder    = "build/kernels"
)

// Request is one call of the build command.
type Request struct {
	What string // "host-exact", "host-fast", "strict", "ptx" or "all"
	Root string // root of the source tree
	Only string // one source; empty: all sources
	Out  string // instead of a library's usual place
	Jobs int    // compilations at a time

	KeepGoing bool   // build libraries without the sources that do not compile
	Stamp     string // what libraries say of what they were built from
	PTXAS     string // with "ptx": assemble with this program and report

	Report io.Writer // receives the table of what kernels use
	Log    func(format string, args ...any)
}

// steps are the products in the order of "all".
var steps = []struct {
	name string
	do   func(ctx context.Context, b *Builder, r Request, files []string) error
}{
	{"strict", func(ctx context.Context, b *Builder, _ Request, files []string) error { return b.Check(ctx, files) }},
	{"host-exact", func(ctx context.Context, b *Builder, r Request, files []string) error {
		return b.Library(ctx, HostExact, files, r.place(exactLibrary))
	}},
	{"host-fast", func(ctx context.Context, b *Builder, r Request, files []string) error {
		return b.Library(ctx, HostFast, files, r.place(fastLibrary))
	}},
	{"ptx", func(ctx context.Context, b *Builder, r Request, files []string) error { return r.ptx(ctx, b, files) }},
}

// Builds reports whether [Build] knows the product.
func Builds(what string) bool {
	for _, s := range steps {
		if s.name == what {
			return true
		}
	}
	return what == "all"
}

// Build makes what the request asks for. An error names every source that is refused, with the place.
func Build(ctx context.Context, tool *Toolchain, r Request) error {
	root, err := filepath.Abs(r.Root)
	if err != nil {
		return err
	}
	r.Root = root
	b := &Builder{
		Tool: tool, Kernels: filepath.Join(root, "kernels"), Cache: filepath.Join(root, "build", "cache"),
		Jobs: r.Jobs, KeepGoing: r.KeepGoing, Stamp: r.Stamp, Log: r.Log,
	}
	if err := os.MkdirAll(b.Cache, 0o755); err != nil {
		return err
	}
	files := []string{r.Only}
	if r.Only == "" {
		if files, err = b.Sources(); err != nil {
			return err
		}
	}
	var errs []error
	for _, s := range steps {
		if r.What != s.name && r.What != "all" {
			continue
		}
		if err := s.do(ctx, b, r, files); err != nil {
			errs = append(errs, fmt.Errorf("%w\n%s failed", err, s.name))
		}
	}
	return errors.Join(errs...)
}

// ptx compiles to PTX and, when asked, assembles it and reports by name.
func (r Request) ptx(ctx context.Context, b *Builder, files []string) error {
	paths, err := b.PTX(ctx, files, filepath.Join(r.Root, ptxFolder))
	if err != nil || r.PTXAS == "" {
		return err
	}
	used := make([][]Usage, len(paths))
	err = b.each(paths, func(i int, path string) (err error) {
		used[i], err = PTXAS(ctx, r.PTXAS, path)
		return err
	})
	all := slices.Concat(used...)
	slices.SortFunc(all, func(x, y Usage) int { return strings.Compare(x.Name, y.Name) })
	fmt.Fprintf(r.Report, "%-40s %9s %7s %7s %7s\n", "kernel", "registers", "spilled", "stack", "shared")
	for _, u := range all {
		fmt.Fprintf(r.Report, "%-40s %9d %7d %7d %7d\n", u.Name, u.Registers, u.Spill, u.Stack, u.Shared)
	}
	return err
}

// place is where a library goes: one source alone gets a library of its own.
func (r Request) place(usual string) string {
	switch {
	case r.Out != "":
		return r.Out
	case r.Only != "":
		name := strings.TrimSuffix(r.Only, ".metal") + "-" + strings.TrimSuffix(filepath.Base(usual), ".so") + ".so"
		return filepath.Join(r.Root, "build", "kernels", name)
	}
	return filepath.Join(r.Root, usual)
}
