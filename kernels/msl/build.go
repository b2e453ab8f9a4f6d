package msl

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

//go:embed shim rt
var sources embed.FS

// Mode is a product of the build.
type Mode struct {
	Name   string
	Target Target
	Width  int      // lanes a simdgroup
	flags  []string // of the compilation
}

// common are the flags of every compilation. Nothing re-associates, contracts or takes reciprocals.
var common = []string{
	"-std=c++20", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fno-exceptions", "-fno-rtti",
	"-fdeclspec", "-nostdinc", "-ferror-limit=10", "-ftemplate-backtrace-limit=3",
}

var host = []string{
	"-march=x86-64-v3", "-fPIC", "-fvisibility=hidden", "-mno-red-zone", "-fno-stack-protector",
	"-Wno-everything", "-Wframe-larger-than=40000", "-Werror",
}

// Modes of the build.
var (
	// HostExact runs a lane as a fiber, checks that lanes stay together, and fills what is not initialised.
	HostExact = Mode{"host-exact", Host, 32, slices.Concat(common, host, []string{"-ftrivial-auto-var-init=pattern"})}
	// HostFast has one lane a simdgroup, so that the inner loops become vector code.
	HostFast = Mode{"host-fast", Host, 1, slices.Concat(common, host)}
)

// Builder builds the kernels of one folder.
type Builder struct {
	Tool    *Toolchain
	Kernels string // folder of the .metal sources, "common/" and "params.h"
	Cache   string // folder of objects by content; safe to delete
	Jobs    int    // compilations at a time

	KeepGoing bool   // libraries leave out what does not compile
	Stamp     string // what a library says of what it was built from

	Log func(format string, args ...any)

	once   sync.Once
	shim   string // unpacked shim
	key    string // hash of the compiler and of all headers
	onceAs error
}

// Sources lists the .metal files of the kernels' folder by name.
func (b *Builder) Sources() ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(b.Kernels, "*.metal"))
	if err != nil {
		return nil, err
	}
	for i, p := range paths {
		paths[i] = filepath.Base(p)
	}
	return paths, nil
}

// unpack writes the shim into the cache, under its own hash.
func (b *Builder) unpack() error {
	b.once.Do(func() { b.onceAs = b.unpackOnce() })
	return b.onceAs
}

func (b *Builder) unpackOnce() error {
	files := map[string]string{"shim/msl_vec.h": vectorHeader()}
	err := fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) == ".cpp" { // which no kernel includes
			return err
		}
		text, err := sources.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"metal_stdlib", "metal_atomic", "metal_simdgroup", "metal_math"} {
		files["stub/"+name] = "#pragma once\n" // msl.h stands in for the library
	}
	parts := []string{b.Tool.Version}
	for path, text := range files {
		parts = append(parts, path+"\x00"+text)
	}
	slices.Sort(parts)
	b.key = digest(parts...)
	b.shim = filepath.Join(b.Cache, "shim-"+b.key[:16])
	for path, text := range files {
		path = filepath.Join(b.shim, filepath.FromSlash(path))
		if _, err := os.Stat(path); err == nil {
			continue
		}
		if err := writeFile(path, text); err != nil {
			return err
		}
	}
	return nil
}

// digest is the SHA-256 of the parts, each with its length.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d ", len(p))
		h.Write([]byte(p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// writeFile replaces a file in one step, so that a neighbour never reads half of it.
func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// Parse preprocesses and parses one source of the folder.
func (b *Builder) Parse(ctx context.Context, m Mode, file string) (*Unit, error) {
	if err := b.unpack(); err != nil {
		return nil, err
	}
	std := "-std=c++20"
	if m.Target == Strict {
		std = "-std=c++17"
	}
	folder := filepath.Base(b.Kernels)
	text, err := b.Tool.run(ctx, filepath.Dir(b.Kernels), "", "-E", "-x", "c++", std, "-nostdinc",
		"-D__METAL__", "-D__METAL_VERSION__=310", fmt.Sprintf("-DSIMD=%d", m.Width),
		"-I", filepath.Join(b.shim, "stub"), "-I", folder, folder+"/"+file)
	if err != nil {
		return nil, err
	}
	return Parse(file, []byte(text))
}

// object compiles one source and returns the object's path, from the cache when nothing it is made of has changed.
func (b *Builder) object(ctx context.Context, m Mode, u *Unit) (string, error) {
	source := u.Source(m.Target)
	path := filepath.Join(b.Cache, digest(b.key, source, strings.Join(m.flags, " "), fmt.Sprint(m.Width))[:32]+".o")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	b.Log("compile %s %s", m.Name, u.File)
	err := b.compile(ctx, m, source, path, "-I", filepath.Join(b.shim, "shim"), "-c", "-x", "c++")
	if err != nil {
		return "", err
	}
	return path, nil
}

// compile runs clang into a temporary file that becomes path when it is whole.
func (b *Builder) compile(ctx context.Context, m Mode, source, path string, args ...string) error {
	tmp, err := os.CreateTemp(b.Cache, ".tmp-*"+filepath.Ext(path))
	if err != nil {
		return err
	}
	tmp.Close()
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already if all went well
	width := fmt.Sprintf("-DMSL_WIDTH=%d", m.Width)
	args = slices.Concat(m.flags, []string{width}, args, []string{"-", "-o", tmp.Name()})
	if _, err := b.Tool.run(ctx, b.Kernels, source, args...); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// each runs f for all files, Jobs at a time, and joins the errors in the order of the files.
func (b *Builder) each(files []string, f func(i int, file string) error) error {
	errs := make([]error, len(files))
	slots := make(chan struct{}, max(1, b.Jobs))
	var wg sync.WaitGroup
	for i, file := range files {
		wg.Add(1)
		slots <- struct{}{}
		go func() {
			defer wg.Done()
			errs[i] = f(i, file)
			<-slots
		}()
	}
	wg.Wait()
	return errors.Join(errs...)
}
