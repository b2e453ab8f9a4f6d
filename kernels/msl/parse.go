package msl

import (
	"fmt"
	"slices"
	"strings"
)

// function is a function definition by token indices.
type function struct {
	name        string
	start       int // first token of the declaration
	params      int // "(" of the parameter list
	open, close int // braces of the body
}

// Unit is one parsed source.
type Unit struct {
	File    string
	Kernels []*Kernel
	Entries []Entry

	ts     []token
	funcs  []function
	insts  []declaration // explicit instantiations of kernels
	consts []int         // "constant" of variables at namespace scope
	sigs   map[string]bool
	errs   []error
}

// declaration is the head of a declaration: tokens start to end, where end is the ";", "{", "}" or "=" behind it.
type declaration struct {
	start, end int
	attrs      []int // indices of "[["
	params     int   // last top-level "(", or -1
	kernel     bool
}

func (u *Unit) errorf(p Pos, format string, args ...any) {
	u.errs = append(u.errs, &SourceError{p, fmt.Sprintf(format, args...)})
}

// at is the text of token i, empty outside of the source.
func (u *Unit) at(i int) string {
	if i < 0 || i >= len(u.ts) {
		return ""
	}
	return u.ts[i].text
}

// inside returns the tokens between the bracket at i and the one that closes it.
func (u *Unit) inside(i int) []token {
	if end := closer(u.ts, i); end > i {
		return u.ts[i+1 : end]
	}
	return nil
}

// SourceError is a finding in a source.
type SourceError struct {
	Pos Pos
	Msg string
}

func (e *SourceError) Error() string { return e.Pos.String() + ": " + e.Msg }

// scope reads the declarations from token i up to the "}" that closes the scope, or the end. path names the scope.
func (u *Unit) scope(i int, path string) {
	for u.at(i) != "" && u.at(i) != "}" {
		if u.at(i) == ";" {
			i++
			continue
		}
		i = min(u.declaration(u.head(i), path), len(u.ts)-1)
	}
}

// head finds the end of the declaration that starts at token i.
func (u *Unit) head(i int) declaration {
	d := declaration{start: i, params: -1}
	for ; i < len(u.ts); i++ {
		switch t := u.at(i); t {
		case "[[":
			d.attrs = append(d.attrs, i)
			d.kernel = d.kernel || u.at(i+1) == "kernel"
			i = closer(u.ts, i)
		case "(":
			if u.at(i-1) != "alignas" && !u.inInitialisers(d, i) {
				d.params = i
			}
			i = closer(u.ts, i)
		case "[":
			i = closer(u.ts, i)
		case "<":
			i = closer(u.ts, i)
		case "operator":
			for i++; i+1 < len(u.ts) && (u.at(i+1) != "(" || u.at(i) == "("); i++ {
			}
		case "kernel":
			d.kernel = true
		case ";", "{", "}", "=", "":
			d.end = i
			return d
		}
	}
	d.end = len(u.ts) - 1
	return d
}

// inInitialisers reports whether the "(" at i belongs to a constructor's member initialisers.
func (u *Unit) inInitialisers(d declaration, i int) bool {
	if d.params < 0 {
		return false
	}
	for j := closer(u.ts, d.params) + 1; j < i; j++ {
		if u.at(j) == ":" {
			return true
		}
	}
	return false
}

// has reports whether one of the words stands in the head outside of brackets, before the parameter list.
func (u *Unit) has(d declaration, words ...string) bool {
	for i := d.start; i < d.end; i++ {
		switch t := u.at(i); {
		case t == "(" || t == "[" || t == "[[" || t == "<":
			i = closer(u.ts, i)
		case slices.Contains(words, t):
			return true
		}
	}
	return false
}

// declaration records one declaration and returns the index of the token behind it.
func (u *Unit) declaration(d declaration, path string) int {
	ts := u.ts
	if d.kernel {
		return u.kernelDeclaration(d)
	}
	switch ts[d.end].text {
	case "{":
		shut := closer(ts, d.end)
		isType := d.params < 0 && u.has(d, "struct", "class", "union")
		switch {
		case u.has(d, "namespace") || isType:
			u.scope(d.end+1, path+"|"+join(ts[d.start:d.end]))
			return shut + 1
		case d.params >= 0:
			u.function(d, shut, path)
			return shut + 1
		}
		u.constantVariable(d)
		return shut + 1 // an enum or a braced initialiser
	case "=":
		u.constantVariable(d)
		for i := d.end; i < len(ts); i++ {
			switch ts[i].text {
			case "(", "{", "[":
				i = closer(ts, i)
			case ";":
				return i + 1
			}
		}
		return len(ts)
	case "}":
		return d.end // an access specifier or a last enumerator: the scope ends here
	}
	return d.end + 1
}

// constantVariable notes the address space of a variable at namespace scope.
func (u *Unit) constantVariable(d declaration) {
	for i := d.start; i < d.end && !u.has(d, "*", "&", "template"); i++ {
		if u.at(i) == "constant" {
			u.consts = append(u.consts, i)
			return
		}
	}
}

// function records a function that is not a kernel. Of overloads that differ by address spaces alone one is kept,
// because only the strict check has address spaces.
func (u *Unit) function(d declaration, shut int, path string) {
	u.funcs = append(u.funcs, function{u.at(d.params - 1), d.start, d.params, d.end, shut})
	var sig strings.Builder
	sig.WriteString(path)
	for i := d.start; i < d.end; i++ {
		if !addressSpaces[u.at(i)] {
			sig.WriteString(" " + u.at(i))
		}
	}
	if u.sigs[sig.String()] {
		u.funcs[len(u.funcs)-1].name = "" // a duplicate: see drop
	}
	u.sigs[sig.String()] = true
}

var addressSpaces = map[string]bool{"device": true, "constant": true, "threadgroup": true, "thread": true}
