package metal

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// prologue stands before every source. Nothing contracts a product and a sum, whatever the compile options say;
// older compilers know the pragma by clang's name.
const prologue = `#if __METAL_VERSION__ >= 320
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#else
#pragma clang fp contract(off)
#endif
`

// expand returns the text of a source with its own headers in place, each once; the compiler has no folders to look
// in. Lines keep their names and numbers.
func expand(sources fs.FS, file string) (string, error) {
	e := &expansion{sources: sources, seen: map[string]bool{}}
	e.text.WriteString(prologue)
	if err := e.add(file); err != nil {
		return "", err
	}
	return e.text.String(), nil
}

type expansion struct {
	sources fs.FS
	seen    map[string]bool
	text    strings.Builder
}

func (e *expansion) add(file string) error {
	e.seen[file] = true
	data, err := fs.ReadFile(e.sources, file)
	if err != nil {
		return err
	}
	fmt.Fprintf(&e.text, "#line 1 %q\n", file)
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimRight(line, "\n")
		name, ok := included(line)
		switch {
		case ok:
			if err := e.include(file, name); err != nil {
				return fmt.Errorf("%s:%d: %w", file, n, err)
			}
			fmt.Fprintf(&e.text, "#line %d %q\n", n+1, file)
		case strings.TrimSpace(line) == "#pragma once": // it would say so of the whole text
			e.text.WriteString("\n")
		default:
			e.text.WriteString(line + "\n")
		}
	}
	return nil
}

// include adds a header that file names: beside it, or from the root.
func (e *expansion) include(file, name string) error {
	beside := path.Join(path.Dir(file), name)
	if _, err := fs.Stat(e.sources, beside); err != nil {
		beside = path.Clean(name)
	}
	if e.seen[beside] {
		return nil
	}
	return e.add(beside)
}

// included returns the name of the header of ours that a line includes.
func included(line string) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "#include")
	if !ok {
		return "", false
	}
	rest, ok = strings.CutPrefix(strings.TrimSpace(rest), `"`)
	if !ok {
		return "", false
	}
	if name, _, closed := strings.Cut(rest, `"`); closed {
		return name, true
	}
	return "", false
}
