package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// object reads the members of a JSON object by their names, which stand in its errors. The first error stays; after
// it, and for members that are absent or null, the zero value is returned.
type object struct {
	path   string // what stands before a name: "" or "messages[2]."
	fields map[string]json.RawMessage
	err    error
}

// newObject reads an object that is the value of a field.
func newObject(field string, data []byte) (*object, error) {
	o := &object{path: field + "."}
	if json.Unmarshal(data, &o.fields) != nil || o.fields == nil {
		return nil, errField(field, invalidType, "want an object, got "+typeOf(data))
	}
	return o, nil
}

// topObject reads the body of a request.
func topObject(body []byte) (*object, error) {
	o := &object{}
	err := json.Unmarshal(body, &o.fields)
	var syntax *json.SyntaxError
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return nil, errJSON("the body is empty: want a JSON object")
	case errors.As(err, &syntax):
		return nil, errJSON(fmt.Sprintf("the body is not valid JSON: %v at byte %d", syntax, syntax.Offset))
	case err != nil || o.fields == nil:
		return nil, errJSON("the body must be a JSON object, got " + typeOf(body))
	}
	return o, nil
}

// typeOf names the type of a valid JSON value.
func typeOf(data []byte) string {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return "nothing"
	}
	switch data[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

// raw is the value of a member, nil if it is absent or null.
func (o *object) raw(name string) json.RawMessage {
	v := o.fields[name]
	if string(v) == "null" {
		return nil
	}
	return v
}

// fail notes an error of a member.
func (o *object) fail(name, code, format string, args ...any) {
	if o.err == nil {
		o.err = errField(o.path+name, code, fmt.Sprintf(format, args...))
	}
}

// take reads a member into a variable of the type that want describes.
func (o *object) take(name, want string, to any) bool {
	v := o.raw(name)
	if v == nil {
		return false
	}
	if json.Unmarshal(v, to) != nil {
		o.fail(name, invalidType, "want %s, got %s", want, typeOf(v))
		return false
	}
	return true
}

func (o *object) text(name string) (s string) {
	o.take(name, "a string", &s)
	return s
}

func (o *object) flag(name string) (b bool) {
	o.take(name, "true or false", &b)
	return b
}

// list is nil if the member is absent or null.
func (o *object) list(name string) (items []json.RawMessage) {
	o.take(name, "a list", &items)
	return items
}

// number reads a number in a range.
func (o *object) number(name string, low, high float64) (v float64, ok bool) {
	if raw := o.raw(name); raw != nil && typeOf(raw) == "a number" && json.Unmarshal(raw, &v) != nil {
		o.fail(name, invalidValue, "want %g to %g, got a number that is too large", low, high)
		return 0, false
	}
	if !o.take(name, "a number", &v) {
		return 0, false
	}
	if v < low || v > high {
		o.fail(name, invalidValue, "want %g to %g, got %g", low, high, v)
		return 0, false
	}
	return v, true
}

// whole reads a whole number in a range; 5.0 is one too.
func (o *object) whole(name string, low, high int64) (n int64, ok bool) {
	v := o.raw(name)
	if v == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		const exact = 1 << 53 // beyond it floats are whole by lack of digits
		var f float64
		if json.Unmarshal(v, &f) != nil || f != math.Trunc(f) || math.Abs(f) > exact {
			o.fail(name, invalidType, "want a whole number, got %s", wholeOf(v))
			return 0, false
		}
		n = int64(f)
	}
	if n < low || n > high {
		o.fail(name, invalidValue, "want %d to %d, got %d", low, high, n)
		return 0, false
	}
	return n, true
}

// wholeOf says what stands where a whole number should.
func wholeOf(v json.RawMessage) string {
	if t := typeOf(v); t != "a number" {
		return t
	}
	return "a number that is not whole or too large"
}
