package prompt

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ardanlabs/jinja"
)

// Limits of one rendering.
const (
	maxSteps  = 1 << 20 // rounds of loops
	maxDepth  = 64      // macros inside one another
	maxRange  = 1 << 17 // numbers of a range
	maxItems  = 1 << 20 // items of a list that is assigned
	maxTime   = 10 * time.Second
	minOutput = 16 << 20 // bytes; a long conversation may have 16 times its size
)

// state is what one rendering counts.
type state struct {
	ctx       context.Context //nolint:containedctx // one rendering's; the library's callbacks take no context
	now       time.Time
	deadline  time.Time
	digits    string // stands on both sides of a whole number that is kept as text
	maxOutput int
	output    int
	steps     int
	depth     int
	calls     int
}

// function is the form of a callable of the library.
type function = func(args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error)

// variables returns the functions that a rewritten template calls.
func (s *state) variables(n names) map[string]jinja.Value {
	out := map[string]jinja.Value{}
	for name, f := range map[string]function{
		n.out(): s.out, n.step(): s.step, n.enter(): s.enter, n.leave(): s.leave, n.size(): s.size, n.count(): s.count,
		n.filter("string"): s.str, n.filter("tojson"): s.toJSON,
		"raise_exception": s.raise, "range": s.numbers, "strftime_now": s.strftime,
	} {
		out[name] = jinja.NewCallable(name, f)
	}
	return out
}

var nothing = jinja.NewString("")

// alive checks, now and then, whether the rendering may go on.
func (s *state) alive() error {
	if s.calls++; s.calls%64 != 0 {
		return nil
	}
	if err := context.Cause(s.ctx); err != nil {
		return err
	}
	if time.Now().After(s.deadline) {
		return fmt.Errorf("%w: more than %v", ErrLimit, maxTime)
	}
	return nil
}

// out passes a value to the output as Python prints it.
func (s *state) out(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	if len(args) != 1 {
		return nothing, fmt.Errorf("an expression of %d values is printed", len(args))
	}
	text, err := s.pyString(args[0])
	if err != nil {
		return nothing, err
	}
	if s.output += len(text); s.output > s.maxOutput {
		return nothing, fmt.Errorf("%w: more than %d bytes of output", ErrLimit, s.maxOutput)
	}
	return jinja.NewString(text), s.alive()
}

func (s *state) step([]jinja.Value, map[string]jinja.Value) (jinja.Value, error) {
	if s.steps++; s.steps > maxSteps {
		return nothing, fmt.Errorf("%w: more than %d rounds of loops", ErrLimit, maxSteps)
	}
	return nothing, s.alive()
}

func (s *state) enter([]jinja.Value, map[string]jinja.Value) (jinja.Value, error) {
	if s.depth++; s.depth > maxDepth {
		return nothing, fmt.Errorf("%w: macros call one another more than %d levels deep", ErrLimit, maxDepth)
	}
	return s.step(nil, nil)
}

func (s *state) leave([]jinja.Value, map[string]jinja.Value) (jinja.Value, error) {
	s.depth--
	return nothing, nil
}

// size looks at a value that has been assigned.
func (s *state) size(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	if len(args) == 1 && (args[0].IsString() && len(args[0].AsString()) > s.maxOutput ||
		args[0].IsList() && args[0].AsList().Len() > maxItems) {
		return nothing, fmt.Errorf("%w: a variable that is too large", ErrLimit)
	}
	return nothing, s.alive()
}

// count checks a factor.
func (s *state) count(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	if len(args) != 1 || args[0].IsInt() && args[0].AsInt() > maxFactor {
		return nothing, fmt.Errorf("%w: a factor of more than %d", ErrLimit, maxFactor)
	}
	if args[0].IsInt() && args[0].AsInt() < 0 {
		return jinja.NewInt(0), nil
	}
	return args[0], nil
}

func (s *state) raise(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	e := &RefusedError{}
	if len(args) > 0 {
		e.Message, _ = s.pyString(args[0])
	}
	return nothing, e
}

// numbers is range with a bound on its length.
func (s *state) numbers(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	bounds := []int64{0, 0, 1}
	for i, a := range args {
		if !a.IsInt() || len(args) > 3 {
			return nothing, fmt.Errorf("range takes one to three whole numbers")
		}
		bounds[min(i, 2)] = a.AsInt()
	}
	if len(args) == 1 {
		bounds[0], bounds[1] = 0, bounds[0]
	}
	start, stop, step := bounds[0], bounds[1], bounds[2]
	if len(args) == 0 || step == 0 {
		return nothing, fmt.Errorf("range without an end, or with a step of 0")
	}
	return numbers(start, stop, step)
}

// numbers lists start, start+step and so on, as long as they lie before stop. The step is not 0.
func numbers(start, stop, step int64) (jinja.Value, error) {
	var items []jinja.Value
	for n := start; step > 0 && n < stop || step < 0 && n > stop; n += step {
		if len(items) == maxRange {
			return nothing, fmt.Errorf("%w: a range of more than %d numbers", ErrLimit, maxRange)
		}
		items = append(items, jinja.NewInt(n))
		if step > 0 && n > math.MaxInt64-step || step < 0 && n < math.MinInt64-step {
			break
		}
	}
	return jinja.NewList(items), nil
}

func (s *state) strftime(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	if len(args) != 1 || !args[0].IsString() {
		return nothing, fmt.Errorf("strftime_now takes a format")
	}
	return jinja.NewString(strftime(s.now, args[0].AsString())), nil
}

// strftime formats a time by the directives of C in the C locale. An unknown directive stays as it is.
func strftime(t time.Time, format string) string {
	layouts := map[byte]string{
		'Y': "2006", 'm': "01", 'd': "02", 'H': "15", 'I': "03", 'M': "04", 'S': "05",
		'B': "January", 'b': "Jan", 'h': "Jan", 'A': "Monday", 'a': "Mon", 'p': "PM", 'y': "06", 'j': "002",
		'e': "_2", 'Z': "MST", 'z': "-0700", 'F': "2006-01-02", 'T': "15:04:05", 'R': "15:04", 'D': "01/02/06",
		'X': "15:04:05", 'x': "01/02/06", 'c': "Mon Jan _2 15:04:05 2006",
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		bare := format[i] == '-' && i+1 < len(format) // no leading zero
		if bare {
			i++
		}
		layout, ok := layouts[format[i]]
		switch {
		case format[i] == '%':
			b.WriteByte('%')
		case !ok:
			b.WriteString("%" + format[i:i+1])
		case bare:
			text := t.Format(layout)
			b.WriteString(strings.TrimLeft(text[:len(text)-1], "0 ") + text[len(text)-1:])
		default:
			b.WriteString(t.Format(layout))
		}
	}
	return b.String()
}

func (s *state) str(args []jinja.Value, _ map[string]jinja.Value) (jinja.Value, error) {
	text, err := s.pyString(args[0])
	return jinja.NewString(text), err
}

// toJSON is Python's json.dumps as chat templates have it: not escaped to ASCII, in the order of the members.
func (s *state) toJSON(args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	option := func(i int, name string) jinja.Value {
		if v, ok := named[name]; ok {
			return v
		}
		if i < len(args) {
			return args[i]
		}
		return jinja.None()
	}
	w := writer{
		state: s, item: ", ", key: ": ", ascii: option(1, "ensure_ascii").IsTruthy(),
		sortKeys: option(4, "sort_keys").IsTruthy(),
	}
	switch v := option(2, "indent"); {
	case v.IsInt():
		w.broken, w.item, w.indent = true, ",", strings.Repeat(" ", int(min(max(v.AsInt(), 0), 64)))
	case v.IsString():
		w.broken, w.item, w.indent = true, ",", v.AsString()
	}
	if v := option(3, "separators"); v.IsList() && v.AsList().Len() == 2 {
		a, b := v.AsList().Get(0), v.AsList().Get(1)
		if !a.IsString() || !b.IsString() {
			return nothing, fmt.Errorf("tojson: separators must be two texts")
		}
		w.item, w.key = a.AsString(), b.AsString()
	}
	err := w.json(args[0], 0)
	return jinja.NewString(w.b.String()), err
}

func (w *writer) json(v jinja.Value, depth int) error {
	if err := w.check(depth); err != nil {
		return err
	}
	switch {
	case v.IsNone():
		w.b.WriteString("null")
	case v.IsBool(), v.IsInt():
		w.b.WriteString(strings.ToLower(v.String()))
	case v.IsFloat():
		text := pyFloat(v.AsFloat())
		text = strings.NewReplacer("inf", "Infinity", "nan", "NaN").Replace(text)
		w.b.WriteString(text)
	case v.IsString():
		if n, ok := w.state.wide(v.AsString()); ok {
			w.b.WriteString(n)
		} else {
			w.jsonText(v.AsString())
		}
	case v.IsList():
		items := v.AsList().Items
		return w.members('[', ']', len(items), depth, func(i int) error { return w.json(items[i], depth+1) })
	case v.IsDict():
		d := v.AsDict()
		keys := d.OrderedKeys()
		if w.sortKeys {
			slices.Sort(keys)
		}
		return w.members('{', '}', len(keys), depth, func(i int) error {
			w.jsonText(keys[i])
			w.b.WriteString(w.key)
			return w.json(d.Data[keys[i]], depth+1)
		})
	default:
		return fmt.Errorf("tojson of an undefined value")
	}
	return nil
}

func (w *writer) members(open, closing byte, n, depth int, member func(int) error) error {
	w.b.WriteByte(open)
	for i := range n {
		if i > 0 {
			w.b.WriteString(w.item)
		}
		w.newline(depth + 1)
		if err := member(i); err != nil {
			return err
		}
	}
	if n > 0 {
		w.newline(depth)
	}
	w.b.WriteByte(closing)
	return nil
}

func (w *writer) newline(depth int) {
	if w.broken {
		w.b.WriteByte('\n')
		w.b.WriteString(strings.Repeat(w.indent, depth))
	}
}

func (w *writer) jsonText(s string) {
	escapes := map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}
	w.b.WriteByte('"')
	for _, r := range s {
		text, ok := escapes[r]
		switch {
		case ok:
			w.b.WriteString(text)
		case r < ' ' || w.ascii && r > '~' && r < 0x10000:
			fmt.Fprintf(&w.b, `\u%04x`, r)
		case w.ascii && r >= 0x10000:
			r -= 0x10000
			fmt.Fprintf(&w.b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			w.b.WriteRune(r)
		}
	}
	w.b.WriteByte('"')
}

// wide returns the digits of a whole number that is kept as text.
func (s *state) wide(text string) (string, bool) {
	inner, ok := strings.CutPrefix(text, s.digits)
	if !ok || len(inner) <= len(s.digits) {
		return "", false
	}
	inner, ok = strings.CutSuffix(inner, s.digits)
	if !ok || strings.Trim(inner, "-0123456789") != "" {
		return "", false
	}
	return inner, true
}
