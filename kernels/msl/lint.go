package msl

import (
	"regexp"
	"slices"
	"strings"
)

// builtins are the values that a kernel may ask for by attribute, and the shim's names of them.
var builtins = map[string]string{
	"thread_position_in_grid":        "msl_position_in_grid",
	"threadgroup_position_in_grid":   "msl_group_in_grid",
	"thread_position_in_threadgroup": "msl_position_in_group",
	"thread_index_in_threadgroup":    "msl_index_in_group",
	"thread_index_in_simdgroup":      "msl_lane",
	"simdgroup_index_in_threadgroup": "msl_simdgroup_index",
	"simdgroups_per_threadgroup":     "msl_simdgroups",
	"threads_per_threadgroup":        "msl_group_size",
	"threadgroups_per_grid":          "msl_grid_size",
	"threads_per_simdgroup":          "msl_width",
}

// maxBuffer is the highest buffer index of Metal.
const maxBuffer = 30

// words are the identifiers that a source may not use, with the reason.
var words = map[string]string{
	"asm":     "inline assembly is not MSL",
	"__asm":   "inline assembly is not MSL",
	"__asm__": "inline assembly is not MSL",
	"goto":    "goto is not in MSL",
	"double":  "double does not exist on the GPU",
	"new":     "new is not in MSL",
	"delete":  "delete is not in MSL",
	"virtual": "virtual functions are not in MSL",
	"throw":   "exceptions are not in MSL",
	"try":     "exceptions are not in MSL",
	"catch":   "exceptions are not in MSL",
	"typeid":  "run-time types are not in MSL",

	"dynamic_cast": "run-time types are not in MSL",
	"thread_local": "thread_local is not in MSL",

	"function_constant": "function constants are not in the subset: use a template parameter",
	"atomic_float":      "float atomics make the order of a sum depend on scheduling",
}

var hostName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// lint checks the whole unit.
func (u *Unit) lint() {
	for i := range u.ts {
		u.lintToken(i)
	}
	u.lintStatic()
	u.lintThreadgroup()
	for _, k := range u.Kernels {
		u.lintParams(k)
	}
	seen, made := map[string]Pos{}, map[string]Pos{}
	for _, e := range u.Entries {
		if p, dup := made[e.Expr]; dup {
			u.errorf(e.Pos, "%s is instantiated at %s already: a function has one host name", e.Expr, p)
		}
		made[e.Expr] = e.Pos
		if !hostName.MatchString(e.Host) {
			u.errorf(e.Pos, "host name %q is not of small letters, digits and _", e.Host)
		}
		if p, dup := seen[e.Host]; dup {
			u.errorf(e.Pos, "host name %s is taken at %s", e.Host, p)
		}
		seen[e.Host] = e.Pos
	}
	for _, k := range u.Kernels {
		if !slices.ContainsFunc(u.Entries, func(e Entry) bool { return e.Kernel == k }) {
			u.errorf(k.Pos, "kernel %s is never instantiated", k.Name)
		}
	}
}

// lintToken checks what can be told from a token and its neighbours.
func (u *Unit) lintToken(i int) {
	t := u.ts[i]
	next := func(n int) string { return u.at(min(i+n, len(u.ts)-1)) }
	if why := words[t.text]; why != "" {
		u.errorf(t.pos, "%s: %s", t.text, why)
	}
	switch {
	case strings.HasPrefix(t.text, "__builtin_") && t.text != "__builtin_offsetof":
		u.errorf(t.pos, "%s: compiler built-ins are not MSL", t.text)
	case t.text == "std" && next(1) == "::":
		u.errorf(t.pos, "std::%s: the standard library is not MSL's", next(2))
	case t.text == "atomic" && next(1) == "<" && next(2) == "float":
		u.errorf(t.pos, "atomic<float>: float atomics make the order of a sum depend on scheduling")
	case t.text == "[" && i > 0 && !u.ts[i-1].isIdent() && u.at(i-1) != ")" && u.at(i-1) != "]":
		u.errorf(t.pos, "lambda expressions are not in MSL 3.1")
	case isDouble(t):
		u.errorf(t.pos, "%s: a floating literal without f is a double", t.text)
	}
}

// isDouble reports whether t is a decimal literal with a point or an exponent and without a suffix of MSL.
func isDouble(t token) bool {
	return t.isNumber() && !strings.HasPrefix(t.text, "0x") && strings.ContainsAny(t.text, ".eE") &&
		!strings.ContainsAny(t.text[len(t.text)-1:], "fFhH)") // a half or bfloat literal is a call by now
}

// lintStatic refuses static variables: static is allowed on functions and constexpr members only.
func (u *Unit) lintStatic() {
	for i, t := range u.ts {
		if t.text != "static" {
			continue
		}
		end := i
		for !slices.Contains([]string{";", "{", "=", ""}, u.at(end)) && u.at(end) != "(" {
			end++
		}
		if u.at(end) == "(" && !u.inBody(i) || slices.ContainsFunc(u.ts[i:end], isConstexpr) && !u.inBody(i) {
			continue
		}
		u.errorf(t.pos, "static: variables with static storage are not in MSL's functions")
	}
}

func isConstexpr(t token) bool { return t.text == "constexpr" }

// inBody reports whether token i lies in the body of a function or kernel.
func (u *Unit) inBody(i int) bool {
	for _, f := range u.funcs {
		if f.open < i && i < f.close {
			return true
		}
	}
	for _, k := range u.Kernels {
		if k.fn.open < i && i < k.fn.close {
			return true
		}
	}
	return false
}

// lintThreadgroup refuses threadgroup variables that are not in a kernel's frame: those of helper functions, of inner
// blocks and with initialisers.
func (u *Unit) lintThreadgroup() {
	for i, t := range u.ts {
		if t.text != "threadgroup" || !u.inBody(i) {
			continue
		}
		start := i
		for prev := u.at(start - 1); prev != ";" && prev != "{" && prev != "}" && prev != "("; {
			start--
			prev = u.at(start - 1)
		}
		end := i
		for u.at(end) != ";" && u.at(end) != "" && u.at(end) != "=" {
			end++
		}
		if u.at(start-1) != "(" && isThreadgroupVar(u.ts[start:end]) {
			u.errorf(t.pos, "threadgroup variables are declared without initialiser at the outermost level of a kernel")
		}
	}
}

// lintParams checks a kernel's parameters.
func (u *Unit) lintParams(k *Kernel) {
	used := map[int]string{}
	for _, p := range k.Params {
		switch {
		case p.Attr == "":
			u.errorf(p.Pos, "kernel %s: parameter %s has no attribute", k.Name, p.Name)
		case p.Attr == "buffer":
			u.lintBuffer(k, p, used)
		case p.Attr == "threadgroup":
			u.errorf(p.Pos, "kernel %s: parameter %s: threadgroup memory is declared in the body", k.Name, p.Name)
		case builtins[p.Attr] == "":
			u.errorf(p.Pos, "kernel %s: parameter %s: attribute %s is not in the subset", k.Name, p.Name, p.Attr)
		}
	}
}

func (u *Unit) lintBuffer(k *Kernel, p Param, used map[int]string) {
	if p.Num < 0 || p.Num > maxBuffer {
		u.errorf(p.Pos, "kernel %s: parameter %s: buffer index is not in 0 to %d", k.Name, p.Name, maxBuffer)
		return
	}
	if other := used[p.Num]; other != "" {
		u.errorf(p.Pos, "kernel %s: buffer %d is both %s and %s", k.Name, p.Num, other, p.Name)
	}
	used[p.Num] = p.Name
	space := strings.Fields(p.Type)
	if !slices.Contains(space, "device") && !slices.Contains(space, "constant") {
		u.errorf(p.Pos, "kernel %s: parameter %s is in neither device nor constant memory", k.Name, p.Name)
	}
	if !slices.Contains(space, "*") && !slices.Contains(space, "&") {
		u.errorf(p.Pos, "kernel %s: parameter %s is neither pointer nor reference", k.Name, p.Name)
	}
}
