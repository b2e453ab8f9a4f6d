package source

import (
	"strconv"
	"strings"
)

// Function is a kernel function of a library.
type Function struct {
	Name       string // as a library is asked for it
	MaxThreads int    // a threadgroup, by [[max_total_threads_per_threadgroup(n)]]; 0 without it
}

// Functions returns the kernel functions that a text declares, in its order. defines are macros that are there from
// the start; has tells which system headers there are. An error is an [*Error].
func Functions(s string, defines map[string]string, has func(header string) bool) ([]Function, error) {
	ts, err := preprocess(s, defines, has)
	if err != nil {
		return nil, err
	}
	r := &reader{ts: ts, templates: map[string]int{}, names: map[string]bool{}}
	if err := r.scope(0, len(ts)); err != nil {
		return nil, err
	}
	return r.functions, nil
}

// reader finds declarations at namespace scope.
type reader struct {
	ts        []token
	templates map[string]int // kernel templates, with the most threads
	names     map[string]bool
	functions []Function
}

// head is a declaration up to its ; or {.
type head struct {
	ts     []token
	kernel bool
	host   string
	max    int
	space  bool // a namespace, or extern "C"
}

// scope reads the declarations from token i up to end.
func (r *reader) scope(i, end int) error {
	for i < end {
		start := i
		for i < end && r.ts[i].text != ";" && r.ts[i].text != "{" {
			j, err := r.over(i, end)
			if err != nil {
				return err
			}
			i = j
		}
		h, err := r.head(r.ts[start:i])
		if err != nil {
			return err
		}
		if i == end || r.ts[i].text == ";" {
			if err := r.declared(h); err != nil {
				return err
			}
			i++
			continue
		}
		shut, err := r.over(i, end)
		if err != nil {
			return err
		}
		if h.space {
			if err := r.scope(i+1, shut-1); err != nil {
				return err
			}
		} else if err := r.defined(h); err != nil {
			return err
		}
		i = shut
	}
	return nil
}

// closers are the brackets that nest.
var closers = map[string]string{"(": ")", "[": "]", "[[": "]]", "{": "}"}

// over returns the index behind token i, or behind the bracket that closes it.
func (r *reader) over(i, end int) (int, error) {
	first := r.ts[i]
	if first.text == ")" || first.text == "}" {
		return 0, fault(first.line, "extraneous %s", first.text)
	}
	if closers[first.text] == "" {
		return i + 1, nil
	}
	var open []string
	for ; i < end; i++ {
		t := r.ts[i].text
		n := len(open)
		switch {
		case closers[t] != "":
			open = append(open, closers[t])
		case t == "]]" && n > 1 && open[n-1] == "]" && open[n-2] == "]": // of an index inside an index
			open = open[:n-2]
		case n > 0 && t == open[n-1]:
			open = open[:n-1]
		case strings.Contains(") ]] }", t):
			return 0, fault(r.ts[i].line, "expected %s, found %s", open[n-1], t)
		}
		if len(open) == 0 {
			return i + 1, nil
		}
	}
	return 0, fault(first.line, "%s is not closed", first.text)
}

// head reads what matters of a declaration.
func (r *reader) head(ts []token) (head, error) {
	h := head{ts: ts}
	for i := 0; i < len(ts); i++ {
		t := ts[i]
		next := func(n int) string {
			if i+n < len(ts) {
				return ts[i+n].text
			}
			return ""
		}
		switch {
		case t.text == "namespace", t.text == "extern" && next(1) == `"C"`:
			h.space = true
		case t.text == "kernel":
			h.kernel = true
		case t.text == "host_name" && next(1) == "(":
			for i += 2; i < len(ts) && ts[i].kind == text; i++ {
				h.host += strings.Trim(ts[i].text, `"`)
			}
			if h.host == "" {
				return h, fault(t.line, "host_name is no string")
			}
		case t.text == "max_total_threads_per_threadgroup" && next(1) == "(":
			n, err := strconv.Atoi(next(2))
			if err != nil || n < 1 {
				return h, fault(t.line, "%s is no number of threads", next(2))
			}
			h.max = n
		}
	}
	return h, nil
}

// defined takes up a definition.
func (r *reader) defined(h head) error {
	if !h.kernel {
		return nil
	}
	name := h.called()
	if name == "" {
		return fault(h.ts[0].line, "a kernel without name or parameter list")
	}
	if h.ts[0].text == "template" {
		r.templates[name] = h.max
		return nil
	}
	if h.host != "" {
		name = h.host
	}
	return r.add(Function{name, h.max}, h.ts[0].line)
}

// declared takes up a declaration without a body: what counts is an explicit instantiation of a kernel template.
func (r *reader) declared(h head) error {
	if !h.kernel || len(h.ts) < 2 || h.ts[0].text != "template" || h.ts[1].text == "<" {
		return nil
	}
	line := h.ts[0].line
	if h.host == "" {
		return fault(line, "explicit instantiation of a kernel without host_name")
	}
	for i, t := range h.ts {
		most, ok := r.templates[t.text]
		if ok && i+1 < len(h.ts) && h.ts[i+1].text == "<" {
			return r.add(Function{h.host, most}, line)
		}
	}
	return fault(line, "explicit instantiation of %s does not refer to a kernel template", h.host)
}

// called is the name of the function: the identifier in front of the first bracket that is not of decltype or of an
// attribute.
func (h head) called() string {
	depth := 0
	for i, t := range h.ts {
		switch t.text {
		case "[[":
			depth++
		case "]]":
			depth--
		case "(":
			if depth == 0 && i > 0 && h.ts[i-1].kind == identifier && h.ts[i-1].text != "decltype" {
				return h.ts[i-1].text
			}
		}
	}
	return ""
}

func (r *reader) add(f Function, line int) error {
	if r.names[f.Name] {
		return fault(line, "function %s is declared twice", f.Name)
	}
	r.names[f.Name] = true
	r.functions = append(r.functions, f)
	return nil
}
