// norm.h: parts of an RMS norm that several kernels share, so that all give the same bits.
#pragma once
#include "dequant.h"

// Adds the squares of eight elements to eight partial sums.
inline void add_squares(thread const float (&v)[8], thread float (&s)[8]) {
  OCT for (uint i = 0; i < 8; i++) s[i] = fma(v[i], v[i], s[i]);
}

// 1 / sqrt(mean square + eps) of a row, from each thread's partial sums.
inline float row_scale(thread const float (&s)[8], float d, float eps, threadgroup float* part, uint lane, uint sg,
                       uint nsg) {
  const float mine = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
  return rsqrt(tg_sum(mine, part, lane, sg, nsg) / d + eps);
}

// y[i..i+8) = v * scale * w, one rounding.
template <typename T>
inline void scale_octet(thread const float (&v)[8], float scale, device const bfloat* w, device T* y) {
  OCT for (uint i = 0; i < 8; i++) y[i] = T(v[i] * scale * float(w[i]));
}
