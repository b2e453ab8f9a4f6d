package prompt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/ardanlabs/jinja"
)

// maxJSONDepth bounds the nesting of tool definitions, arguments and options.
const maxJSONDepth = 100

// parseJSON reads one JSON value, keeping the order of members and the difference between whole numbers and others
// as Python does. Every text is passed through mark.
func parseJSON(data []byte, mark func(string) string, digits rune) (jinja.Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	p := &jsonReader{d: d, mark: mark, digits: digits}
	v, err := p.value(0)
	if err != nil {
		return v, err
	}
	if _, err := d.Token(); err != io.EOF {
		return v, errors.New("something follows the end of the value")
	}
	return v, nil
}

type jsonReader struct {
	d      *json.Decoder
	mark   func(string) string
	digits rune // stands on both sides of a whole number that 64 bits cannot hold
}

func (p *jsonReader) value(depth int) (jinja.Value, error) {
	if depth > maxJSONDepth {
		return jinja.None(), fmt.Errorf("more than %d levels", maxJSONDepth)
	}
	t, err := p.d.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return jinja.None(), err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return p.object(depth)
		}
		return p.array(depth)
	case json.Number:
		return p.number(string(t))
	case string:
		return jinja.NewString(p.mark(t)), nil
	case bool:
		return jinja.NewBool(t), nil
	}
	return jinja.None(), nil
}

func (p *jsonReader) object(depth int) (jinja.Value, error) {
	out := jinja.NewDict()
	for p.d.More() {
		key, err := p.d.Token()
		if err != nil {
			return out, err
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return out, err
		}
		name, _ := key.(string)
		out.AsDict().Set(p.mark(name), v)
	}
	_, err := p.d.Token()
	return out, err
}

func (p *jsonReader) array(depth int) (jinja.Value, error) {
	var items []jinja.Value
	for p.d.More() {
		v, err := p.value(depth + 1)
		if err != nil {
			return v, err
		}
		items = append(items, v)
	}
	_, err := p.d.Token()
	return jinja.NewList(items), err
}

func (p *jsonReader) number(s string) (jinja.Value, error) {
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return jinja.None(), fmt.Errorf("the number %s is out of range", short(s))
		}
		return jinja.NewFloat(f), nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return jinja.NewInt(n), nil
	}
	if len(s) > 1000 {
		return jinja.None(), fmt.Errorf("a number of %d digits", len(s))
	}
	return jinja.NewString(string(p.digits) + s + string(p.digits)), nil
}

// pyFloat formats as Python's repr: the shortest digits that round back, at least one after the point, an exponent
// below 1e-4 and from 1e16 on.
func pyFloat(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// pyString formats v as Python's str.
func (s *state) pyString(v jinja.Value) (string, error) {
	if v.IsString() {
		return v.AsString(), nil
	}
	if v.IsUndefined() || v.IsCallable() {
		return "", nil
	}
	w := writer{state: s}
	err := w.repr(v, 0)
	return w.b.String(), err
}

// writer writes nested values; it stops at what is too deep or too long.
type writer struct {
	state    *state
	b        strings.Builder
	item     string // between items
	key      string // between key and value
	indent   string // of one level; lines are broken only if broken is set
	broken   bool
	ascii    bool
	sortKeys bool
}

func (w *writer) check(depth int) error {
	if depth > 2*maxJSONDepth || w.b.Len() > w.state.maxOutput {
		return fmt.Errorf("%w: a value that is too large to print", ErrLimit)
	}
	return nil
}

// repr writes v as Python's repr.
func (w *writer) repr(v jinja.Value, depth int) error {
	if err := w.check(depth); err != nil {
		return err
	}
	switch {
	case v.IsString():
		if n, ok := w.state.wide(v.AsString()); ok {
			w.b.WriteString(n)
		} else {
			w.b.WriteString(pyQuote(v.AsString()))
		}
	case v.IsFloat():
		w.b.WriteString(pyFloat(v.AsFloat()))
	case v.IsList():
		w.b.WriteByte('[')
		for i, item := range v.AsList().Items {
			if i > 0 {
				w.b.WriteString(", ")
			}
			if err := w.repr(item, depth+1); err != nil {
				return err
			}
		}
		w.b.WriteByte(']')
	case v.IsDict():
		w.b.WriteByte('{')
		for i, key := range v.AsDict().Keys {
			if i > 0 {
				w.b.WriteString(", ")
			}
			w.b.WriteString(pyQuote(key) + ": ")
			if err := w.repr(v.AsDict().Data[key], depth+1); err != nil {
				return err
			}
		}
		w.b.WriteByte('}')
	default:
		w.b.WriteString(v.String())
	}
	return nil
}

// pyQuote quotes as Python's repr does a text; marks pass.
func pyQuote(s string) string {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b := []byte{quote}
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case unicode.IsPrint(r) || inMarkRanges(r):
			b = append(b, string(r)...)
		case r <= 0xff:
			b = fmt.Appendf(b, `\x%02x`, r)
		case r <= 0xffff:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = fmt.Appendf(b, `\U%08x`, r)
		}
	}
	return string(append(b, quote))
}
