package token

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads JSON front to back without building a tree: a vocabulary is a third of a million strings. The first
// error stays; after it every call returns at once.
type scanner struct {
	data []byte
	base int // offset of data in the file
	pos  int
	err  error
	buf  []byte // the last string that had escapes
}

const maxDepth = 64 // of values that are skipped

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("byte %d: %s", s.base+s.pos, fmt.Sprintf(format, args...))
	}
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) expect(c byte) {
	if s.err != nil {
		return
	}
	if got := s.peek(); got != c {
		s.fail("%q expected, %s found", c, found(got, s.pos < len(s.data)))
		return
	}
	s.pos++
}

func found(c byte, some bool) string {
	if !some {
		return "the end"
	}
	return strconv.QuoteToASCII(string(rune(c)))
}

// end requires that nothing but white space is left.
func (s *scanner) end() {
	if s.err == nil {
		s.peek()
		if s.pos < len(s.data) {
			s.fail("something follows the end of the value")
		}
	}
}

// object calls field with the name of each member; field must read its value. The name is valid during the call.
func (s *scanner) object(field func(name []byte)) {
	s.sequence('{', '}', func() {
		name := s.text()
		s.expect(':')
		if s.err == nil {
			field(name)
		}
	})
}

// array calls element for each element, which must read it.
func (s *scanner) array(element func()) { s.sequence('[', ']', element) }

func (s *scanner) sequence(open, closing byte, item func()) {
	s.expect(open)
	if s.err == nil && s.peek() == closing {
		s.pos++
		return
	}
	for s.err == nil {
		item()
		if s.err != nil {
			return
		}
		switch c := s.peek(); c {
		case ',':
			s.pos++
		case closing:
			s.pos++
			return
		default:
			s.fail("',' or %q expected, %s found", closing, found(c, s.pos < len(s.data)))
		}
	}
}

// text reads a string. The result is valid until the next call.
func (s *scanner) text() []byte {
	s.expect('"')
	if s.err != nil {
		return nil
	}
	start := s.pos
	for i := start; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '"':
			s.pos = i + 1
			out := s.data[start:i]
			if !utf8.Valid(out) {
				s.pos = start
				s.fail("a string that is not UTF-8")
			}
			return out
		case c == '\\':
			return s.escaped(start, i)
		case c < ' ':
			s.pos = i
			s.fail("a control character inside a string")
			return nil
		}
	}
	s.pos = len(s.data)
	s.fail("a string without an end")
	return nil
}

// escaped reads the rest of a string that has its first backslash at i.
func (s *scanner) escaped(start, i int) []byte {
	s.buf = append(s.buf[:0], s.data[start:i]...)
	for s.pos = i; s.pos < len(s.data); {
		c := s.data[s.pos]
		switch {
		case c == '"':
			s.pos++
			if !utf8.Valid(s.buf) {
				s.fail("a string that is not UTF-8")
			}
			return s.buf
		case c < ' ':
			s.fail("a control character inside a string")
			return nil
		case c == '\\':
			s.pos++
			s.escape()
			if s.err != nil {
				return nil
			}
		default:
			s.buf = append(s.buf, c)
			s.pos++
		}
	}
	s.fail("a string without an end")
	return nil
}

// escape appends the character of the escape whose letter is at pos.
func (s *scanner) escape() {
	if s.pos >= len(s.data) {
		s.fail("a string without an end")
		return
	}
	c := s.data[s.pos]
	if c == 'u' {
		r := s.hex(s.pos + 1)
		s.pos += 5
		if utf16.IsSurrogate(r) && bytes.HasPrefix(s.data[min(s.pos, len(s.data)):], []byte(`\u`)) {
			if pair := utf16.DecodeRune(r, s.hex(s.pos+2)); pair != utf8.RuneError {
				r = pair
				s.pos += 6
			}
		}
		if s.err == nil && utf16.IsSurrogate(r) {
			s.fail("half a surrogate pair")
		}
		s.buf = utf8.AppendRune(s.buf, r)
		return
	}
	from, to := `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	k := bytes.IndexByte([]byte(from), c)
	if k < 0 {
		s.fail("unknown escape \\%s", found(c, true))
		return
	}
	s.buf = append(s.buf, to[k])
	s.pos++
}

func (s *scanner) hex(at int) rune {
	if at+4 > len(s.data) {
		s.fail("a string without an end")
		return 0
	}
	v, err := strconv.ParseUint(string(s.data[at:at+4]), 16, 32)
	if err != nil {
		s.fail("four hexadecimal digits expected after \\u")
	}
	return rune(v)
}

// integer reads a whole number from 0 to max.
func (s *scanner) integer(max int64) int64 {
	if s.err != nil {
		return 0
	}
	s.peek()
	start := s.pos
	for s.pos < len(s.data) && bytes.IndexByte([]byte("+-.0123456789eE"), s.data[s.pos]) >= 0 {
		s.pos++
	}
	v, err := strconv.ParseInt(string(s.data[start:s.pos]), 10, 64)
	if err != nil || v < 0 || v > max {
		text := s.data[start:min(s.pos, start+24)]
		s.pos = start
		s.fail("a whole number from 0 to %d expected, %q found", max, text)
		return 0
	}
	return v
}

// skip passes over one value and returns its text. Numbers and words are not looked into.
func (s *scanner) skip() []byte {
	if s.err != nil {
		return nil
	}
	s.peek()
	start, depth := s.pos, 0
	for s.err == nil {
		switch c := s.peek(); c {
		case '{', '[':
			s.pos++
			if depth++; depth > maxDepth {
				s.fail("more than %d levels", maxDepth)
			}
		case '}', ']':
			s.pos++
			depth--
		case '"':
			s.skipText()
		case ',', ':':
			if depth == 0 {
				s.fail("a value expected, %q found", c)
				return nil
			}
			s.pos++
			continue
		case 0:
			s.fail("a value expected, %s found", found(c, s.pos < len(s.data)))
			return nil
		default:
			for s.pos < len(s.data) && bytes.IndexByte([]byte(" \t\r\n,:{}[]\"\x00"), s.data[s.pos]) < 0 {
				s.pos++
			}
		}
		if depth < 0 {
			s.fail("a value expected, a closing bracket found")
		}
		if depth == 0 {
			break
		}
	}
	return s.data[start:s.pos]
}

func (s *scanner) skipText() {
	for i := s.pos + 1; i < len(s.data); i++ {
		switch s.data[i] {
		case '"':
			s.pos = i + 1
			return
		case '\\':
			i++
		}
	}
	s.fail("a string without an end")
}
