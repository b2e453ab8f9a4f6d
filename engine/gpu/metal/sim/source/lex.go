// Package source reads Metal source text as far as the simulated runtime needs: it preprocesses it and lists the
// kernel functions that it declares, by [[host_name("...")]] through whatever macros, or by their own name. What is
// not in the text is therefore not in the library. It is no compiler: expressions and types are not looked at, so
// text with an error inside a function body passes. Includes of system headers are passed over; any other include is
// an error, as it is where a library is made from a text alone.
package source

import (
	"fmt"
	"strings"
)

// kind is what a token is.
type kind uint8

const (
	identifier kind = iota
	number
	text // string or character literal, with its quotes
	punctuation
)

// token is a preprocessing token.
type token struct {
	text  string
	kind  kind
	line  int
	space bool    // white space comes before it
	first bool    // first of its line
	hide  *hidden // macros that made it and are not expanded in it again
}

// hidden is a list of macro names.
type hidden struct {
	name string
	next *hidden
}

func (h *hidden) has(name string) bool {
	for ; h != nil; h = h.next {
		if h.name == name {
			return true
		}
	}
	return false
}

// Error is a fault of the text.
type Error struct {
	Line int
	Msg  string
}

func (e *Error) Error() string { return fmt.Sprintf("program_source:%d: error: %s", e.Line, e.Msg) }

func fault(line int, format string, args ...any) error {
	return &Error{line, fmt.Sprintf(format, args...)}
}

// operators of more than one character that matter here.
var operators = []string{"[[", "]]", "##", "&&", "||", "==", "!=", "<=", ">=", "::", "->"}

// lexer cuts a text into tokens.
type lexer struct {
	s         string
	pos, line int
	space     bool
	first     bool
}

// tokens returns all tokens of the text.
func tokens(s string) ([]token, error) {
	l := lexer{s: s, line: 1, first: true}
	out := make([]token, 0, len(s)/4)
	for {
		if err := l.skip(); err != nil {
			return nil, err
		}
		if l.pos == len(l.s) {
			return out, nil
		}
		t, err := l.next()
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
}

// skip passes over white space, comments and joined lines.
func (l *lexer) skip() error {
	for l.pos < len(l.s) {
		rest := l.s[l.pos:]
		switch {
		case rest[0] == '\n':
			l.line++
			l.pos++
			l.first = true
		case rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r' || rest[0] == '\f' || rest[0] == '\v':
			l.pos++
		case strings.HasPrefix(rest, "\\\n"):
			l.line++
			l.pos += 2
		case strings.HasPrefix(rest, "//"):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			l.pos += end
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				return fault(l.line, "unterminated comment")
			}
			l.line += strings.Count(rest[:end+4], "\n")
			l.pos += end + 4
		default:
			return nil
		}
		l.space = true
	}
	return nil
}

// next reads the token at the current place.
func (l *lexer) next() (token, error) {
	t := token{line: l.line, space: l.space, first: l.first}
	l.space, l.first = false, false
	start, c := l.pos, l.s[l.pos]
	switch {
	case letter(c):
		t.kind = identifier
		for l.pos < len(l.s) && (letter(l.s[l.pos]) || digit(l.s[l.pos])) {
			l.pos++
		}
	case digit(c) || c == '.' && l.pos+1 < len(l.s) && digit(l.s[l.pos+1]):
		t.kind = number
		for l.pos < len(l.s) && l.inNumber() {
			l.pos++
		}
	case c == '"' || c == '\'':
		t.kind = text
		if err := l.literal(c); err != nil {
			return t, err
		}
	default:
		t.kind = punctuation
		l.pos += operatorLength(l.s[start:])
	}
	t.text = l.s[start:l.pos]
	return t, nil
}

// operatorLength is the length of the operator that s begins with.
func operatorLength(s string) int {
	for _, o := range operators {
		if strings.HasPrefix(s, o) {
			return len(o)
		}
	}
	return 1
}

// literal passes over a string or character up to the quote that closes it.
func (l *lexer) literal(quote byte) error {
	for l.pos++; l.pos < len(l.s) && l.s[l.pos] != '\n'; l.pos++ {
		switch l.s[l.pos] {
		case quote:
			l.pos++
			return nil
		case '\\':
			l.pos++
		}
	}
	return fault(l.line, "missing terminating %c", quote)
}

// inNumber tells whether the current character goes on with a number: digits, letters, points, and a sign behind an
// exponent.
func (l *lexer) inNumber() bool {
	c := l.s[l.pos]
	if c == '+' || c == '-' {
		switch l.s[l.pos-1] {
		case 'e', 'E', 'p', 'P':
			return true
		}
		return false
	}
	return letter(c) || digit(c) || c == '.' || c == '\''
}

func letter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func digit(c byte) bool { return c >= '0' && c <= '9' }
