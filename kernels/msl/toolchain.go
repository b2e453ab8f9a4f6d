package msl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrNoCompiler is returned when no clang passes the probe.
var ErrNoCompiler = errors.New("no clang 17 or newer with lld that compiles for x86-64-v3 " +
	"(on Debian: apt install clang-19 lld-19)")

// Toolchain is a clang that passed the probe.
type Toolchain struct {
	Clang   string // path
	Version string // first line of --version: part of every cache key
}

// probe needs C++20, the C library's headers, -fuse-ld=lld and the instruction set of the baseline.
const probe = `#include <pthread.h>
#include <math.h>
template <auto F> float call(float x) { return F(x); }
static float half_of(float x) { return __builtin_expf(x) * 0.5f; }
extern "C" float probe(float x) { return call<&half_of>(x); }
`

// FindToolchain returns the first of clang-19, other versioned clangs from 17 up, and clang, that passes the probe.
func FindToolchain(ctx context.Context) (*Toolchain, error) {
	for _, name := range []string{"clang-19", "clang-20", "clang-21", "clang-22", "clang-18", "clang-17", "clang"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if version, ok := probeClang(ctx, path); ok {
			return &Toolchain{path, version}, nil
		}
	}
	return nil, ErrNoCompiler
}

func probeClang(ctx context.Context, clang string) (version string, ok bool) {
	out, err := exec.CommandContext(ctx, clang, "--version").Output()
	if err != nil {
		return "", false
	}
	version, _, _ = strings.Cut(string(out), "\n")
	dir, err := os.MkdirTemp("", "sotto-probe")
	if err != nil {
		return "", false
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left there is the system's to clean
	cmd := exec.CommandContext(ctx, clang, "-x", "c++", "-std=c++20", "-march=x86-64-v3", "-O1", "-fPIC", "-shared",
		"-fuse-ld=lld", "-o", filepath.Join(dir, "probe.so"), "-", "-lm", "-lpthread")
	cmd.Stdin = strings.NewReader(probe)
	return version, cmd.Run() == nil
}

// run starts clang with input on stdin and returns its output. An error holds what clang said.
func (t *Toolchain) run(ctx context.Context, dir, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, t.Clang, args...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(stdin)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if said.Len() > 0 {
			return "", errors.New(strings.TrimSpace(said.String()))
		}
		return "", fmt.Errorf("%s: %w", t.Clang, err)
	}
	return out.String(), nil
}
