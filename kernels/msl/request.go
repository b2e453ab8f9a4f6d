package msl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Where the products go, from the root of the tree.
const (
	exactLibrary = "build/kernels/exact.so"
	fastLibrary  = "engine/gpu/host/lib/fast/sotto.so"
)

// Request is one call of the build command.
type Request struct {
	What string // "host-exact", "host-fast" or "all"
	Root string // root of the source tree
	Only string // one source; empty: all sources
	Out  string // instead of the usual place
	Jobs int

	KeepGoing bool // build libraries without the sources that do not compile

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
	}
	if r.What == "all" {
		return errors.Join(steps["host-exact"](), steps["host-fast"]())
	}
	step, ok := steps[r.What]
	if !ok {
		return fmt.Errorf("mslbuild: %q is none of host-exact, host-fast, all", r.What)
	}
	return step()
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
