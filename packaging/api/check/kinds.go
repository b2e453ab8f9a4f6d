package check

import (
	"fmt"
	"go/types"
	"strings"

	"sotto/packaging/api"
)

// kind says how a Go value travels to Objective-C and back: a code of api.Code, "p" for any pointer, "" for what is not
// known, or the kinds of a struct's fields in braces.
func kind(t types.Type) string {
	if t == nil {
		return ""
	}
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return ""
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		switch n.Obj().Name() {
		case "Selector", "SEL":
			return ":"
		case "Void":
			return "v"
		}
	}
	if isObject(t) {
		return "p"
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return basicKind(u)
	case *types.Struct:
		var b strings.Builder
		for i := range u.NumFields() {
			b.WriteString(strings.Trim(kind(u.Field(i).Type()), "{}"))
		}
		return "{" + b.String() + "}"
	case *types.Interface:
		return ""
	case *types.Pointer, *types.Slice, *types.Map, *types.Signature:
		return "p"
	}
	return ""
}

func basicKind(b *types.Basic) string {
	switch b.Kind() {
	case types.Bool, types.UntypedBool:
		return "B"
	case types.Int, types.Int64, types.UntypedInt:
		return "q"
	case types.Uint, types.Uint64:
		return "Q"
	case types.Int32, types.UntypedRune:
		return "i"
	case types.Uint32:
		return "I"
	case types.Int16:
		return "s"
	case types.Uint16:
		return "S"
	case types.Int8:
		return "c"
	case types.Uint8:
		return "C"
	case types.Float64, types.UntypedFloat:
		return "d"
	case types.Float32:
		return "f"
	case types.String, types.UntypedString, types.UnsafePointer, types.UntypedNil:
		return "p"
	case types.Uintptr:
		return "w" // a pointer or a word
	default:
		return ""
	}
}

// isObject tells whether values of a type hold an Objective-C object: those of darwinkit have Ptr, those of purego are
// called ID, Class or *Protocol.
func isObject(t types.Type) bool {
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil &&
		n.Obj().Pkg().Path() == purego+"/objc" && (n.Obj().Name() == "ID" || n.Obj().Name() == "Class") {
		return true
	}
	o, _, _ := types.LookupFieldOrMethod(t, true, nil, "Ptr")
	f, ok := o.(*types.Func)
	return ok && f.Signature().Params().Len() == 0 && f.Signature().Results().Len() == 1 &&
		f.Signature().Results().At(0).Type() == types.Typ[types.UnsafePointer]
}

// group brings codes that look alike in a register together.
func group(code string) string {
	switch code {
	case "@", "@?", "#", "^", "p", ":":
		return "pointer"
	case "q", "Q", "x", "X":
		return "64-bit integer"
	case "i", "I":
		return "32-bit integer"
	case "s", "S":
		return "16-bit integer"
	case "c", "C":
		return "8-bit integer"
	case "B":
		return "BOOL"
	case "d":
		return "double"
	case "f":
		return "float"
	case "v":
		return "void"
	}
	return code
}

// flat returns the code of a type with structs taken apart.
func flat(f *api.Facts, c api.Code) string {
	name := c.Struct()
	if name == "" {
		return c.Kind()
	}
	var b strings.Builder
	for _, field := range f.Structs[name] {
		b.WriteString(strings.Trim(flat(f, api.Code(field[1])), "{}"))
	}
	return "{" + b.String() + "}"
}

// fits tells whether a Go type travels as the code says, and if not, why.
func fits(f *api.Facts, c api.Code, t types.Type) (string, bool) {
	want, got := flat(f, c), kind(t)
	if got == "" || want == "?" || got == want || group(got) == group(want) {
		return "", true
	}
	if got == "w" && (group(want) == "pointer" || group(want) == "64-bit integer") {
		return "", true
	}
	if want[0] == '{' && got[0] == '{' && signs.Replace(want) == signs.Replace(got) {
		return "", true
	}
	return fmt.Sprintf("%s is given as %v, it is %s", c, t, describe(want)), false
}

// widens tells whether an integer argument is given as a wider one, of which the callee reads the lower half. That
// works in registers, which hold the first eight arguments; two of them are the object and the selector.
func widens(want, got string, index int) bool {
	const bySize = "cCsSiIqQxX"
	w, g := strings.Index(bySize, want), strings.Index(bySize, got)
	return len(want) == 1 && len(got) == 1 && w >= 0 && g >= w-w%2 && index+2 < 8
}

// signs makes integers of a size equal, and pointers.
var signs = strings.NewReplacer("Q", "q", "x", "q", "X", "q", "I", "i", "S", "s", "C", "c",
	"@?", "p", "@", "p", "^", "p", "#", "p")

func describe(code string) string {
	if code[0] == '{' {
		return "a struct of " + code
	}
	return "a " + group(code)
}
