package msl

import (
	"bufio"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// strict checks a source as C++ for OpenCL, which has MSL's address spaces.
var strict = Mode{"strict", Strict, 32, []string{
	"-x", "cl", "-cl-std=clc++2021", "--target=spir64", "-cl-no-stdinc", "-nostdinc", "-fdeclspec", "-DMSL_STRICT",
	"-Xclang", "-cl-ext=+all,-cl_khr_fp64,-__opencl_c_fp64", "-ferror-limit=10",
}}

// Check compiles the sources for nothing but their errors: mixed or missing address spaces, types and language features
// that MSL does not have, recursion.
func (b *Builder) Check(ctx context.Context, files []string) error {
	return b.each(files, func(_ int, file string) error {
		u, err := b.Parse(ctx, strict, file)
		if err != nil {
			return err
		}
		return b.check(ctx, u)
	})
}

func (b *Builder) check(ctx context.Context, u *Unit) error {
	source := u.Source(Strict)
	stamp := filepath.Join(b.Cache, digest(b.key, source, strings.Join(strict.flags, " "))[:32]+".ok")
	if _, err := os.Stat(stamp); err == nil {
		return nil
	}
	b.Log("check %s", u.File)
	run := func(args ...string) (string, error) {
		args = slices.Concat(strict.flags, []string{"-I", filepath.Join(b.shim, "shim")}, args, []string{"-"})
		return b.Tool.run(ctx, filepath.Dir(b.Kernels), source, args...)
	}
	_, err := run("-fsyntax-only", "-Wall", "-Werror", "-Wno-unused", "-Wno-null-dereference", "-Wno-unknown-pragmas")
	if err != nil {
		return err
	}
	tree, err := run("-fsyntax-only", "-w", "-Xclang", "-ast-dump", "-fno-color-diagnostics")
	if err != nil {
		return err
	}
	code, err := run("-S", "-emit-llvm", "-w", "-O0", "-Xclang", "-disable-llvm-passes", "-gline-tables-only",
		"-o", "-")
	if err != nil {
		return err
	}
	if err := errors.Join(genericPointers(tree), recursion(code)); err != nil {
		return err
	}
	return writeFile(stamp, "")
}

// A line of the syntax tree's dump: kind, places, and the type in the first quotes.
var (
	treeLine  = regexp.MustCompile(`^[ |\x60-]*([A-Za-z]+) 0x[0-9a-f]+ ([^']*)(?:'([^']*)')?`)
	treePlace = regexp.MustCompile(`(?:([^\s<>,]+|<scratch space>|<built-in>):)?(?:line:)?(\d+):\d+|col:\d+`)
)

// declared are the nodes whose type the author has written.
var declared = []string{
	"ParmVarDecl", "VarDecl", "FieldDecl", "TypedefDecl", "TypeAliasDecl", "FunctionDecl",
	"CXXMethodDecl", "CStyleCastExpr",
}

// genericPointers finds pointers and references without an address space, which have the generic one in the dump.
func genericPointers(tree string) error {
	var errs []error
	var pos Pos
	seen := map[string]bool{}
	implicit := -1 // depth of the node that the compiler has made, whose children are not the author's
	lines := bufio.NewScanner(strings.NewReader(tree))
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		m := treeLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		pos.follow(m[2])
		depth := strings.Index(lines.Text(), m[1])
		if implicit >= 0 && depth > implicit {
			continue
		}
		implicit = -1
		if strings.Contains(lines.Text(), " implicit ") {
			implicit = depth
			continue
		}
		typ := m[3]
		if m[1] == "CXXMethodDecl" { // behind the parameters stands the space of this
			typ, _, _ = strings.Cut(typ, "(")
		}
		if !strings.Contains(typ, "__generic") || !slices.Contains(declared, m[1]) ||
			strings.Contains(pos.File, "/shim/") {
			continue
		}
		e := &SourceError{pos, "pointer or reference without an address space: " +
			strings.ReplaceAll(typ, "__generic ", "")}
		if !seen[e.Error()] {
			errs = append(errs, e)
		}
		seen[e.Error()] = true
	}
	return errors.Join(append(errs, lines.Err())...)
}

// follow moves p to the last place in a node's header, which tells only what differs from the place before.
func (p *Pos) follow(header string) {
	for _, m := range treePlace.FindAllStringSubmatch(header, -1) {
		if m[1] != "" && m[1] != "line" {
			p.File = m[1]
		}
		if m[2] != "" {
			p.Line, _ = strconv.Atoi(m[2])
		}
	}
}

var (
	irDefine  = regexp.MustCompile(`^define .*?@("[^"]*"|[\w.$]+)\(.* !dbg !(\d+)`)
	irCall    = regexp.MustCompile(`\bcall .*?@("[^"]*"|[\w.$]+)\(`)
	irProgram = regexp.MustCompile(`^!(\d+) = .*!DISubprogram\(name: "([^"]*)".*file: !(\d+), line: (\d+)`)
	irFile    = regexp.MustCompile(`^!(\d+) = !DIFile\(filename: "([^"]*)"`)
)

// recursion finds functions that call themselves, directly or through others, in LLVM assembly.
func recursion(code string) error {
	calls := map[string][]string{}
	debug := map[string]string{} // of a function: the number of its description
	programs := map[string][]string{}
	files := map[string]string{}
	var order []string
	for line := range strings.Lines(code) {
		if m := irDefine.FindStringSubmatch(line); m != nil {
			order = append(order, m[1])
			debug[m[1]] = m[2]
		} else if m := irCall.FindStringSubmatch(line); m != nil && len(order) > 0 {
			from := order[len(order)-1]
			calls[from] = append(calls[from], m[1])
		} else if m := irProgram.FindStringSubmatch(line); m != nil {
			programs[m[1]] = m[2:]
		} else if m := irFile.FindStringSubmatch(line); m != nil {
			files[m[1]] = m[2]
		}
	}
	var errs []error
	for _, f := range order {
		if !reaches(calls, f, f, map[string]bool{}) {
			continue
		}
		e := &SourceError{Msg: "recursion: " + f + " calls itself"}
		if p := programs[debug[f]]; p != nil {
			line, _ := strconv.Atoi(p[2])
			e = &SourceError{Pos{files[p[1]], line}, "recursion: " + p[0] + " calls itself"}
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// reaches reports whether a call made by from leads to the function to.
func reaches(calls map[string][]string, from, to string, seen map[string]bool) bool {
	for _, c := range calls[from] {
		if c == to {
			return true
		}
		if !seen[c] {
			seen[c] = true
			if reaches(calls, c, to, seen) {
				return true
			}
		}
	}
	return false
}
