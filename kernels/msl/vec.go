package msl

import (
	"fmt"
	"strings"
)

// vectorHeader writes msl_vec.h: vec<T, N> and packed_vec as classes. Clang's own vector extension has no constructors
// such as float4(a, b, c, d) in C++, and its swizzles cannot be of class types such as bfloat.
func vectorHeader() string {
	w := &vectorWriter{}
	w.line("// msl_vec.h: vectors of 2 to 4 elements with MSL's constructors, swizzles and operators. Generated.")
	w.line("#pragma once")
	w.line("namespace metal {")
	w.line("template <class T, int N> struct vec;")
	for n := 2; n <= 4; n++ {
		w.line("template <class T> struct packed_vec%d;", n)
	}
	for n := 2; n <= 4; n++ {
		w.vector(n)
	}
	w.line("template <class T> struct msl_element { typedef T type; };")
	w.line("template <class T, int N> struct msl_element<vec<T, N>> { typedef T type; };")
	names := []string{
		"float", "half", "bfloat", "int", "uint", "short", "ushort", "char", "uchar", "long", "ulong", "bool",
	}
	for _, t := range names {
		for n := 2; n <= 4; n++ {
			w.line("typedef vec<%s, %d> %s%d;", t, n, t, n)
			w.line("typedef packed_vec%d<%s> packed_%s%d;", n, t, t, n)
		}
	}
	w.line("}  // namespace metal")
	for _, t := range names { // vector types are known without the namespace
		for n := 2; n <= 4; n++ {
			w.line("using metal::%s%d;", t, n)
			w.line("using metal::packed_%s%d;", t, n)
		}
	}
	return w.String()
}

type vectorWriter struct{ strings.Builder }

func (w *vectorWriter) line(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

const (
	xyzw = "xyzw"
	rgba = "rgba"
)

// each joins f(0) ... f(n-1).
func each(n int, sep string, f func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = f(i)
	}
	return strings.Join(parts, sep)
}

func (w *vectorWriter) vector(n int) {
	members := each(n, ", ", func(i int) string { return xyzw[i : i+1] })
	align := 2
	if n > 2 {
		align = 4
	}
	w.line("template <class T> struct alignas(%d * sizeof(T)) vec<T, %d> {", align, n)
	w.line("  T %s;", members)
	w.line("  vec() = default;")
	w.line("  MSL_FN constexpr vec(T s) : %s {}", each(n, ", ", func(i int) string { return xyzw[i:i+1] + "(s)" }))
	w.line("  template <class U, class = enable_if_t<is_arithmetic_v<U> && !is_same_v<U, T>>>")
	w.line("  MSL_FN constexpr vec(U s) : %s {}", each(n, ", ", func(i int) string { return xyzw[i:i+1] + "(T(s))" }))
	for _, from := range []string{fmt.Sprintf("vec<U, %d>", n), fmt.Sprintf("packed_vec%d<U>", n)} {
		w.line("  template <class U, class = enable_if_t<!is_same_v<U, T>>, class = void>")
		w.line("  MSL_FN explicit constexpr vec(%s o) : %s {}", from,
			each(n, ", ", func(i int) string { return fmt.Sprintf("%c(T(o.%c))", xyzw[i], xyzw[i]) }))
	}
	for _, parts := range compositions(n) {
		if len(parts) > 1 {
			w.constructor(parts)
		}
	}
	w.line("  MSL_FN constexpr T& operator[](int i) { return (&x)[i]; }")
	w.line("  MSL_FN constexpr const T& operator[](int i) const { return (&x)[i]; }")
	w.swizzles(n)
	w.operators(n)
	w.line("};")
	w.line("template <class T> struct packed_vec%d {", n)
	w.line("  T %s;", members)
	w.line("  packed_vec%d() = default;", n)
	w.line("  MSL_FN packed_vec%d(vec<T, %d> v) : %s {}", n, n,
		each(n, ", ", func(i int) string { return fmt.Sprintf("%c(v.%c)", xyzw[i], xyzw[i]) }))
	w.line("  MSL_FN operator vec<T, %d>() const { return vec<T, %d>(%s); }", n, n, members)
	w.line("  MSL_FN T& operator[](int i) { return (&x)[i]; }")
	w.line("};")
}

// compositions lists the ways to write n as a sum of 1, 2 and 3, in order.
func compositions(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for p := 1; p <= min(3, n); p++ {
		for _, rest := range compositions(n - p) {
			out = append(out, append([]int{p}, rest...))
		}
	}
	return out
}

// constructor writes vec(a0, a1, ...) from scalars and shorter vectors.
func (w *vectorWriter) constructor(parts []int) {
	var params, inits []string
	at := 0
	for j, p := range parts {
		if p == 1 {
			params = append(params, fmt.Sprintf("T a%d", j))
			inits = append(inits, fmt.Sprintf("%c(a%d)", xyzw[at], j))
		} else {
			params = append(params, fmt.Sprintf("vec<T, %d> a%d", p, j))
			for q := range p {
				inits = append(inits, fmt.Sprintf("%c(a%d.%c)", xyzw[at+q], j, xyzw[q]))
			}
		}
		at += p
	}
	w.line("  MSL_FN constexpr vec(%s) : %s {}", strings.Join(params, ", "), strings.Join(inits, ", "))
}

// swizzles writes one property for each selection: all of two, of three those of equal or distinct elements, and of
// four the usual ones. Selections of distinct elements can be assigned to.
func (w *vectorWriter) swizzles(n int) {
	for i := range n {
		w.line("  MSL_FN T get_%c() const { return %c; }", rgba[i], xyzw[i])
		w.line("  MSL_FN void put_%c(T v) { %c = v; }", rgba[i], xyzw[i])
		w.line("  __declspec(property(get = get_%c, put = put_%c)) T %c;", rgba[i], rgba[i], rgba[i])
	}
	for k := 2; k <= 4; k++ {
		for _, idx := range selections(n, k) {
			w.swizzle(idx, xyzw)
		}
	}
	if n > 2 {
		w.swizzle([]int{0, 1, 2}, rgba)
	}
}

func selections(n, k int) [][]int {
	total := 1
	for range k {
		total *= n
	}
	var out [][]int
	for c := range total {
		idx := make([]int, k)
		for i, r := k-1, c; i >= 0; i, r = i-1, r/n {
			idx[i] = r % n
		}
		d := distinct(idx)
		name := fmt.Sprint(idx)
		four := name == "[0 1 2 3]" || name == "[3 2 1 0]" || name == "[2 3 0 1]" || name == "[1 0 3 2]"
		if k == 2 || d == 1 || k == 3 && d == 3 || k == 4 && four {
			out = append(out, idx)
		}
	}
	return out
}

func distinct(idx []int) int {
	seen := map[int]bool{}
	for _, i := range idx {
		seen[i] = true
	}
	return len(seen)
}

func (w *vectorWriter) swizzle(idx []int, names string) {
	k := len(idx)
	name := each(k, "", func(i int) string { return names[idx[i] : idx[i]+1] })
	from := each(k, ", ", func(i int) string { return xyzw[idx[i] : idx[i]+1] })
	w.line("  MSL_FN vec<T, %d> get_%s() const { return vec<T, %d>(%s); }", k, name, k, from)
	if distinct(idx) < k {
		w.line("  __declspec(property(get = get_%s)) vec<T, %d> %s;", name, k, name)
		return
	}
	to := each(k, " ", func(i int) string { return fmt.Sprintf("%c = v.%c;", xyzw[idx[i]], xyzw[i]) })
	w.line("  MSL_FN void put_%s(vec<T, %d> v) { %s }", name, k, to)
	w.line("  __declspec(property(get = get_%s, put = put_%s)) vec<T, %d> %s;", name, name, k, name)
}

func (w *vectorWriter) operators(n int) {
	for _, op := range []string{"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"} {
		w.line("  friend MSL_FN constexpr vec operator%s(vec a, vec b) { return vec(%s); }", op,
			each(n, ", ", func(i int) string { return fmt.Sprintf("T(a.%c %s b.%c)", xyzw[i], op, xyzw[i]) }))
		w.line("  MSL_FN constexpr vec& operator%s=(vec b) { return *this = *this %s b; }", op, op)
	}
	for _, op := range []string{"<", ">", "<=", ">=", "==", "!="} {
		all := each(n, ", ", func(i int) string { return fmt.Sprintf("a.%c %s b.%c", xyzw[i], op, xyzw[i]) })
		w.line("  friend MSL_FN constexpr vec<bool, %d> operator%s(vec a, vec b) { return vec<bool, %d>(%s); }",
			n, op, n, all)
	}
	for _, op := range []string{"-", "~"} {
		w.line("  friend MSL_FN constexpr vec operator%s(vec a) { return vec(%s); }", op,
			each(n, ", ", func(i int) string { return fmt.Sprintf("T(%sa.%c)", op, xyzw[i]) }))
	}
	w.line("  friend MSL_FN constexpr vec<bool, %d> operator!(vec a) { return vec<bool, %d>(%s); }", n, n,
		each(n, ", ", func(i int) string { return fmt.Sprintf("!a.%c", xyzw[i]) }))
}
