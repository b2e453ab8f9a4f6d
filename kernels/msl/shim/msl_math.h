// msl_math.h: metal_math, metal_common, metal_geometric and metal_relational on scalars and vectors. Both arguments of
// a function of two have one type, as in MSL, where anything else is ambiguous.
#pragma once
namespace metal {
template <class T>
using msl_scalar = enable_if_t<is_arithmetic_v<T>>;
template <class T>
using msl_float = enable_if_t<is_floating_point_v<T>>;

template <class T, int N, class F>
MSL_FN constexpr vec<T, N> msl_map(vec<T, N> a, F f) {
  vec<T, N> r;
  for (int i = 0; i < N; i++) r[i] = f(a[i]);
  return r;
}
template <class T, int N, class F>
MSL_FN constexpr vec<T, N> msl_map(vec<T, N> a, vec<T, N> b, F f) {
  vec<T, N> r;
  for (int i = 0; i < N; i++) r[i] = f(a[i], b[i]);
  return r;
}

// One argument, computed in float.
#define MSL_MATH1(name, impl)                                 \
  template <class T, class = msl_float<T>>                    \
  MSL_FN T name(T x) {                                        \
    return T(impl(float(x)));                                 \
  }                                                           \
  template <class T, int N>                                   \
  MSL_FN vec<T, N> name(vec<T, N> x) {                        \
    return msl_map(x, [](T v) { return T(impl(float(v))); }); \
  }
MSL_MATH1(exp, msl_exp)
MSL_MATH1(exp2, msl_exp2)
MSL_MATH1(log, msl_log)
MSL_MATH1(log2, msl_log2)
MSL_MATH1(sqrt, msl_sqrt)
MSL_MATH1(rsqrt, msl_rsqrt)
MSL_MATH1(sin, msl_sin)
MSL_MATH1(cos, msl_cos)
MSL_MATH1(tanh, msl_tanh)
MSL_MATH1(floor, __builtin_floorf)
MSL_MATH1(ceil, __builtin_ceilf)
MSL_MATH1(trunc, __builtin_truncf)
MSL_MATH1(rint, __builtin_rintf)
MSL_MATH1(round, __builtin_roundf)
MSL_MATH1(fabs, __builtin_fabsf)
#undef MSL_MATH1

// Two arguments, computed in float.
#define MSL_MATH2(name, impl)                                                   \
  template <class T, class = msl_float<T>>                                      \
  MSL_FN T name(T x, T y) {                                                     \
    return T(impl(float(x), float(y)));                                         \
  }                                                                             \
  template <class T, int N>                                                     \
  MSL_FN vec<T, N> name(vec<T, N> x, vec<T, N> y) {                             \
    return msl_map(x, y, [](T a, T b) { return T(impl(float(a), float(b))); }); \
  }
MSL_MATH2(pow, msl_pow)
MSL_MATH2(powr, msl_pow)
MSL_MATH2(fmod, msl_fmod)
MSL_MATH2(copysign, __builtin_copysignf)
#undef MSL_MATH2

template <class T, class = msl_scalar<T>>
MSL_FN constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <class T, class = msl_scalar<T>>
MSL_FN constexpr T max(T a, T b) {
  return a < b ? b : a;
}
template <class T, int N>
MSL_FN constexpr vec<T, N> min(vec<T, N> a, vec<T, N> b) {
  return msl_map(a, b, [](T x, T y) { return y < x ? y : x; });
}
template <class T, int N>
MSL_FN constexpr vec<T, N> max(vec<T, N> a, vec<T, N> b) {
  return msl_map(a, b, [](T x, T y) { return x < y ? y : x; });
}
template <class T, class = msl_float<T>>
MSL_FN T fmin(T a, T b) {
  return T(__builtin_fminf(float(a), float(b)));
}
template <class T, class = msl_float<T>>
MSL_FN T fmax(T a, T b) {
  return T(__builtin_fmaxf(float(a), float(b)));
}
template <class T>
MSL_FN constexpr T clamp(T x, T lo, T hi) {
  return min(max(x, lo), hi);
}
template <class T>
MSL_FN constexpr T saturate(T x) {
  return clamp(x, T(0), T(1));
}
template <class T, class = msl_scalar<T>>
MSL_FN constexpr T abs(T x) {
  if constexpr (is_floating_point_v<T>)
    return T(__builtin_fabsf(float(x)));
  else
    return x < T(0) ? T(-x) : x;
}
template <class T, int N>
MSL_FN vec<T, N> abs(vec<T, N> a) {
  return msl_map(a, [](T x) { return abs(x); });
}
template <class T, class = msl_float<T>>
MSL_FN T sign(T x) {
  return x > T(0) ? T(1) : x < T(0) ? T(-1) : T(0);
}
template <class T>
MSL_FN T fract(T x) {
  return x - floor(x);
}
template <class T>
MSL_FN T mix(T a, T b, T t) {
  return a + (b - a) * t;
}

// Fused multiply-add: one rounding.
MSL_FN float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
MSL_FN half fma(half a, half b, half c) { return half(__builtin_fmaf(float(a), float(b), float(c))); }
template <class T, int N>
MSL_FN vec<T, N> fma(vec<T, N> a, vec<T, N> b, vec<T, N> c) {
  vec<T, N> r;
  for (int i = 0; i < N; i++) r[i] = fma(a[i], b[i], c[i]);
  return r;
}

template <class T, class = msl_float<T>>
MSL_FN bool isnan(T x) {
  return (__builtin_bit_cast(uint, float(x)) & 0x7fffffffu) > 0x7f800000u;
}
template <class T, class = msl_float<T>>
MSL_FN bool isinf(T x) {
  return (__builtin_bit_cast(uint, float(x)) & 0x7fffffffu) == 0x7f800000u;
}
template <class T, class = msl_float<T>>
MSL_FN bool isfinite(T x) {
  return (__builtin_bit_cast(uint, float(x)) & 0x7f800000u) != 0x7f800000u;
}
template <class T, class = msl_float<T>>
MSL_FN bool signbit(T x) {
  return __builtin_bit_cast(uint, float(x)) >> 31;
}
template <class T, class = msl_float<T>>
MSL_FN T ldexp(T x, int e) {
  return T(__builtin_ldexpf(float(x), e));
}

// Sums go from the first element to the last, without fma.
template <class T, int N>
MSL_FN T dot(vec<T, N> a, vec<T, N> b) {
  T s = a[0] * b[0];
  for (int i = 1; i < N; i++) s = T(s + a[i] * b[i]);
  return s;
}
template <class T, int N>
MSL_FN T length_squared(vec<T, N> a) {
  return dot(a, a);
}
template <class T, int N>
MSL_FN T length(vec<T, N> a) {
  return sqrt(dot(a, a));
}

MSL_FN bool any(bool a) { return a; }
MSL_FN bool all(bool a) { return a; }
template <int N>
MSL_FN bool any(vec<bool, N> a) {
  bool r = false;
  for (int i = 0; i < N; i++) r |= a[i];
  return r;
}
template <int N>
MSL_FN bool all(vec<bool, N> a) {
  bool r = true;
  for (int i = 0; i < N; i++) r &= a[i];
  return r;
}
template <class T, class = msl_scalar<T>>
MSL_FN T select(T a, T b, bool c) {
  return c ? b : a;
}
template <class T, int N>
MSL_FN vec<T, N> select(vec<T, N> a, vec<T, N> b, vec<bool, N> c) {
  vec<T, N> r;
  for (int i = 0; i < N; i++) r[i] = c[i] ? b[i] : a[i];
  return r;
}

// There is one precision here: the precise one. fast:: is not offered.
namespace precise {
using metal::cos;
using metal::exp;
using metal::exp2;
using metal::log;
using metal::log2;
using metal::pow;
using metal::powr;
using metal::rsqrt;
using metal::sin;
using metal::sqrt;
using metal::tanh;
}  // namespace precise
}  // namespace metal
