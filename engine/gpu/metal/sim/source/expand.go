package source

import (
	"maps"
	"slices"
	"strings"
)

// macro is a definition.
type macro struct {
	function bool
	params   []string
	variadic bool
	body     []token
}

// preprocessor expands macros and follows conditions.
type preprocessor struct {
	macros map[string]*macro
	has    func(header string) bool
	out    []token
	open   []condition
}

// condition is an #if that is not closed yet.
type condition struct {
	line   int
	live   bool // text is taken
	done   bool // a branch was taken, or none may be
	inElse bool
}

// maxTokens bounds what macros may grow to.
const maxTokens = 8 << 20

// preprocess returns the tokens of a text that remain, with macros expanded.
func preprocess(s string, defines map[string]string, has func(header string) bool) ([]token, error) {
	ts, err := tokens(s)
	if err != nil {
		return nil, err
	}
	p := &preprocessor{macros: map[string]*macro{}, has: has, out: make([]token, 0, len(ts))}
	for _, name := range slices.Sorted(maps.Keys(defines)) {
		body, err := tokens(defines[name])
		if err != nil {
			return nil, err
		}
		p.macros[name] = &macro{body: body}
	}
	start := 0 // of text that is no directive
	for i := 0; i < len(ts); {
		if !ts[i].first || ts[i].text != "#" {
			i++
			continue
		}
		if err := p.text(ts[start:i]); err != nil {
			return nil, err
		}
		end := i + 1
		for end < len(ts) && !ts[end].first {
			end++
		}
		if err := p.directive(ts[i+1:end], ts[i].line); err != nil {
			return nil, err
		}
		i, start = end, end
	}
	if err := p.text(ts[start:]); err != nil {
		return nil, err
	}
	if n := len(p.open); n > 0 {
		return nil, fault(p.open[n-1].line, "unterminated conditional directive")
	}
	return p.out, nil
}

func (p *preprocessor) live() bool { return len(p.open) == 0 || p.open[len(p.open)-1].live }

func (p *preprocessor) text(ts []token) error {
	if !p.live() || len(ts) == 0 {
		return nil
	}
	out, err := p.expand(p.out, ts)
	p.out = out
	return err
}

// expand appends ts to out with all macros expanded.
func (p *preprocessor) expand(out, ts []token) ([]token, error) {
	// todo holds what is still to be read, last first, so that the body of a macro goes where it was called.
	todo := make([]token, len(ts))
	for i, t := range ts {
		todo[len(ts)-1-i] = t
	}
	for len(todo) > 0 {
		if len(out)+len(todo) > maxTokens {
			return nil, fault(todo[len(todo)-1].line, "macros expand to more than %d tokens", maxTokens)
		}
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		m := p.macros[t.text]
		if t.kind != identifier || m == nil || t.hide.has(t.text) {
			out = append(out, t)
			continue
		}
		var args [][]token
		if m.function {
			if len(todo) == 0 || todo[len(todo)-1].text != "(" {
				out = append(out, t)
				continue
			}
			var err error
			if args, todo, err = arguments(t, m, todo); err != nil {
				return nil, err
			}
		}
		body, err := p.substitute(m, args, t)
		if err != nil {
			return nil, err
		}
		for _, b := range slices.Backward(body) {
			todo = append(todo, b)
		}
	}
	return out, nil
}

// arguments takes the arguments of a call of m off the end of todo, where the last token is the opening bracket.
func arguments(call token, m *macro, todo []token) (args [][]token, rest []token, err error) {
	depth := 0
	args = [][]token{nil}
	for i := len(todo) - 1; i >= 0; i-- {
		t := todo[i]
		switch t.text {
		case "(":
			if depth++; depth == 1 {
				continue
			}
		case ")":
			if depth--; depth == 0 {
				if len(m.params) == 0 && !m.variadic && len(args) == 1 && len(args[0]) == 0 {
					args = nil
				}
				if len(args) != len(m.params) {
					return nil, nil, fault(call.line, "macro %s takes %d arguments, got %d", call.text,
						len(m.params), len(args))
				}
				return args, todo[:i], nil
			}
		case ",":
			if depth == 1 && (!m.variadic || len(args) < len(m.params)) {
				args = append(args, nil)
				continue
			}
		}
		args[len(args)-1] = append(args[len(args)-1], t)
	}
	return nil, nil, fault(call.line, "unterminated call of macro %s", call.text)
}

// substitute returns the body of m for a call, with arguments filled in, made strings, or pasted.
func (p *preprocessor) substitute(m *macro, args [][]token, call token) ([]token, error) {
	hide := &hidden{call.text, call.hide}
	var out []token
	add := func(t token) {
		t.line, t.first = call.line, false
		if t.hide == nil {
			t.hide = hide
		} else {
			t.hide = &hidden{call.text, t.hide}
		}
		out = append(out, t)
	}
	for i := 0; i < len(m.body); i++ {
		t := m.body[i]
		switch {
		case t.text == "#" && m.function && m.argument(i+1) >= 0:
			i++
			add(token{kind: text, text: quote(args[m.argument(i)]), space: t.space})
		case t.text == "##" && i > 0 && i+1 < len(m.body):
			i++
			right := m.operand(i, args)
			if len(out) > 0 && len(right) > 0 {
				out[len(out)-1].text += right[0].text
				right = right[1:]
			}
			for _, r := range right {
				add(r)
			}
		default:
			whole, err := p.operand(m, i, args)
			if err != nil {
				return nil, err
			}
			for _, t := range whole {
				add(t)
			}
		}
	}
	return out, nil
}

// operand is token i of the body, or the argument that it names, as it was given.
func (m *macro) operand(i int, args [][]token) []token {
	if a := m.argument(i); a >= 0 {
		return args[a]
	}
	return m.body[i : i+1]
}

// operand is token i of m's body, or the argument that it names, expanded where nothing is pasted to it.
func (p *preprocessor) operand(m *macro, i int, args [][]token) ([]token, error) {
	whole := m.operand(i, args)
	if m.argument(i) < 0 || i+1 < len(m.body) && m.body[i+1].text == "##" {
		return whole, nil
	}
	return p.expand(nil, whole)
}

// argument is the number of the parameter that token i of the body names, or -1.
func (m *macro) argument(i int) int {
	if i >= len(m.body) || m.body[i].kind != identifier {
		return -1
	}
	return slices.Index(m.params, m.body[i].text)
}

// quote makes a string literal of tokens.
func quote(ts []token) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, t := range ts {
		if i > 0 && t.space {
			b.WriteByte(' ')
		}
		if t.kind == text {
			b.WriteString(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(t.text))
		} else {
			b.WriteString(t.text)
		}
	}
	b.WriteByte('"')
	return b.String()
}
