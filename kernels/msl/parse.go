package msl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Param is one parameter of a kernel.
type Param struct {
	Name string
	Type string // as written, without the attribute: "device const T *"
	Attr string // "buffer", or the name of a built-in value: "threadgroup_position_in_grid"
	Num  int    // buffer index
	Pos  Pos
}

// Kernel is the definition of a kernel function or kernel template.
type Kernel struct {
	Name       string
	Template   []string // names of the template parameters; nil for a plain function
	Params     []Param
	MaxThreads int // [[max_total_threads_per_threadgroup(n)]], else 1,024
	Pos        Pos

	frame []token // members of the threadgroup frame, nil without threadgroup variables
	fn    function
}

// Entry is an entry point: a kernel with its template arguments and its host name.
type Entry struct {
	Host   string
	Expr   string // "q4_gemv<float, 4>"
	Kernel *Kernel
	Pos    Pos
}

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

// kernelDeclaration records a kernel's definition or explicit instantiation.
func (u *Unit) kernelDeclaration(d declaration) int {
	ts := u.ts
	switch {
	case ts[d.end].text == "{" && d.params > 0:
		shut := closer(ts, d.end)
		k := &Kernel{Name: ts[d.params-1].text, Pos: ts[d.params-1].pos, MaxThreads: maxThreads}
		k.fn = function{k.Name, d.start, d.params, d.end, shut}
		if ts[d.start].text == "template" && ts[d.start+1].text == "<" {
			k.Template = u.templateNames(d.start + 1)
		}
		k.Params = u.params(d.params)
		u.Kernels = append(u.Kernels, k)
		u.maxThreads(k, d)
		if k.Template == nil {
			host := u.hostName(d)
			if host == "" {
				host = k.Name
			}
			u.Entries = append(u.Entries, Entry{host, k.Name, k, k.Pos})
		}
		return shut + 1
	case ts[d.end].text == ";" && ts[d.start].text == "template" && ts[d.start+1].text != "<":
		u.instance(d)
		return d.end + 1
	}
	u.errorf(ts[d.start].pos, "a kernel is neither defined nor instantiated here")
	return d.end + 1
}

// maxThreads is the most threads a threadgroup may have.
const maxThreads = 1024

func (u *Unit) maxThreads(k *Kernel, d declaration) {
	for _, a := range d.attrs {
		if u.at(a+1) != "max_total_threads_per_threadgroup" {
			continue
		}
		n, err := strconv.Atoi(u.at(a + 3))
		if err != nil || n < 1 || n > maxThreads {
			u.errorf(u.ts[a].pos, "max_total_threads_per_threadgroup is %s: a threadgroup has 1 to %d threads",
				u.at(a+3), maxThreads)
			continue
		}
		k.MaxThreads = n
	}
}

// templateNames reads the names out of a template parameter list that opens at token i.
func (u *Unit) templateNames(i int) []string {
	names := []string{}
	for _, p := range split(u.inside(i)) {
		for j, t := range p {
			if t.text == "=" {
				p = p[:j]
				break
			}
		}
		if len(p) > 0 {
			names = append(names, p[len(p)-1].text)
		}
	}
	return names
}

// split cuts a list at its top-level commas.
func split(ts []token) [][]token {
	var out [][]token
	start := 0
	for i := 0; i < len(ts); i++ {
		switch ts[i].text {
		case "(", "[", "[[", "{", "<":
			i = closer(ts, i)
		case ",":
			out = append(out, ts[start:i])
			start = i + 1
		}
	}
	if start < len(ts) {
		out = append(out, ts[start:])
	}
	return out
}

// params reads the parameter list that opens at token i.
func (u *Unit) params(i int) []Param {
	var out []Param
	for _, ts := range split(u.inside(i)) {
		if len(ts) == 0 {
			continue
		}
		p := Param{Num: -1, Pos: ts[0].pos}
		plain := ts
		for j, t := range ts {
			if t.text == "[[" {
				plain, p.Attr = ts[:j], ts[j+1].text
				if j+4 < len(ts) && ts[j+2].text == "(" {
					if n, err := strconv.Atoi(ts[j+3].text); err == nil {
						p.Num = n
					}
				}
				break
			}
		}
		if n := len(plain); n > 1 && plain[n-1].isIdent() {
			p.Name, plain = plain[n-1].text, plain[:n-1]
		}
		p.Type = join(plain)
		out = append(out, p)
	}
	return out
}

// hostName returns the argument of [[host_name("...")]].
func (u *Unit) hostName(d declaration) string {
	for _, a := range d.attrs {
		if u.at(a+1) != "host_name" {
			continue
		}
		name := ""
		for i := a + 3; i < len(u.ts) && strings.HasPrefix(u.at(i), `"`); i++ {
			name += strings.Trim(u.at(i), `"`)
		}
		return name
	}
	return ""
}

// tight takes the spaces out of template arguments that [join] puts between tokens.
var tight = strings.NewReplacer(" < ", "<", " >", ">", " , ", ", ")

// instance records `template [[host_name("n")]] kernel void f<float, 4>(...);`.
func (u *Unit) instance(d declaration) {
	u.insts = append(u.insts, d)
	host := u.hostName(d)
	pos := u.ts[d.start].pos
	if host == "" {
		u.errorf(pos, "a kernel is instantiated without host_name")
		return
	}
	for i := d.start; i < d.end; i++ {
		j := slices.IndexFunc(u.Kernels, func(k *Kernel) bool { return k.Name == u.at(i) && k.Template != nil })
		if j >= 0 && u.at(i+1) == "<" {
			expr := tight.Replace(join(u.ts[i : closer(u.ts, i+1)+1]))
			u.Entries = append(u.Entries, Entry{host, expr, u.Kernels[j], pos})
			return
		}
	}
	u.errorf(pos, "%s instantiates no kernel template that is defined above", host)
}
