package msl

import (
	"fmt"
	"strconv"
	"strings"
)

// Pos is a place in a source file, as the line markers of the preprocessor tell it.
type Pos struct {
	File string
	Line int
}

func (p Pos) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// token is one preprocessing token and the white space (comments are gone, line markers are kept) before it. The
// last token of a source is empty and carries the trailing white space.
type token struct {
	text  string
	space string
	pos   Pos
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isWord(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c >= 128
}

// lex splits preprocessed source into tokens. Attributes open with the single token "[["; they close with two "]".
func lex(file, src string) []token {
	var out []token
	pos := Pos{file, 1}
	for i := 0; ; {
		start := i
		for i < len(src) {
			if src[i] == '#' && (i == 0 || src[i-1] == '\n') {
				end := i + strings.IndexByte(src[i:]+"\n", '\n')
				if p, ok := lineMarker(src[i:end]); ok {
					pos = p
					pos.Line-- // the newline that ends the marker counts
				}
				i = end
				continue
			}
			if !isSpace(src[i]) {
				break
			}
			if src[i] == '\n' {
				pos.Line++
			}
			i++
		}
		space := src[start:i]
		if i >= len(src) {
			return append(out, token{"", space, pos})
		}
		n := tokenLen(src[i:])
		out = append(out, token{src[i : i+n], space, pos})
		pos.Line += strings.Count(src[i:i+n], "\n")
		i += n
	}
}

// lineMarker reads `# 12 "file" flags`.
func lineMarker(s string) (Pos, bool) {
	f := strings.SplitN(strings.TrimSpace(s), " ", 4)
	if len(f) < 3 || f[0] != "#" {
		return Pos{}, false
	}
	line, err := strconv.Atoi(f[1])
	if err != nil {
		return Pos{}, false
	}
	name, err := strconv.Unquote(f[2])
	if err != nil {
		return Pos{}, false
	}
	return Pos{name, line}, true
}

// tokenLen is the length of the token at the start of s, which is not empty.
func tokenLen(s string) int {
	c := s[0]
	switch {
	case c == '"' || c == '\'':
		i := 1
		for i < len(s) && s[i] != c {
			if s[i] == '\\' {
				i++
			}
			i++
		}
		return min(i+1, len(s))
	case isDigit(c) || c == '.' && len(s) > 1 && isDigit(s[1]):
		return numberLen(s)
	case isWord(c):
		i := 1
		for i < len(s) && isWord(s[i]) {
			i++
		}
		return i
	}
	for _, two := range [...]string{"[[", "::", "->", "&&", "||"} {
		if strings.HasPrefix(s, two) {
			return 2
		}
	}
	return 1
}

// numberLen is the length of a preprocessing number: digits, letters, points, and signs after an exponent.
func numberLen(s string) int {
	hex := strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X")
	i := 1
	for i < len(s) {
		sign := !hex && (s[i-1] == 'e' || s[i-1] == 'E') && (s[i] == '+' || s[i] == '-')
		if !isWord(s[i]) && s[i] != '.' && !sign {
			break
		}
		i++
	}
	return i
}

// isNumber reports whether t is a numeric literal.
func (t token) isNumber() bool {
	return t.text != "" && (isDigit(t.text[0]) || len(t.text) > 1 && t.text[0] == '.' && isDigit(t.text[1]))
}

// isIdent reports whether t is an identifier or keyword.
func (t token) isIdent() bool { return t.text != "" && isWord(t.text[0]) && !isDigit(t.text[0]) }

// join writes tokens on one line with a space between them.
func join(ts []token) string {
	var b strings.Builder
	for _, t := range ts {
		if t.text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}

// closers names the token that closes each bracket.
var closers = map[string]string{"(": ")", "{": "}", "[": "]", "[[": "]", "<": ">"}

// closer returns the index of the token that closes the bracket at ts[i]. A "<" that nothing closes within its
// statement is an operator: its own index is returned. Other brackets are known to be closed: see balanced.
func closer(ts []token, i int) int {
	open, depth := ts[i].text, 0
	for j := i; j < len(ts); j++ {
		t := ts[j].text
		switch {
		case open == "[[" || open == "[":
			depth += map[string]int{"[": 1, "[[": 2, "]": -1}[t]
		case t == open:
			depth++
		case t == closers[open]:
			depth--
		case open == "<" && t == "(": // a comparison or call inside parentheses does not count
			j = closer(ts, j)
		case open == "<" && (t == ";" || t == "{" || t == "}" || t == ""):
			return i
		}
		if depth == 0 {
			return j
		}
	}
	if open == "<" {
		return i
	}
	return len(ts) - 1
}

// balanced returns the first bracket that is not closed or not opened, or -1. Angle brackets are not looked at.
func balanced(ts []token) int {
	var open []int
	for i, t := range ts {
		switch t.text {
		case "[[":
			open = append(open, i, i)
		case "(", "[", "{":
			open = append(open, i)
		case ")", "]", "}":
			if len(open) == 0 || closers[ts[open[len(open)-1]].text] != t.text {
				return i
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return open[len(open)-1]
	}
	return -1
}
