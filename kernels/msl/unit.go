package msl

import (
	"errors"
	"fmt"
	"strings"
)

// Parse reads a preprocessed source and checks it against the subset of MSL that every target can take. The error
// joins one [SourceError] for each finding.
func Parse(file string, src []byte) (*Unit, error) {
	u := &Unit{File: file, ts: lex(file, string(src)), sigs: map[string]bool{}}
	if i := balanced(u.ts); i >= 0 {
		return u, &SourceError{u.ts[i].pos, fmt.Sprintf("%q has no counterpart", u.at(i))}
	}
	u.literals()
	u.scope(0, "")
	for _, k := range u.Kernels {
		u.frame(k)
	}
	u.lint()
	return u, errors.Join(u.errs...)
}

// literals rewrites half and bfloat literals, which C++ does not have.
func (u *Unit) literals() {
	for i, t := range u.ts {
		if !t.isNumber() || strings.HasPrefix(t.text, "0x") {
			continue
		}
		switch s := t.text; {
		case strings.HasSuffix(s, "bf") || strings.HasSuffix(s, "BF"):
			u.ts[i].text = "bfloat(" + s[:len(s)-2] + "f)"
		case strings.HasSuffix(s, "h") || strings.HasSuffix(s, "H"):
			u.ts[i].text = "half(" + s[:len(s)-1] + "f)"
		}
	}
}

// frame collects the threadgroup variables of a kernel into the members of one struct, the kernel's frame, and turns
// the declarations into references to them. Constants that array sizes need are copied in front of the members.
func (u *Unit) frame(k *Kernel) {
	ts := u.ts
	var constants []token
	for i := k.fn.open + 1; i < k.fn.close; i++ {
		end := i // of the statement
		for end < k.fn.close && ts[end].text != ";" && ts[end].text != "{" {
			if t := ts[end].text; t == "(" || t == "[" {
				end = closer(ts, end)
			}
			end++
		}
		stmt := ts[i:end]
		if ts[end].text == "{" { // a block or a braced initialiser: no frame members in it
			i = closer(ts, end)
			continue
		}
		switch first := leading(stmt); {
		case first == "constexpr" || first == "using" || first == "typedef":
			if first == "constexpr" {
				constants = append(constants, token{text: "static"})
			}
			constants = append(append(constants, stmt...), token{text: ";"})
		case isThreadgroupVar(stmt):
			k.frame = append(append(k.frame, constants...), u.member(stmt)...)
			constants = nil
		}
		i = end
	}
}

// leading is the first word of a statement.
func leading(stmt []token) string {
	if len(stmt) == 0 {
		return ""
	}
	return stmt[0].text
}

// isThreadgroupVar reports whether a statement declares a variable in threadgroup memory, and no pointer to some.
func isThreadgroupVar(stmt []token) bool {
	seen := false
	for i := 0; i < len(stmt); i++ {
		switch stmt[i].text {
		case "threadgroup":
			seen = true
		case "<", "[":
			i = closer(stmt, i)
		case "alignas":
			i = closer(stmt, i+1)
		case "*", "&", "(", "=":
			return false
		}
	}
	return seen
}

// member returns the declaration as a struct member and rewrites it in place as `auto& a = msl_frame.a, ...`.
func (u *Unit) member(stmt []token) []token {
	var out []token
	for _, t := range stmt {
		if t.text != "threadgroup" {
			out = append(out, token{text: t.text, pos: t.pos})
		}
	}
	out = append(out, token{text: ";"})
	var names []string
	for _, d := range split(stmt) {
		for i := 0; i < len(d); i++ {
			if t := d[i].text; t == "<" {
				i = closer(d, i)
			} else if i+1 == len(d) || d[i+1].text == "[" {
				names = append(names, t)
				break
			}
		}
	}
	for i := range stmt {
		stmt[i].text = ""
	}
	var b strings.Builder
	for i, n := range names {
		b.WriteString(map[bool]string{true: "auto", false: ","}[i == 0] + " &" + n + " = msl_frame." + n)
	}
	stmt[0].text = b.String()
	return out
}
