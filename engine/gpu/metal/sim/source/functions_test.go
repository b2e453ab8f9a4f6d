package source_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sotto/engine/gpu/metal/sim/source"
	"sotto/kernels"
)

func system(header string) bool { return header == "metal_stdlib" }

func TestFunctions(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []source.Function
		fault      string
	}{
		{"plain", "kernel void f(device float* x [[buffer(0)]]) { x[0] = 1; }", []source.Function{{"f", 0}}, ""},
		{"attribute", "[[kernel]] void f() {}", []source.Function{{"f", 0}}, ""},
		{"host name", `[[host_name("a" "b")]] kernel void f() {}`, []source.Function{{"ab", 0}}, ""},
		{"no kernel", "void f() {} struct S { int a; }; constant float t[] = {1, 2}; enum E { A };", nil, ""},
		{
			"in a namespace", "namespace a { namespace { kernel void f() {} } } kernel void g() {}",
			[]source.Function{{"f", 0}, {"g", 0}},
			"",
		},
		{"declared only", "kernel void f();", nil, ""},
		{"template alone", "template <typename T> kernel void f(T x) {}", nil, ""},
		{"instance", `template <typename T> kernel void f(T x) {}
			template [[host_name("f_int")]] kernel void f<int>(int);`, []source.Function{{"f_int", 0}}, ""},
		{"instance by decltype, with threads", `template <typename T>
			[[max_total_threads_per_threadgroup(256)]] kernel void f(T x) {}
			template [[host_name("f_int")]] kernel decltype(f<int>) f<int>;`, []source.Function{{"f_int", 256}}, ""},
		{"macros", `template <uint N> kernel void f() {}
			#define ONE(K, F, N) template [[host_name(#F "_" K "_m" #N)]] kernel decltype(f<N>) f<N>;
			#define TWO(F, N) ONE("x", F, N) \
			  ONE("y", F ## 8, N)
			TWO(q, 4)`, []source.Function{{"q_x_m4", 0}, {"q8_y_m4", 0}}, ""},
		{"conditions", `#define SIMD 32
			#if SIMD > 1 && !defined(OFF) // as it is
			kernel void a() {}
			#elif 1
			kernel void b() {}
			#else
			kernel void c() {}
			#endif
			#ifdef OFF
			#if nonsense (
			#endif
			kernel void d() {}
			#endif
			#undef SIMD
			#ifndef SIMD
			kernel void e() {}
			#endif`, []source.Function{{"a", 0}, {"e", 0}}, ""},
		{"given macro", "#if LEVEL >= 2 * (1 + 1)\nkernel void a() {}\n#endif", []source.Function{{"a", 0}}, ""},
		{"commented out", "// kernel void a() {}\n/* kernel\nvoid b() {} */", nil, ""},
		{"macro that names itself", "#define f f\nkernel void f() {}", []source.Function{{"f", 0}}, ""},
		{"function macro without a call", "#define f(x, y) g\nkernel void f() {}", nil, "takes 2 arguments, got 1"},
		{"system header", "#include <metal_stdlib>\nkernel void f() {}", []source.Function{{"f", 0}}, ""},
		{"indices in indices", "int g() { return a[b[0]]; } kernel void f() {}", []source.Function{{"f", 0}}, ""},

		{"other header", "#include \"common/simd.h\"", nil, `program_source:1: error: "common/simd.h" file not found`},
		{"system header that is not there", "#include <metal_tensor>", nil, "<metal_tensor> file not found"},
		{
			"twice", "kernel void f() {}\nkernel void f() {}", nil,
			"program_source:2: error: function f is declared twice",
		},
		{"instance without template", `template [[host_name("x")]] kernel void f<int>();`, nil, "does not refer"},
		{
			"instance without name", "template <class T> kernel void f() {}\ntemplate kernel void f<int>();", nil,
			"without host_name",
		},
		{"not closed", "kernel void f() {", nil, "{ is not closed"},
		{"closed wrongly", "kernel void f() { ( }", nil, "expected ), found }"},
		{"closed too often", "kernel void f() {} }", nil, "extraneous }"},
		{"string", "char* s = \"a\n\";", nil, "missing terminating"},
		{"comment", "/* ", nil, "unterminated comment"},
		{"condition that stays open", "#if 1", nil, "unterminated conditional"},
		{"else twice", "#if 1\n#else\n#else\n#endif", nil, "#else after #else"},
		{"endif alone", "#endif", nil, "#endif without #if"},
		{"condition", "#if 1 +\n#endif", nil, "ends too early"},
		{"condition with more", "#if 1 2\n#endif", nil, "condition ends at 2"},
		{"division", "#if 1 / 0\n#endif", nil, "division by zero"},
		{"error", "#error \"no\"", nil, `"no"`},
		{"directive", "#frobnicate", nil, "invalid preprocessing directive"},
		{"call that stays open", "#define f(x) x\nf(1", nil, "unterminated call"},
		{"threads", "[[max_total_threads_per_threadgroup(N)]] kernel void f() {}", nil, "no number of threads"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := source.Functions(tt.text, map[string]string{"LEVEL": "4"}, system)
			if tt.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fault) {
					t.Errorf("got %v and %v, want an error with %q", got, err, tt.fault)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v and %v, want %v", got, err, tt.want)
			}
		})
	}
}

// expand replaces the includes of a kernel source by their text, each once.
func expand(t *testing.T, file string, seen map[string]bool) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../../../../kernels", file))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		name, ok := strings.CutPrefix(line, `#include "`)
		if !ok {
			b.WriteString(line)
			continue
		}
		name = strings.TrimSuffix(strings.TrimSpace(name), `"`)
		if _, err := os.Stat(filepath.Join("../../../../../kernels", name)); err != nil {
			name = filepath.Join(filepath.Dir(file), name) // relative to the file itself
		}
		if !seen[name] {
			seen[name] = true
			b.WriteString(expand(t, name, seen))
		}
	}
	return b.String()
}

// TestCatalogue reads every kernel source: it declares exactly the catalogue's entry points of that file.
func TestCatalogue(t *testing.T) {
	want := map[string]map[string]bool{}
	for _, k := range kernels.All() {
		if want[k.File] == nil {
			want[k.File] = map[string]bool{}
		}
		want[k.File][k.Name] = true
	}
	for file, names := range want {
		got, err := source.Functions(expand(t, file, map[string]bool{}), nil, system)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for _, f := range got {
			if !names[f.Name] {
				t.Errorf("%s declares %s, which the catalogue lacks", file, f.Name)
			}
			delete(names, f.Name)
		}
		for name := range names {
			t.Errorf("%s does not declare %s", file, name)
		}
	}
}

// FuzzFunctions reads anything without a panic.
func FuzzFunctions(f *testing.F) {
	f.Add("#define A(x) #x x##1\nA(b) kernel void f() {}")
	f.Add("template <int N> kernel void f() {}\ntemplate [[host_name(\"a\")]] kernel void f<1>();")
	f.Add("#if defined(A) && (1 + 2 > 2)\n#elif !0\n#endif")
	f.Fuzz(func(t *testing.T, s string) {
		fs, err := source.Functions(s, map[string]string{"A": "1"}, system)
		if err != nil && fs != nil {
			t.Errorf("got %v with %v", fs, err)
		}
	})
}
