package msl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ptxMode compiles for NVIDIA GPUs of the Hopper generation. Without the inline threshold, helper functions that take
// pointers would lose the address space.
var ptxMode = Mode{"ptx", PTX, 32, slices.Concat(common, []string{
	"-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=" + ptxArch, "-nocudainc", "-nocudalib",
	"--cuda-feature=+ptx83", "-Wno-everything", "-mllvm", "-inline-threshold=1000000",
})}

const ptxArch = "sm_90a"

// PTX compiles each source to a .ptx file in the folder out and returns the paths.
func (b *Builder) PTX(ctx context.Context, files []string, out string) ([]string, error) {
	paths := make([]string, len(files))
	return paths, b.each(files, func(i int, file string) error {
		u, err := b.Parse(ctx, ptxMode, file)
		if err != nil {
			return err
		}
		source := u.Source(PTX)
		cached := filepath.Join(b.Cache, digest(b.key, source, strings.Join(ptxMode.flags, " "))[:32]+".ptx")
		if _, err := os.Stat(cached); err != nil {
			b.Log("compile ptx %s", file)
			if err := b.compile(ctx, ptxMode, source, cached, "-I", filepath.Join(b.shim, "shim"), "-S"); err != nil {
				return err
			}
		}
		text, err := os.ReadFile(cached)
		if err != nil {
			return err
		}
		paths[i] = filepath.Join(out, strings.TrimSuffix(file, ".metal")+".ptx")
		return writeFile(paths[i], string(text))
	})
}

// Usage is what one entry point takes of a GPU, as ptxas reports it.
type Usage struct {
	Name                            string
	Registers, Spill, Stack, Shared int // 32-bit registers a lane; bytes stored by spills, of stack and shared memory
}

var (
	ptxasName  = regexp.MustCompile(`Compiling entry function '(\w+)'`)
	ptxasStack = regexp.MustCompile(`(\d+) bytes stack frame, (\d+) bytes spill stores`)
	ptxasUsed  = regexp.MustCompile(`Used (\d+) registers`)
	ptxasSmem  = regexp.MustCompile(`(\d+) bytes smem`)
)

// PTXAS assembles a .ptx file beside itself into a .cubin, without contraction, and returns what each entry point uses.
func PTXAS(ctx context.Context, ptxas, path string) ([]Usage, error) {
	cubin := strings.TrimSuffix(path, ".ptx") + ".cubin"
	cmd := exec.CommandContext(ctx, ptxas, "--gpu-name", ptxArch, "--fmad=false", "-v", "-o", cubin, path)
	var said bytes.Buffer
	cmd.Stderr, cmd.Stdout = &said, &said
	if err := cmd.Run(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), errors.New(strings.TrimSpace(said.String())))
	}
	return ptxasReport(said.String()), nil
}

func ptxasReport(text string) []Usage {
	var out []Usage
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	for line := range strings.Lines(text) {
		if m := ptxasName.FindStringSubmatch(line); m != nil {
			out = append(out, Usage{Name: m[1]})
		}
		if len(out) == 0 {
			continue
		}
		u := &out[len(out)-1]
		if m := ptxasStack.FindStringSubmatch(line); m != nil {
			u.Stack, u.Spill = number(m[1]), number(m[2])
		}
		if m := ptxasUsed.FindStringSubmatch(line); m != nil {
			u.Registers = number(m[1])
			if m := ptxasSmem.FindStringSubmatch(line); m != nil {
				u.Shared = number(m[1])
			}
		}
	}
	return out
}
