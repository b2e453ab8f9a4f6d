// msl_types.h: scalar types, the class bfloat, type traits.
#pragma once

typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned char uchar;
typedef unsigned long ulong;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;

#ifdef MSL_STRICT
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION __cl_clang_non_portable_kernel_param_types : enable
#else
typedef _Float16 half;
#endif

// Brain float. A class, because clang's __bf16 calls a run-time function to round on x86 without AVX512-BF16. Rounding
// is to nearest, ties to even; NaN stays NaN.
struct bfloat {
  ushort bits;

  bfloat() = default;
  MSL_FN constexpr bfloat(float f) : bits(round(f)) {}
  MSL_FN constexpr bfloat(half f) : bits(round(float(f))) {}
  MSL_FN constexpr bfloat(int f) : bits(round(float(f))) {}
  MSL_FN constexpr bfloat(uint f) : bits(round(float(f))) {}
  MSL_FN constexpr bfloat(long f) : bits(round(float(f))) {}
  MSL_FN constexpr bfloat(ulong f) : bits(round(float(f))) {}
  MSL_FN constexpr bfloat(bool f) : bits(round(float(f))) {}
  MSL_FN constexpr operator float() const { return __builtin_bit_cast(float, uint(bits) << 16); }

  MSL_FN bfloat& operator+=(float b) { return *this = bfloat(float(*this) + b); }
  MSL_FN bfloat& operator-=(float b) { return *this = bfloat(float(*this) - b); }
  MSL_FN bfloat& operator*=(float b) { return *this = bfloat(float(*this) * b); }
  MSL_FN bfloat& operator/=(float b) { return *this = bfloat(float(*this) / b); }

  static MSL_FN constexpr ushort round(float f) {
    const uint b = __builtin_bit_cast(uint, f);
    const uint nan = (b >> 16) | 0x40u;
    const uint even = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
    return ushort((b & 0x7fffffffu) > 0x7f800000u ? nan : even);
  }
};

// Arithmetic of two bfloats gives a bfloat; with a float it gives a float by conversion.
template <bool>
struct msl_if_bfloat {};
template <>
struct msl_if_bfloat<true> {
  typedef bfloat type;
};
#define MSL_BFLOAT_OP(op)                                                                                             \
  template <class A, class B>                                                                                         \
  MSL_FN constexpr typename msl_if_bfloat<__is_same(A, bfloat) && __is_same(B, bfloat)>::type operator op(A a, B b) { \
    return bfloat(float(a) op float(b));                                                                              \
  }
MSL_BFLOAT_OP(+)
MSL_BFLOAT_OP(-)
MSL_BFLOAT_OP(*)
MSL_BFLOAT_OP(/)
#undef MSL_BFLOAT_OP
MSL_FN constexpr bfloat operator-(bfloat a) { return bfloat(-float(a)); }

namespace metal {
template <class T, T v>
struct integral_constant {
  static constexpr T value = v;
  typedef T value_type;
  typedef integral_constant type;
  constexpr operator T() const { return v; }
};
typedef integral_constant<bool, true> true_type;
typedef integral_constant<bool, false> false_type;
template <bool B>
using bool_constant = integral_constant<bool, B>;

template <bool B, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  typedef T type;
};
template <bool B, class T = void>
using enable_if_t = typename enable_if<B, T>::type;
template <bool B, class T, class F>
struct conditional {
  typedef T type;
};
template <class T, class F>
struct conditional<false, T, F> {
  typedef F type;
};
template <bool B, class T, class F>
using conditional_t = typename conditional<B, T, F>::type;

template <class A, class B>
inline constexpr bool is_same_v = __is_same(A, B);
template <class A, class B>
struct is_same : bool_constant<__is_same(A, B)> {};
template <class A>
using remove_cv_t = __remove_cv(A);
template <class A>
using remove_reference_t = __remove_reference_t(A);
template <class A>
inline constexpr bool is_floating_point_v = is_same_v<A, float> || is_same_v<A, half> || is_same_v<A, bfloat>;
template <class A>
inline constexpr bool is_integral_v = __is_integral(A);
template <class A>
inline constexpr bool is_arithmetic_v = is_integral_v<A> || is_floating_point_v<A>;
template <class A>
inline constexpr bool is_signed_v = __is_signed(A);
template <class A>
inline constexpr bool is_unsigned_v = __is_unsigned(A);
template <class A>
struct is_floating_point : bool_constant<is_floating_point_v<A>> {};
template <class A>
struct is_integral : bool_constant<is_integral_v<A>> {};
template <class A>
using make_unsigned_t = __make_unsigned(A);
template <class A>
using make_signed_t = __make_signed(A);
}  // namespace metal
