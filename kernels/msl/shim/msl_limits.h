// msl_limits.h: numeric_limits and the constants of metal_math.
#pragma once

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VALF __builtin_inff()
#define MAXFLOAT 3.402823466e+38f
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define M_PI_F 3.14159265358979323846f
#define M_PI_2_F 1.57079632679489661923f
#define M_LOG2E_F 1.44269504088896340736f
#define M_LN2_F 0.69314718055994530942f
#define M_LN10_F 2.30258509299404568402f
#define M_SQRT2_F 1.41421356237309504880f
#define M_E_F 2.71828182845904523536f

namespace metal {
template <class T>
struct numeric_limits;

#define MSL_INTEGER_LIMITS(T, lo, hi, n)                                 \
  template <>                                                            \
  struct numeric_limits<T> {                                             \
    static constexpr bool is_integer = true, is_signed = __is_signed(T); \
    static constexpr int digits = n;                                     \
    static constexpr T min() { return lo; }                              \
    static constexpr T max() { return hi; }                              \
    static constexpr T lowest() { return lo; }                           \
  };
MSL_INTEGER_LIMITS(char, -128, 127, 7)
MSL_INTEGER_LIMITS(uchar, 0, 255, 8)
MSL_INTEGER_LIMITS(short, -32768, 32767, 15)
MSL_INTEGER_LIMITS(ushort, 0, 65535, 16)
MSL_INTEGER_LIMITS(int, INT_MIN, INT_MAX, 31)
MSL_INTEGER_LIMITS(uint, 0, UINT_MAX, 32)
MSL_INTEGER_LIMITS(long, (-9223372036854775807l - 1), 9223372036854775807l, 63)
MSL_INTEGER_LIMITS(ulong, 0, 18446744073709551615ul, 64)
#undef MSL_INTEGER_LIMITS

#define MSL_FLOAT_LIMITS(T, smallest, largest, eps, n)               \
  template <>                                                        \
  struct numeric_limits<T> {                                         \
    static constexpr bool is_integer = false, is_signed = true;      \
    static constexpr int digits = n;                                 \
    static constexpr T min() { return T(smallest); }                 \
    static constexpr T max() { return T(largest); }                  \
    static constexpr T lowest() { return T(-largest); }              \
    static constexpr T epsilon() { return T(eps); }                  \
    static constexpr T infinity() { return T(__builtin_inff()); }    \
    static constexpr T quiet_NaN() { return T(__builtin_nanf("")); } \
  };
MSL_FLOAT_LIMITS(float, 1.175494351e-38f, 3.402823466e+38f, 1.192092896e-07f, 24)
MSL_FLOAT_LIMITS(half, 6.103515625e-05f, 65504.0f, 0.0009765625f, 11)
MSL_FLOAT_LIMITS(bfloat, 1.175494351e-38f, 3.38953139e38f, 0.0078125f, 8)
#undef MSL_FLOAT_LIMITS
}  // namespace metal
