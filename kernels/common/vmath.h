// vmath.h: elementary functions made of IEEE operations only. They vectorise where a lane loops over many values
// (fast host build), have no calls, and give the same bits wherever multiplication, fma and division are exact.
#pragma once
#include <metal_stdlib>
using namespace metal;

#ifndef SIMD
#define SIMD 32
#endif

// LANE_LOOP: a loop over the values of a lane. They are registers where there are many lanes, memory where a lane is a
// whole simdgroup. VEC_LOOP: an innermost loop whose iterations are independent of each other, over 4 or 8 partial
// sums or over the values of a lane; where a lane is a whole simdgroup it becomes vector instructions. Never put a
// reduction of floats into a VEC_LOOP: the compiler may then choose the order.
#if SIMD > 1
#define LANE_LOOP _Pragma("clang loop unroll(full)")
#define VEC_LOOP _Pragma("clang loop unroll(full)")
#else
#define LANE_LOOP
#define VEC_LOOP _Pragma("clang loop vectorize(enable) unroll(disable)")
#endif

// Sum of eight partial sums, pairs at distance 4, 2, 1.
inline float sum8(thread const float (&p)[8]) {
  float h[4];
  VEC_LOOP
  for (uint e = 0; e < 4; e++) h[e] = p[e] + p[e + 4];
  return (h[0] + h[2]) + (h[1] + h[3]);
}

// Sum of squares over a simdgroup of N values a lane.
template <uint N>
inline float sum_squares(thread const float (&c)[N]) {
  float p[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
  LANE_LOOP
  for (uint i = 0; i < N; i += 8) {
    VEC_LOOP
    for (uint e = 0; e < min(N, 8u); e++) p[e] = fma(c[i + e], c[i + e], p[e]);
  }
  return simd_sum(sum8(p));
}

// e^x to about 1 unit in the last place. 0 below -87.3365 (no subnormal results), infinity above 88.3762; NaN is kept.
// Method: x = n ln 2 + r, |r| <= ln(2)/2; polynomial of degree 6 (S. Moshier, Cephes, expf); times 2^n. Adding
// 1.5 * 2^23 rounds x / ln 2 to the integer n and leaves n in the low bits.
inline float vexp(float x) {
  const float t = fma(x, 1.44269504f, 12582912.0f);
  const float n = t - 12582912.0f;
  const float r = fma(n, 1.90465421e-9f, fma(n, -0.693147182f, x));
  float p = 1.9875691500e-4f;
  p = fma(p, r, 1.3981999507e-3f);
  p = fma(p, r, 8.3334519073e-3f);
  p = fma(p, r, 4.1665795894e-2f);
  p = fma(p, r, 1.6666665459e-1f);
  p = fma(p, r, 5.0000001201e-1f);
  p = fma(p, r * r, r) + 1.0f;
  const float y = p * as_type<float>((as_type<uint>(t) << 23) + 0x3f800000u);
  return x < -87.3365f ? 0.0f : (x > 88.3762f ? INFINITY : y);
}

// 1 / (1 + e^-x).
inline float vsigmoid(float x) { return 1.0f / (1.0f + vexp(-x)); }

// x / (1 + e^-x).
inline float vsilu(float x) { return x * vsigmoid(x); }

// log(1 + e^x) = max(x, 0) + log(1 + u), u = e^-|x|, to about 2 units in the last place at every x whose result is
// normal. log(1 + u) = 2 atanh(t), t = u / (2 + u) <= 1/3, by its series.
inline float vsoftplus(float x) {
  const float u = vexp(-fabs(x));
  const float t = u / (2.0f + u);
  const float z = t * t;
  float p = 1.0f / 17.0f;
  p = fma(p, z, 1.0f / 15.0f);
  p = fma(p, z, 1.0f / 13.0f);
  p = fma(p, z, 1.0f / 11.0f);
  p = fma(p, z, 1.0f / 9.0f);
  p = fma(p, z, 1.0f / 7.0f);
  p = fma(p, z, 1.0f / 5.0f);
  p = fma(p, z, 1.0f / 3.0f);
  return (x > 0.0f ? x : 0.0f) + fma(2.0f * t, p * z, 2.0f * t);
}

// (sin, cos) of t / 2^32 turns, to about 2e-7. Quarters are split off exactly; polynomials on an eighth of a turn to
// either side (Cephes, sinf and cosf).
inline float2 vsincos_turns(uint t) {
  const float x = float(as_type<int>(t)) * 4.65661287e-10f;  // half turns, -1 to 1
  const float near = fma(x, 2.0f, 12582912.0f);              // its low bits are quarter turns, rounded
  const float q = near - 12582912.0f;
  const float a = fma(q, -0.5f, x) * 3.14159265f;
  const float z = a * a;
  float s = fma(z, -1.9515295891e-4f, 8.3321608736e-3f);
  s = fma(fma(s, z, -1.6666654611e-1f), z * a, a);
  float c = fma(z, 2.4433157118e-5f, -1.3887316255e-3f);
  c = fma(fma(c, z, 4.1666645683e-2f), z * z, fma(z, -0.5f, 1.0f));
  const uint n = as_type<uint>(near);
  const float u = (n & 1) != 0 ? c : s, v = (n & 1) != 0 ? s : c;
  return float2((n & 2) != 0 ? -u : u, ((n + 1) & 2) != 0 ? -v : v);
}
