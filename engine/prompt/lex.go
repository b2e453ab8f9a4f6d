package prompt

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// kind tells the pieces of a template apart.
type kind uint8

const (
	literal    kind = iota // text that is printed
	expression             // {{ ... }}
	statement              // {% ... %}
)

// piece is a part of a template after white-space control: a literal's text or the code of a tag.
type piece struct {
	kind kind
	text string
	line int
}

// lexer divides a template as Jinja2 does with trim_blocks and lstrip_blocks, the way chat templates are rendered:
// a newline after a block or comment is dropped, and so are blanks before one at the start of a line.
type lexer struct {
	src       string
	pos       int
	lineStart bool // the last tag took the end of its line with it
	out       []piece
}

var (
	newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")
	rawOpen  = regexp.MustCompile(`^\s*raw\s*(-%\}\s*|%\})`)
	rawClose = regexp.MustCompile(`\{%([-+]?)\s*endraw\s*(\+%\}|-%\}\s*|%\}\n?)`)
)

func lex(src string) ([]piece, error) {
	l := &lexer{src: strings.TrimSuffix(newlines.Replace(src), "\n"), lineStart: true}
	for l.pos < len(l.src) {
		if err := l.next(); err != nil {
			return nil, fmt.Errorf("line %d: %w", l.line(), err)
		}
	}
	return l.out, nil
}

func (l *lexer) line() int { return 1 + strings.Count(l.src[:min(l.pos, len(l.src))], "\n") }

// opening returns where the next tag opens at or after i, or -1.
func (l *lexer) opening(i int) int {
	for i < len(l.src) {
		k := strings.IndexByte(l.src[i:], '{')
		if k < 0 || i+k+1 >= len(l.src) {
			return -1
		}
		if c := l.src[i+k+1]; c == '{' || c == '%' || c == '#' {
			return i + k
		}
		i += k + 1
	}
	return -1
}

func (l *lexer) next() error {
	at := l.opening(l.pos)
	if at < 0 {
		l.literal(l.src[l.pos:])
		l.pos = len(l.src)
		return nil
	}
	text, tag := l.src[l.pos:at], l.src[at+1]
	body := at + 2
	flag := byte(0)
	if body < len(l.src) && (l.src[body] == '-' || l.src[body] == '+') {
		flag = l.src[body]
		body++
	}
	l.literal(l.before(text, tag != '{', flag))
	l.pos = body
	switch tag {
	case '#':
		return l.comment()
	case '{':
		return l.tag(expression, "}}")
	}
	if m := rawOpen.FindStringIndex(l.src[body:]); m != nil {
		l.pos = body + m[1]
		l.lineStart = l.src[l.pos-1] == '\n'
		return l.raw()
	}
	return l.tag(statement, "%}")
}

// before trims the text in front of a tag.
func (l *lexer) before(text string, block bool, flag byte) string {
	if flag == '-' {
		return strings.TrimRightFunc(text, unicode.IsSpace)
	}
	start := strings.LastIndexByte(text, '\n') + 1
	if block && flag == 0 && (start > 0 || l.lineStart) && strings.TrimSpace(text[start:]) == "" {
		return text[:start]
	}
	return text
}

func (l *lexer) literal(text string) {
	if text != "" {
		l.out = append(l.out, piece{literal, text, l.line()})
	}
}

func (l *lexer) comment() error {
	k := strings.Index(l.src[l.pos:], "#}")
	if k < 0 {
		return fmt.Errorf("a comment without an end")
	}
	end := l.pos + k
	l.after(end, 2, end > l.pos && l.src[end-1] == '-', end > l.pos && l.src[end-1] == '+', true)
	return nil
}

func (l *lexer) raw() error {
	m := rawClose.FindStringSubmatchIndex(l.src[l.pos:])
	if m == nil {
		return fmt.Errorf("a raw block without an end")
	}
	text := l.src[l.pos : l.pos+m[0]]
	flag := byte(0)
	if m[3] > m[2] {
		flag = l.src[l.pos+m[2]]
	}
	l.literal(l.before(text, true, flag))
	l.pos += m[1]
	l.lineStart = l.src[l.pos-1] == '\n'
	return nil
}

// tag reads the code of a tag up to its end. Ends inside strings and brackets do not count.
func (l *lexer) tag(k kind, closing string) error {
	start, depth := l.pos, 0
	for i := l.pos; i < len(l.src); i++ {
		if depth == 0 && strings.HasPrefix(l.src[i:], closing) {
			end, minus, plus := i, false, false
			if end > start {
				minus = l.src[end-1] == '-'
				plus = k == statement && l.src[end-1] == '+'
			}
			code := l.src[start:end]
			if minus || plus {
				code = code[:len(code)-1]
			}
			l.out = append(l.out, piece{k, code, l.line()})
			l.after(end, 2, minus, plus, k == statement)
			return nil
		}
		switch c := l.src[i]; c {
		case '\'', '"':
			for i++; i < len(l.src) && l.src[i] != c; i++ {
				if l.src[i] == '\\' {
					i++
				}
			}
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
			if depth < 0 {
				return fmt.Errorf("a closing bracket without its opening one")
			}
		}
	}
	return fmt.Errorf("a tag without an end")
}

// after moves behind the end of a tag and the white space that it takes along.
func (l *lexer) after(end, size int, minus, plus, block bool) {
	l.pos = end + size
	rest := l.src[l.pos:]
	switch {
	case minus:
		l.pos += len(rest) - len(strings.TrimLeftFunc(rest, unicode.IsSpace))
	case block && !plus && strings.HasPrefix(rest, "\n"):
		l.pos++
	}
	l.lineStart = l.src[l.pos-1] == '\n'
}
