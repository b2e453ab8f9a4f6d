package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// MaxFile is the longest file in bytes that is parsed.
const MaxFile = 16 << 20

// SyntaxError is a place where a file is not JSON.
type SyntaxError struct {
	File         string
	Line, Column int // from 1; columns count bytes
	Err          error
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %v", e.File, e.Line, e.Column, e.Err)
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// object reads the fields of a JSON object with their limits. The first fault is kept in fault, shared with all
// objects of the same file; after it every getter returns its default.
type object struct {
	path   string // "" or "text_config."
	fields map[string]json.RawMessage
	fault  *error
}

// parseObject reads a file whose top level is an object. Bare NaN, Infinity and -Infinity count as numbers, as
// Python writes them.
func parseObject(file string, text []byte) (*object, error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("%s: %d bytes, at most %d are read", file, len(text), MaxFile)
	}
	quoted, grown := quoteNonFinite(text)
	o := &object{fault: new(error)}
	if err := json.Unmarshal(quoted, &o.fields); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, syntaxError(file, text, int(syntax.Offset), grown, err)
		}
		return nil, fmt.Errorf("%s: not a JSON object", file)
	}
	if o.fields == nil {
		return nil, fmt.Errorf("%s: not a JSON object", file)
	}
	return o, nil
}

// syntaxError finds the line and column of an offset into the rewritten text.
func syntaxError(file string, text []byte, offset int, grown []growth, err error) error {
	for _, g := range slices.Backward(grown) {
		if offset > g.at {
			offset = max(offset-g.by, g.from)
			break
		}
	}
	at := min(max(offset-1, 0), len(text))
	line := bytes.Count(text[:at], []byte("\n")) + 1
	column := at - (bytes.LastIndexByte(text[:at], '\n') + 1) + 1
	return &SyntaxError{File: file, Line: line, Column: column, Err: err}
}

// growth notes that rewritten text past at is by bytes further than it was; from is its place before.
type growth struct{ at, from, by int }

// nonFinite are the tokens that Python's json writes for floats that JSON lacks.
var nonFinite = [...]string{"-Infinity", "Infinity", "NaN"}

// mark begins the string that stands for a non-finite token; no field of ours has a value that begins so.
const mark = "\x00"

// quoteNonFinite replaces each bare non-finite token at the place of a value by a marked string.
func quoteNonFinite(text []byte) ([]byte, []growth) {
	out := make([]byte, 0, len(text)+64)
	var grown []growth
	last := byte(0) // last byte outside strings that is not a space
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			end := stringEnd(text, i)
			out, i, last = append(out, text[i:end]...), end, '"'
			continue
		case (c == '-' || c == 'I' || c == 'N') && (last == ':' || last == ',' || last == '['):
			if token := nonFiniteAt(text, i); token != "" {
				out = append(out, `"\u0000`+token+`"`...)
				i += len(token)
				grown = append(grown, growth{at: len(out), from: i, by: len(out) - i})
				last = '0'
				continue
			}
			last = c
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			last = c
		}
		out = append(out, text[i])
		i++
	}
	return out, grown
}

// stringEnd is the index after the string that starts at i, or the end of the text.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// nonFiniteAt returns the token at i when what follows it ends a value.
func nonFiniteAt(text []byte, i int) string {
	for _, token := range nonFinite {
		if !bytes.HasPrefix(text[i:], []byte(token)) {
			continue
		}
		rest := bytes.TrimLeft(text[i+len(token):], " \t\r\n")
		if len(rest) > 0 && (rest[0] == ',' || rest[0] == ']' || rest[0] == '}') {
			return token
		}
	}
	return ""
}

func (o *object) fail(key, format string, args ...any) {
	if *o.fault != nil {
		return
	}
	for i, a := range args {
		if r, ok := a.(json.RawMessage); ok {
			args[i] = asWritten(r)
		}
	}
	*o.fault = fmt.Errorf("%s%s: %s", o.path, key, fmt.Sprintf(format, args...))
}

// asWritten is the text of a value for messages, with non-finite numbers as the file has them.
func asWritten(r json.RawMessage) json.RawMessage {
	for _, token := range nonFinite {
		r = bytes.ReplaceAll(r, []byte(`"\u0000`+token+`"`), []byte(token))
	}
	return r
}

// raw returns a field's text; false when it is absent or null.
func (o *object) raw(key string) (json.RawMessage, bool) {
	r, ok := o.fields[key]
	return r, ok && string(r) != "null" && *o.fault == nil
}

// has tells whether a field is there and not null.
func (o *object) has(key string) bool {
	r, ok := o.fields[key]
	return ok && string(r) != "null"
}

// number decodes a float: a JSON number, a marked token, or {"__float__": "Infinity"}, as some writers have it.
func number(r json.RawMessage) (float64, bool) {
	var wrapped struct {
		Float *string `json:"__float__"`
	}
	var s string
	switch {
	case len(r) == 0:
		return 0, false
	case r[0] == '{':
		if json.Unmarshal(r, &wrapped) != nil || wrapped.Float == nil {
			return 0, false
		}
		s = *wrapped.Float
		if !slices.Contains(nonFinite[:], s) {
			return 0, false
		}
	case r[0] == '"':
		if json.Unmarshal(r, &s) != nil || len(s) == 0 || s[:1] != mark {
			return 0, false
		}
		s = s[1:]
	default:
		s = string(r)
		if s == "true" || s == "false" || s[0] == '[' {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// float returns a number from lo to hi; NaN never fits.
func (o *object) float(key string, def, lo, hi float64) float64 {
	r, ok := o.raw(key)
	if !ok {
		return def
	}
	f, ok := number(r)
	switch {
	case !ok:
		o.fail(key, "want a number, is %.40s", r)
	case !(f >= lo && f <= hi):
		o.fail(key, "%v is outside %v to %v", f, lo, hi)
	default:
		return f
	}
	return def
}

// integer returns a whole number from lo to hi; it must be there.
func (o *object) integer(key string, lo, hi int) int {
	if !o.has(key) {
		o.fail(key, "is missing")
		return lo
	}
	return o.optional(key, lo, lo, hi)
}

// optional is integer with a default.
func (o *object) optional(key string, def, lo, hi int) int {
	r, ok := o.raw(key)
	if !ok {
		return def
	}
	n, err := whole(r)
	switch {
	case err != nil:
		o.fail(key, "%v", err)
	case n < lo || n > hi:
		o.fail(key, "%d is outside %d to %d", n, lo, hi)
	default:
		return n
	}
	return def
}

// whole decodes an integer; 4.0 counts as 4.
func whole(r json.RawMessage) (int, error) {
	f, ok := number(r)
	if !ok || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, fmt.Errorf("want a whole number, is %.40s", asWritten(r))
	}
	return int(f), nil
}

// boolean returns a flag.
func (o *object) boolean(key string, def bool) bool {
	r, ok := o.raw(key)
	if !ok {
		return def
	}
	var b bool
	if json.Unmarshal(r, &b) != nil {
		o.fail(key, "want true or false, is %.40s", r)
		return def
	}
	return b
}

// text returns a string.
func (o *object) text(key, def string) string {
	r, ok := o.raw(key)
	if !ok {
		return def
	}
	var s string
	if json.Unmarshal(r, &s) != nil {
		o.fail(key, "want a string, is %.40s", r)
		return def
	}
	return s
}

// list returns the elements of an array of at most n; nil when it is absent.
func (o *object) list(key string, n int) []json.RawMessage {
	r, ok := o.raw(key)
	if !ok {
		return nil
	}
	var l []json.RawMessage
	if err := json.Unmarshal(r, &l); err != nil {
		o.fail(key, "want a list, is %.40s", r)
		return nil
	}
	if len(l) > n {
		o.fail(key, "%d elements, at most %d are allowed", len(l), n)
		return nil
	}
	return l
}

// child returns a nested object, nil when it is absent.
func (o *object) child(key string) *object {
	r, ok := o.raw(key)
	if !ok {
		return nil
	}
	c := &object{path: o.path + key + ".", fault: o.fault}
	if json.Unmarshal(r, &c.fields) != nil || c.fields == nil {
		o.fail(key, "want an object, is %.40s", r)
		return nil
	}
	return c
}

// must refuses a flag or word that the decoder does not compute: want is the only value that may stand there.
func (o *object) must(key, want string) {
	r, ok := o.raw(key)
	if ok && string(r) != want {
		o.fail(key, "%.40s is not supported, only %s", r, want)
	}
}
