package params

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"sotto/kernels"
)

// TestHeaderIsCurrent holds the committed header against the Go types.
func TestHeaderIsCurrent(t *testing.T) {
	want, err := Header()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../params.h")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("kernels/params.h is not current: make generate")
	}
}

// TestConstants holds that every exported constant of step.go is in the header.
func TestConstants(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../step.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, c := range constants() {
		known[c.name] = true
	}
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			for _, name := range s.(*ast.ValueSpec).Names {
				if name.IsExported() && !known[name.Name] {
					t.Errorf("%s of kernels/step.go is not in params.h", name.Name)
				}
			}
		}
	}
}

// TestStepBuffer holds the struct against the offsets that the host uses.
func TestStepBuffer(t *testing.T) {
	var b kernels.StepBuffer
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"P", unsafe.Offsetof(b.P), kernels.StepOffset},
		{"Ring", unsafe.Offsetof(b.Ring), kernels.RingOffset},
		{"Alts", unsafe.Offsetof(b.Alts), kernels.AltsOffset},
		{"Pages", unsafe.Offsetof(b.Pages), kernels.PagesOffset},
		{"IDs", unsafe.Offsetof(b.IDs), kernels.IDsOffset},
		{"the end", unsafe.Sizeof(b), kernels.StepBytes},
	} {
		if c.got != c.want {
			t.Errorf("%s is at %d, want %d", c.name, c.got, c.want)
		}
	}
}

type inner struct {
	A uint32
	B float32
}

type good struct {
	KeyHeads uint32
	Big      uint64
	Table    [2][3]int32
	In       inner
}

func TestStructure(t *testing.T) {
	type Good struct {
		KeyHeads, X uint32
		Big         uint64
		Table       [2][3]int32
		In          inner
	}
	for _, c := range []struct {
		name string
		typ  reflect.Type
		want string // in the text or in the error
		bad  bool
	}{
		{
			"members", reflect.TypeFor[Good](),
			"  uint key_heads;\n  uint x;\n  ulong big;\n  int table[2][3];\n  inner in;\n", false,
		},
		{
			"offsets", reflect.TypeFor[Good](),
			"static_assert(__builtin_offsetof(Good, table) == 16, \"Good.table\");", false,
		},
		{"size", reflect.TypeFor[Good](), "static_assert(sizeof(Good) == 48, \"Good\");", false},
		{"inner first", reflect.TypeFor[Good](), "struct inner {\n  uint a;\n  float b;\n};", false},
		{"hole", reflect.TypeFor[good](), "good has a hole of 4 bytes before Big", true},
		{"hole at the end", reflect.TypeFor[struct {
			A uint64
			B uint32
		}](), "has no name", true},
		{"bool", reflect.TypeFor[withBool](), "bool has no counterpart", true},
		{"half width", reflect.TypeFor[withUint16](), "uint16 has no counterpart", true},
		{"int", reflect.TypeFor[withInt](), "int has no counterpart", true},
		{"float64", reflect.TypeFor[withFloat64](), "float64 has no counterpart", true},
		{"pointer", reflect.TypeFor[withPointer](), "*uint32 has no counterpart", true},
		{"tail", reflect.TypeFor[withTail](), "withTail has a hole of 4 bytes at its end", true},
		{"empty", reflect.TypeFor[empty](), "empty is empty", true},
		{"one name twice", reflect.TypeFor[twice](), "two fields that become ab", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &writer{done: map[reflect.Type]bool{}, names: map[string]reflect.Type{}}
			err := w.structure(c.typ)
			got := w.String()
			if err != nil {
				got = err.Error()
			}
			if (err != nil) != c.bad || !strings.Contains(got, c.want) {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

type (
	withBool    struct{ B bool }
	withUint16  struct{ H uint16 }
	withInt     struct{ N int }
	withFloat64 struct{ F float64 }
	withPointer struct{ P *uint32 }
	withTail    struct {
		A uint64
		B uint32
	}
	empty struct{}
	twice struct{ AB, Ab uint32 }
)

func TestSnake(t *testing.T) {
	for in, want := range map[string]string{
		"KeyHeads": "key_heads", "XStride": "x_stride", "N": "n", "TopK": "top_k", "IDsOffset": "ids_offset",
		"RingNaN": "ring_nan", "SeedLo": "seed_lo", "ID": "id", "MinP": "min_p", "TurnHi": "turn_hi",
		"KVHeads": "kv_heads",
	} {
		if got := Snake(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
