// msl_integer.h: metal_integer and as_type.
#pragma once
namespace metal {
template <class T>
using msl_integral = enable_if_t<is_integral_v<T>>;

template <class T, class = msl_integral<T>>
MSL_FN constexpr T popcount(T x) {
  if constexpr (sizeof(T) == 8)
    return T(__builtin_popcountl(ulong(x)));
  else
    return T(__builtin_popcount(uint(make_unsigned_t<T>(x))));
}
template <class T, class = msl_integral<T>>
MSL_FN constexpr T clz(T x) {
  if (x == 0) return T(sizeof(T) * 8);
  if constexpr (sizeof(T) == 8)
    return T(__builtin_clzl(ulong(x)));
  else
    return T(__builtin_clz(uint(make_unsigned_t<T>(x))) - (32 - int(sizeof(T)) * 8));
}
template <class T, class = msl_integral<T>>
MSL_FN constexpr T ctz(T x) {
  if (x == 0) return T(sizeof(T) * 8);
  if constexpr (sizeof(T) == 8)
    return T(__builtin_ctzl(ulong(x)));
  else
    return T(__builtin_ctz(uint(x)));
}
MSL_FN uint reverse_bits(uint x) { return __builtin_bitreverse32(x); }
MSL_FN uint mulhi(uint a, uint b) { return uint((ulong(a) * ulong(b)) >> 32); }
MSL_FN int mulhi(int a, int b) { return int((long(a) * long(b)) >> 32); }
MSL_FN uint extract_bits(uint v, uint offset, uint bits) {
  return bits == 0 ? 0u : bits >= 32 ? v >> offset : (v >> offset) & ((1u << bits) - 1u);
}
template <class T, class = msl_integral<T>>
MSL_FN T rotate(T x, T n) {
  const uint bits = sizeof(T) * 8, s = uint(n) & (bits - 1);
  typedef make_unsigned_t<T> U;
  return s == 0 ? x : T((U(x) << s) | (U(x) >> (bits - s)));
}
template <class T, class = msl_integral<T>>
MSL_FN T absdiff(T a, T b) {
  return a > b ? a - b : b - a;
}
}  // namespace metal

template <class To, class From>
MSL_FN constexpr To as_type(From f) {
  static_assert(sizeof(To) == sizeof(From), "as_type keeps the size");
  return __builtin_bit_cast(To, f);
}
