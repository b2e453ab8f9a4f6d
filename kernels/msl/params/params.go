// Package params writes kernels/params.h, the MSL side of the structs that kernels share with Go. The Go types are the
// only source: the header repeats their sizes and offsets as static_asserts, so a compiler that lays a struct out in
// another way refuses it. Only what both languages lay out alike is allowed: 32- and 64-bit integers, float32, arrays
// and structs of them, without holes, at most 4 KiB for a parameter struct.
package params

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"sotto/kernels"
)

// MaxBytes is the most that Metal's setBytes takes.
const MaxBytes = 4096

// constant is an integer that MSL and Go share.
type constant struct {
	name  string // in Go
	value uint32
}

// constants are those of kernels/step.go.
func constants() []constant {
	return []constant{
		{"RingSize", kernels.RingSize},
		{"MaxAlternatives", kernels.MaxAlternatives},
		{"MaxPages", kernels.MaxPages},
		{"MaxRows", kernels.MaxRows},
		{"KeyBlock", kernels.KeyBlock},
		{"MaxStops", kernels.MaxStops},
		{"StepOffset", kernels.StepOffset},
		{"RingOffset", kernels.RingOffset},
		{"AltsOffset", kernels.AltsOffset},
		{"PagesOffset", kernels.PagesOffset},
		{"IDsOffset", kernels.IDsOffset},
		{"StepBytes", kernels.StepBytes},
		{"RingStopped", kernels.RingStopped},
		{"RingLimit", kernels.RingLimit},
		{"RingNaN", kernels.RingNaN},
	}
}

// Header returns the text of params.h: the constants, the step buffer and the parameter struct of every kernel of the
// catalogue, in its order.
func Header() (string, error) {
	w := &writer{done: map[reflect.Type]bool{}, names: map[string]reflect.Type{}}
	w.line("// params.h: generated from the Go types of package kernels by make generate; not to be edited.")
	w.line("#pragma once")
	w.line("#include <metal_stdlib>")
	w.line("#pragma METAL fp contract(off)  // arithmetic is as written, on every target")
	w.line("")
	for _, c := range constants() {
		w.line("constant constexpr uint %s = %d;", strings.ToUpper(Snake(c.name)), c.value)
	}
	if err := w.structure(reflect.TypeFor[kernels.StepBuffer]()); err != nil {
		return "", err
	}
	for _, k := range kernels.All() {
		t := reflect.TypeOf(k.Params)
		if t == nil || t.Kind() != reflect.Struct {
			return "", fmt.Errorf("kernel %s: Params is %v, not a struct", k.Name, t)
		}
		if t.Size() > MaxBytes {
			return "", fmt.Errorf("kernel %s: %s has %d bytes, more than %d", k.Name, t.Name(), t.Size(), MaxBytes)
		}
		if err := w.structure(t); err != nil {
			return "", fmt.Errorf("kernel %s: %w", k.Name, err)
		}
	}
	return w.String(), nil
}

type writer struct {
	strings.Builder
	done  map[reflect.Type]bool
	names map[string]reflect.Type
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// structure writes a struct once, after those it is made of.
func (w *writer) structure(t reflect.Type) error {
	if w.done[t] {
		return nil
	}
	w.done[t] = true
	if other, taken := w.names[t.Name()]; taken {
		return fmt.Errorf("%s and %s have one name", t, other)
	}
	w.names[t.Name()] = t
	if t.Name() == "" {
		return fmt.Errorf("%s has no name", t)
	}
	if t.NumField() == 0 {
		return fmt.Errorf("%s is empty", t.Name())
	}
	var members, asserts []string
	var end uintptr
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Offset != end {
			return fmt.Errorf("%s has a hole of %d bytes before %s", t.Name(), f.Offset-end, f.Name)
		}
		end = f.Offset + f.Type.Size()
		name, dims, err := w.member(f.Type)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", t.Name(), f.Name, err)
		}
		member := Snake(f.Name)
		if slices.ContainsFunc(asserts, func(a string) bool { return strings.Contains(a, ", "+member+")") }) {
			return fmt.Errorf("%s has two fields that become %s", t.Name(), member)
		}
		members = append(members, fmt.Sprintf("  %s %s%s;", name, member, dims))
		asserts = append(asserts, fmt.Sprintf("static_assert(__builtin_offsetof(%s, %s) == %d, \"%s.%s\");",
			t.Name(), member, f.Offset, t.Name(), member))
	}
	if end != t.Size() {
		return fmt.Errorf("%s has a hole of %d bytes at its end", t.Name(), t.Size()-end)
	}
	w.line("\nstruct %s {\n%s\n};", t.Name(), strings.Join(members, "\n"))
	w.line("static_assert(sizeof(%s) == %d, \"%s\");\n%s", t.Name(), t.Size(), t.Name(), strings.Join(asserts, "\n"))
	return nil
}

// member returns the MSL type of a field and its array dimensions.
func (w *writer) member(t reflect.Type) (name, dims string, err error) {
	for t.Kind() == reflect.Array {
		if t.Len() == 0 {
			return "", "", fmt.Errorf("an empty array")
		}
		dims += fmt.Sprintf("[%d]", t.Len())
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Uint32:
		return "uint", dims, nil
	case reflect.Int32:
		return "int", dims, nil
	case reflect.Uint64:
		return "ulong", dims, nil
	case reflect.Int64:
		return "long", dims, nil
	case reflect.Float32:
		return "float", dims, nil
	case reflect.Struct:
		return t.Name(), dims, w.structure(t)
	default:
		return "", "", fmt.Errorf("%s has no counterpart in MSL that is sure to be laid out alike", t)
	}
}

// Snake turns a Go name into an MSL one: KeyHeads becomes key_heads, XStride x_stride, IDsOffset ids_offset and
// RingNaN ring_nan.
func Snake(s string) string {
	s = strings.NewReplacer("NaN", "Nan", "IDs", "Ids").Replace(s)
	r := []rune(s)
	var b strings.Builder
	for i, c := range r {
		upper := unicode.IsUpper(c)
		afterLower := i > 0 && !unicode.IsUpper(r[i-1])
		beforeLower := i > 0 && i+1 < len(r) && unicode.IsUpper(r[i-1]) && unicode.IsLower(r[i+1])
		if upper && (afterLower || beforeLower) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
