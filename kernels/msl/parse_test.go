package msl

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestLex(t *testing.T) {
	for _, c := range []struct {
		name, src string
		want      []string
	}{
		{
			"words and numbers", "float x=1.5e-3f+0x1e+2;",
			[]string{"float", "x", "=", "1.5e-3f", "+", "0x1e", "+", "2", ";", ""},
		},
		{"attributes", "y [[buffer(0)]]", []string{"y", "[[", "buffer", "(", "0", ")", "]", "]", ""}},
		{"nested index", "a[b[0]]", []string{"a", "[", "b", "[", "0", "]", "]", ""}},
		{"strings", `"a \" ]]" '"'`, []string{`"a \" ]]"`, `'"'`, ""}},
		{"operators", "a::b->c&&d", []string{"a", "::", "b", "->", "c", "&&", "d", ""}},
		{"a point first", "x=.5f", []string{"x", "=", ".5f", ""}},
		{"open string", `"abc`, []string{`"abc`, ""}},
	} {
		var got []string
		for _, tok := range lex("f", c.src) {
			got = append(got, tok.text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLexPlaces(t *testing.T) {
	src := "a\n# 7 \"x.h\" 1\nb\n\nc\n#pragma clang loop unroll(full)\nd\n# 3 \"y.metal\" 2\ne"
	var got []string
	for _, tok := range lex("y.metal", src) {
		got = append(got, tok.text+" "+tok.pos.String())
	}
	want := []string{"a y.metal:1", "b x.h:7", "c x.h:9", "d x.h:11", "e y.metal:3", " y.metal:3"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

const sample = "testdata/emit/sample.metal"

// TestSource holds what the generator makes of one source for each target.
func TestSource(t *testing.T) {
	src, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	u, err := Parse("sample.metal", src)
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]Target{"host": Host, "ptx": PTX, "strict": Strict} {
		got := u.Source(target)
		golden := strings.TrimSuffix(sample, ".metal") + "." + name + ".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs from %s (rewrite it with -update):\n%s", name, golden, got)
		}
	}
}

func TestParse(t *testing.T) {
	src, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	u, err := Parse("sample.metal", src)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range u.Entries {
		line := e.Host + " = " + e.Expr
		for _, p := range e.Kernel.Params {
			if p.Attr == "buffer" {
				line += "; " + p.Type + " " + p.Name
			}
		}
		got = append(got, line)
	}
	want := []string{
		"plain = plain; constant Params & p; device const float * x; device float * y",
		"named_entry = second; device uint * y",
		"scale_bf16 = scale<bfloat, 4>; constant Params & p; device const T * x; device T * y",
		"scale_f32 = scale<float, 8 / 2>; constant Params & p; device const T * x; device T * y",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if got := u.Kernels[1].MaxThreads; got != 256 {
		t.Errorf("second has at most %d threads, want 256", got)
	}
}

// FuzzParse holds that no source makes the generator panic.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/emit/*.metal", "testdata/refused/*.metal", "testdata/run/*.metal"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatal(pattern, err)
		}
		for _, p := range paths {
			src, err := os.ReadFile(p)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src)
		}
	}
	f.Fuzz(func(_ *testing.T, src []byte) {
		u, _ := Parse("fuzz.metal", src)
		for _, target := range []Target{Host, PTX, Strict} {
			u.Source(target)
		}
	})
}

func TestRecursion(t *testing.T) {
	const code = `define void @a() !dbg !1 {
  call void @b()
}
define void @b() !dbg !2 {
  %1 = call spir_func i32 @"c d"(i32 1)
}
define i32 @"c d"(i32 %0) !dbg !3 {
  call void @b()
  call void @outside()
}
!1 = distinct !DISubprogram(name: "a", scope: !9, file: !9, line: 4, type: !8)
!2 = distinct !DISubprogram(name: "b", scope: !9, file: !9, line: 5, type: !8)
!3 = distinct !DISubprogram(name: "c", scope: !9, file: !9, line: 6, type: !8)
!9 = !DIFile(filename: "x.metal", directory: "/")
`
	want := "x.metal:5: recursion: b calls itself\nx.metal:6: recursion: c calls itself"
	if err := recursion(code); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	straight := strings.Replace(code, "  call void @b()\n  call void @out", "  call void @out", 1)
	if err := recursion(straight); err != nil {
		t.Errorf("without the cycle: %v", err)
	}
}

func TestPTXASReport(t *testing.T) {
	const said = `ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'gemv' for 'sm_90a'
ptxas info    : Function properties for gemv
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 96 registers, used 1 barriers, 128 bytes smem, 912 bytes cmem[0]
ptxas info    : Compiling entry function 'norm' for 'sm_90a'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 28 registers, 912 bytes cmem[0]
`
	want := []Usage{{"gemv", 96, 8, 16, 128}, {"norm", 28, 0, 0, 0}}
	if got := ptxasReport(said); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
