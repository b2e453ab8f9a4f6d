package msl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// runtimeFlags compile the run-time, which needs the C library's headers.
var runtimeFlags = []string{
	"-std=c++20", "-O2", "-march=x86-64-v3", "-fPIC", "-fvisibility=hidden", "-mno-red-zone", "-fno-stack-protector",
	"-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Werror",
}

// Library builds a host library out of the given sources of the folder and writes it to out. With KeepGoing sources
// that do not compile are left out of it; the error names them.
func (b *Builder) Library(ctx context.Context, m Mode, files []string, out string) error {
	if err := b.unpack(); err != nil {
		return err
	}
	units := make([]*Unit, len(files))
	objects := make([]string, len(files))
	failed := b.each(files, func(i int, file string) error {
		u, err := b.Parse(ctx, m, file)
		if err != nil {
			return err
		}
		if objects[i], err = b.object(ctx, m, u); err == nil {
			units[i] = u
		}
		return err
	})
	if failed != nil && !b.KeepGoing {
		return failed
	}
	units = slices.DeleteFunc(units, func(u *Unit) bool { return u == nil })
	objects = slices.DeleteFunc(objects, func(o string) bool { return o == "" })
	table, err := kernelTable(units, m.Width, b.Stamp)
	if err != nil {
		return errors.Join(failed, err)
	}
	rest, err := b.runtime(ctx, m, table)
	if err != nil {
		return errors.Join(failed, err)
	}
	return errors.Join(failed, b.link(ctx, append(objects, rest...), out))
}

// kernelTable is the source of sotto_kernels, sorted by name, and of sotto_stamp.
func kernelTable(units []*Unit, width int, stamp string) (string, error) {
	var entries []Entry
	where := map[string]Pos{}
	for _, u := range units {
		for _, e := range u.Entries {
			if p, dup := where[e.Host]; dup {
				return "", &SourceError{e.Pos, fmt.Sprintf("host name %s is taken at %s", e.Host, p)}
			}
			where[e.Host] = e.Pos
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(x, y Entry) int { return strings.Compare(x.Host, y.Host) })
	var b strings.Builder
	b.WriteString("struct msl_fiber;\nstruct msl_kernel { const char* name; void (*fn)(msl_fiber*); " +
		"unsigned max_threads, tg_bytes; };\n#define HIDDEN __attribute__((visibility(\"hidden\")))\n")
	for _, e := range entries {
		fmt.Fprintf(&b, "extern \"C\" HIDDEN void msl_e_%s(msl_fiber*);\n", e.Host)
		fmt.Fprintf(&b, "extern \"C\" HIDDEN const unsigned msl_bytes_%s;\n", e.Host)
	}
	b.WriteString("extern \"C\" __attribute__((visibility(\"default\"))) msl_kernel sotto_kernels[] = {\n")
	for _, e := range entries {
		threads := e.Kernel.MaxThreads / 32 * width
		fmt.Fprintf(&b, "  {\"%s\", msl_e_%s, %d, msl_bytes_%s},\n", e.Host, e.Host, threads, e.Host)
	}
	b.WriteString("  {nullptr, nullptr, 0, 0},\n};\n")
	fmt.Fprintf(&b, "extern \"C\" __attribute__((visibility(\"default\"))) const char sotto_stamp[] = %q;\n", stamp)
	return b.String(), nil
}

// runtime compiles the run-time and the kernel table.
func (b *Builder) runtime(ctx context.Context, m Mode, table string) ([]string, error) {
	group := "rt/exact.cpp"
	if m.Width == 1 {
		group = "rt/fast.cpp"
	}
	var objects []string
	rm := Mode{m.Name, m.Target, m.Width, runtimeFlags}
	for _, name := range []string{"rt/pool.cpp", group, "table"} {
		text := table
		if name != "table" {
			raw, err := sources.ReadFile(name)
			if err != nil {
				return nil, err
			}
			text = fmt.Sprintf("#line 1 %q\n%s", "kernels/msl/"+name, raw)
		}
		path := filepath.Join(b.Cache, digest(b.key, text, strings.Join(rm.flags, " "), fmt.Sprint(m.Width))[:32]+".o")
		if _, err := os.Stat(path); err != nil {
			b.Log("compile %s %s", m.Name, name)
			err := b.compile(ctx, rm, text, path, "-I", filepath.Join(b.shim, "rt"), "-c", "-x", "c++")
			if err != nil {
				return nil, err
			}
		}
		objects = append(objects, path)
	}
	return objects, nil
}

// link makes the library in one step.
func (b *Builder) link(ctx context.Context, objects []string, out string) error {
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	tmp := filepath.Join(filepath.Dir(out), fmt.Sprintf(".%s-%d.so", filepath.Base(out), os.Getpid()))
	defer func() { _ = os.Remove(tmp) }() // gone already if all went well
	args := slices.Concat([]string{"-shared", "-fuse-ld=lld", "-Wl,-z,defs", "-Wl,--build-id=none", "-o", tmp}, objects,
		[]string{"-lm", "-lpthread"})
	if _, err := b.Tool.run(ctx, b.Kernels, "", args...); err != nil {
		return err
	}
	return os.Rename(tmp, out)
}
