// Norms of rows of the residual stream, and the embedding that makes them.
//
// Rows from step.p.rows on are neither read nor written.
#include "common/dequant.h"
#include "common/norm.h"
#include "params.h"

// rms_norm: y[r] = x[r] * w / sqrt(mean(x[r]^2) + eps).
//
//   1 step    StepBuffer        rows
//   2 x       T    [rows][d]
//   3 w       bf16 [d]
//   4 y       T    [rows][d]    out
//
// Geometry: a threadgroup a row, any number of simdgroups; a lane takes eight neighbouring elements at a time. With
// p.last the only row read is rows - 1, and row 0 of y receives it.
// Constraints: d a multiple of 8.
// Numerics: f32; eight partial sums a lane, their tree, then the threadgroup's sum; one rounding.
// Source: Zhang and Sennrich, "Root Mean Square Layer Normalization" (arXiv 1910.07467).
template <typename T>
kernel void rms_norm(constant NormParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                     device const T* x [[buffer(2)]], device const bfloat* w [[buffer(3)]], device T* y [[buffer(4)]],
                     uint tgid [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                     uint sg [[simdgroup_index_in_threadgroup]], uint nsg [[simdgroups_per_threadgroup]]) {
  threadgroup float part[32];
  const uint rows = step.p.rows;
  if (tgid >= rows) return;
  device const T* in = x + ulong(p.last != 0 ? rows - 1 : tgid) * p.d;
  device T* out = y + ulong(tgid) * p.d;
  float s[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
  const uint first = (sg * SIMD + lane) * 8, stride = nsg * SIMD * 8;
  for (uint i = first; i < p.d; i += stride) {
    float v[8];
    OCT for (uint j = 0; j < 8; j++) v[j] = float(in[i + j]);
    add_squares(v, s);
  }
  const float scale = row_scale(s, float(p.d), p.eps, part, lane, sg, nsg);
  for (uint i = first; i < p.d; i += stride) {
    float v[8];
    OCT for (uint j = 0; j < 8; j++) v[j] = float(in[i + j]);
    scale_octet(v, scale, w + i, out + i);
  }
}

// embed: x[r] = row ids[r] of the table, each weight rounded to T once; xn[r] = rms_norm of that x[r].
//
//   1 step    StepBuffer        rows, ids
//   2 codes, 3 scales, 4 biases of [n][d]; B16 has codes only
//   5 w       bf16 [d]          of the norm (B16: buffer 3)
//   6 x       T    [rows][d]    out (B16: 4)
//   7 xn      T    [rows][d]    out (B16: 5)
//
// Geometry, numerics: as rms_norm, so xn equals rms_norm of x in every bit.
// Constraints: d a multiple of 64. An id of n or more reads row 0.
template <typename W, typename T>
inline void embed_row(W table, constant EmbedParams& p, uint id, device const bfloat* w, device T* x, device T* xn,
                      threadgroup float* part, uint lane, uint sg, uint nsg) {
  const ulong row = id < p.n ? id : 0u;
  float s[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
  const uint first = (sg * SIMD + lane) * 8, stride = nsg * SIMD * 8;
  for (uint i = first; i < p.d; i += stride) {
    float v[8];
    octet(table, row, p.d, i, v);
    OCT for (uint j = 0; j < 8; j++) {
      x[i + j] = T(v[j]);
      v[j] = float(T(v[j]));
    }
    add_squares(v, s);
  }
  const float scale = row_scale(s, float(p.d), p.eps, part, lane, sg, nsg);
  for (uint i = first; i < p.d; i += stride) {
    float v[8];
    octet(table, row, p.d, i, v);
    OCT for (uint j = 0; j < 8; j++) v[j] = float(T(v[j]));
    scale_octet(v, scale, w + i, xn + i);
  }
}

template <typename W, typename T>
kernel void embed(constant EmbedParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                  device const uint* codes [[buffer(2)]], device const bfloat* scales [[buffer(3)]],
                  device const bfloat* biases [[buffer(4)]], device const bfloat* w [[buffer(5)]],
                  device T* x [[buffer(6)]], device T* xn [[buffer(7)]], uint row [[threadgroup_position_in_grid]],
                  uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],
                  uint nsg [[simdgroups_per_threadgroup]]) {
  threadgroup float part[32];
  if (row >= step.p.rows) return;
  const W table = {codes, scales, biases};
  const ulong at = ulong(row) * p.d;
  embed_row(table, p, step.ids[row], w, x + at, xn + at, part, lane, sg, nsg);
}

template <typename T>
kernel void embed_plain(constant EmbedParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                        device const bfloat* codes [[buffer(2)]], device const bfloat* w [[buffer(3)]],
                        device T* x [[buffer(4)]], device T* xn [[buffer(5)]],
                        uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                        uint sg [[simdgroup_index_in_threadgroup]], uint nsg [[simdgroups_per_threadgroup]]) {
  threadgroup float part[32];
  if (row >= step.p.rows) return;
  const B16 table = {codes};
  const ulong at = ulong(row) * p.d;
  embed_row(table, p, step.ids[row], w, x + at, xn + at, part, lane, sg, nsg);
}

#define TYPED(N, T)                                                                 \
  template [[host_name("rms_norm_" N)]] kernel decltype(rms_norm<T>) rms_norm<T>;   \
  template [[host_name("embed_q4_" N)]] kernel decltype(embed<Q4, T>) embed<Q4, T>; \
  template [[host_name("embed_q8_" N)]] kernel decltype(embed<Q8, T>) embed<Q8, T>; \
  template [[host_name("embed_b16_" N)]] kernel decltype(embed_plain<T>) embed_plain<T>;
TYPED("bf16", bfloat)
TYPED("f32", float)
