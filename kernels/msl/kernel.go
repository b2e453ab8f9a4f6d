package msl

import (
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
