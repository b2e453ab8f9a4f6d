package msl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	Out  string // instead of the usual place
	Jobs int

	KeepGoing bool   // build libraries without the sources that do not compile
	PTXAS     string // assemble the PTX with this and report to Out

	Report io.Writer // receives the table of PTXAS

	Log func(format string, args ...any)
}

// Build makes what the request asks for.
func Build(ctx context.Context, tool *Toolchain, r Request) error {
	root, err := filepath.Abs(r.Root)
	if err != nil {
		return err
	}
	b := &Builder{Tool: tool, Kernels: filepath.Join(root, "kernels"), Cache: filepath.Join(root, "build", "cache"),
		Jobs: r.Jobs, KeepGoing: r.KeepGoing, Log: r.Log}
	if err := os.MkdirAll(b.Cache, 0o755); err != nil {
		return err
	}
	files := []string{r.Only}
	if r.Only == "" {
		if files, err = b.Sources(); err != nil {
			return err
		}
	}
	steps := map[string]func() error{
		"host-exact": func() error { return b.Library(ctx, HostExact, files, r.place(root, exactLibrary)) },
		"host-fast":  func() error { return b.Library(ctx, HostFast, files, r.place(root, fastLibrary)) },
		"strict":     func() error { return b.Check(ctx, files) },
		"ptx":        func() error { return r.ptx(ctx, b, files, filepath.Join(root, ptxFolder)) },
	}
	order := []string{"strict", "host-exact", "host-fast", "ptx"}
	if r.What != "all" {
		if steps[r.What] == nil {
			return fmt.Errorf("mslbuild: %q is none of %s, all", r.What, strings.Join(order, ", "))
		}
		order = []string{r.What}
	}
	var errs []error
	for _, name := range order {
		if err := steps[name](); err != nil {
			errs = append(errs, fmt.Errorf("%s:\n%w", name, err))
		}
	}
	return errors.Join(errs...)
}

// ptx compiles to PTX and, when asked, assembles it and reports.
func (r Request) ptx(ctx context.Context, b *Builder, files []string, folder string) error {
	paths, err := b.PTX(ctx, files, folder)
	if err != nil || r.PTXAS == "" {
		return err
	}
	used := make([][]Usage, len(paths))
	err = b.each(paths, func(i int, path string) (err error) {
		used[i], err = PTXAS(ctx, r.PTXAS, path)
		return err
	})
	fmt.Fprintf(r.Report, "%-40s %9s %7s %7s %7s\n", "kernel", "registers", "spilled", "stack", "shared")
	for _, file := range used {
		for _, u := range file {
			fmt.Fprintf(r.Report, "%-40s %9d %7d %7d %7d\n", u.Name, u.Registers, u.Spill, u.Stack, u.Shared)
		}
	}
	return err
}

// place is where a library goes: one source alone gets a library of its own.
func (r Request) place(root, usual string) string {
	switch {
	case r.Out != "":
		return r.Out
	case r.Only != "":
		name := strings.TrimSuffix(r.Only, ".metal") + "-" + strings.TrimSuffix(filepath.Base(usual), ".so") + ".so"
		return filepath.Join(root, "build", "kernels", name)
	}
	return filepath.Join(root, usual)
}
