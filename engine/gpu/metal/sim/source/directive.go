package source

import (
	"strconv"
	"strings"
)

// directive follows the tokens of one directive behind its #.
func (p *preprocessor) directive(ts []token, line int) error {
	if len(ts) == 0 {
		return nil
	}
	name, rest := ts[0].text, ts[1:]
	switch name {
	case "if", "ifdef", "ifndef":
		c := condition{line: line, done: !p.live()}
		if p.live() {
			yes, err := p.holds(name, rest, line)
			if err != nil {
				return err
			}
			c.live, c.done = yes, yes
		}
		p.open = append(p.open, c)
		return nil
	case "elif", "else", "endif":
		return p.branch(name, rest, line)
	}
	if !p.live() {
		return nil
	}
	switch name {
	case "define":
		return p.define(rest, line)
	case "undef":
		if len(rest) == 0 {
			return fault(line, "macro name missing")
		}
		delete(p.macros, rest[0].text)
	case "include", "import":
		name := join(rest)
		header, system := strings.CutPrefix(name, "<")
		if !system || !p.has(strings.TrimSuffix(header, ">")) {
			return fault(line, "%s file not found", name)
		}
	case "error":
		return fault(line, "%s", join(rest))
	case "pragma", "line", "warning":
	default:
		return fault(line, "invalid preprocessing directive #%s", name)
	}
	return nil
}

// branch goes on with, or closes, the innermost condition.
func (p *preprocessor) branch(name string, rest []token, line int) error {
	if len(p.open) == 0 {
		return fault(line, "#%s without #if", name)
	}
	c := &p.open[len(p.open)-1]
	switch {
	case name == "endif":
		p.open = p.open[:len(p.open)-1]
		return nil
	case c.inElse:
		return fault(line, "#%s after #else", name)
	}
	c.inElse = name == "else"
	c.live = false
	if c.done {
		return nil
	}
	yes := true
	if name == "elif" {
		var err error
		if yes, err = p.holds("if", rest, line); err != nil {
			return err
		}
	}
	c.live, c.done = yes, yes
	return nil
}

func (p *preprocessor) define(ts []token, line int) error {
	if len(ts) == 0 || ts[0].kind != identifier {
		return fault(line, "macro name missing")
	}
	m := &macro{body: ts[1:]}
	if len(ts) > 1 && ts[1].text == "(" && !ts[1].space {
		m.function = true
		i := 2
		for ; i < len(ts) && ts[i].text != ")"; i++ {
			switch {
			case ts[i].text == ",":
			case ts[i].text == "." && i+2 < len(ts):
				m.variadic = true
				m.params = append(m.params, "__VA_ARGS__")
				i += 2
			case ts[i].kind == identifier:
				m.params = append(m.params, ts[i].text)
			default:
				return fault(line, "parameter list of macro %s", ts[0].text)
			}
		}
		if i >= len(ts) {
			return fault(line, "parameter list of macro %s", ts[0].text)
		}
		m.body = ts[i+1:]
	}
	p.macros[ts[0].text] = m
	return nil
}

// holds evaluates the condition of an #if, #ifdef or #ifndef.
func (p *preprocessor) holds(name string, ts []token, line int) (bool, error) {
	if name != "if" {
		if len(ts) == 0 {
			return false, fault(line, "macro name missing")
		}
		_, ok := p.macros[ts[0].text]
		return ok == (name == "ifdef"), nil
	}
	full, err := p.expand(nil, p.defined(ts))
	if err != nil {
		return false, err
	}
	e := expression{ts: full, line: line}
	v, err := e.binary(0)
	if err == nil && e.pos < len(e.ts) {
		err = fault(line, "condition ends at %s", e.ts[e.pos].text)
	}
	return v != 0, err
}

// defined replaces defined X, defined(X) and __has_include(...), which is never, by 1 and 0.
func (p *preprocessor) defined(ts []token) []token {
	var out []token
	for i := 0; i < len(ts); i++ {
		t := ts[i]
		switch {
		case t.text == "defined" && i+1 < len(ts):
			i++
			bracket := ts[i].text == "(" && i+2 < len(ts)
			if bracket {
				i++
			}
			v := "0"
			if _, ok := p.macros[ts[i].text]; ok {
				v = "1"
			}
			if bracket {
				i++
			}
			out = append(out, token{kind: number, text: v, line: t.line})
		case strings.HasPrefix(t.text, "__has_"):
			for i++; i < len(ts) && ts[i].text != ")"; i++ {
			}
			out = append(out, token{kind: number, text: "0", line: t.line})
		default:
			out = append(out, t)
		}
	}
	return out
}

// expression evaluates the integers of a condition.
type expression struct {
	ts   []token
	pos  int
	line int
}

// levels lists binary operators from the weakest on.
var levels = [][]string{
	{"||"}, {"&&"}, {"==", "!="}, {"<", ">", "<=", ">="}, {"+", "-"}, {"*", "/", "%"},
}

func (e *expression) peek() string {
	if e.pos < len(e.ts) {
		return e.ts[e.pos].text
	}
	return ""
}

func (e *expression) binary(level int) (int64, error) {
	if level == len(levels) {
		return e.unary()
	}
	left, err := e.binary(level + 1)
	for err == nil {
		op := e.peek()
		found := false
		for _, o := range levels[level] {
			found = found || o == op
		}
		if !found {
			return left, nil
		}
		e.pos++
		var right int64
		if right, err = e.binary(level + 1); err == nil {
			left, err = e.apply(op, left, right)
		}
	}
	return 0, err
}

func (e *expression) apply(op string, a, b int64) (int64, error) {
	truth := map[string]bool{
		"||": a != 0 || b != 0, "&&": a != 0 && b != 0, "==": a == b, "!=": a != b,
		"<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b,
	}
	if v, ok := truth[op]; ok {
		if v {
			return 1, nil
		}
		return 0, nil
	}
	switch {
	case op == "+":
		return a + b, nil
	case op == "-":
		return a - b, nil
	case op == "*":
		return a * b, nil
	case b == 0:
		return 0, fault(e.line, "division by zero in a condition")
	case op == "/":
		return a / b, nil
	}
	return a % b, nil
}

func (e *expression) unary() (int64, error) {
	if e.pos >= len(e.ts) {
		return 0, fault(e.line, "condition ends too early")
	}
	t := e.ts[e.pos]
	e.pos++
	switch {
	case t.text == "!":
		v, err := e.unary()
		if v == 0 {
			return 1, err
		}
		return 0, err
	case t.text == "-":
		v, err := e.unary()
		return -v, err
	case t.text == "(":
		v, err := e.binary(0)
		if err == nil && e.peek() != ")" {
			err = fault(e.line, "missing ) in a condition")
		}
		e.pos++
		return v, err
	case t.kind == number:
		v, err := strconv.ParseInt(strings.TrimRight(t.text, "uUlL"), 0, 64)
		if err != nil {
			return 0, fault(e.line, "%s is no integer", t.text)
		}
		return v, nil
	case t.kind == identifier: // no macro
		if t.text == "true" {
			return 1, nil
		}
		return 0, nil
	}
	return 0, fault(e.line, "unexpected %s in a condition", t.text)
}

// join is the text of tokens.
func join(ts []token) string {
	var b strings.Builder
	for i, t := range ts {
		if i > 0 && t.space {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}
