// The end of a mixture of neuron-major experts: partial sums, weights of the slots, residual, and the next norm.
#include "common/dequant.h"
#include "common/norm.h"
#include "params.h"

// neuron_combine: y[r] += sum over slots j of w[r][j] * (sum over slices of part[r][j]) + sum over slices of shared[r];
//                 with NORM, xn[r] = y[r] * norm / sqrt(mean(y[r]^2) + eps).
//
//   1 step    StepBuffer                       rows
//   2 part    f32 [rows][top_k][slices][d]
//   3 w       f32 [rows][top_k]
//   4 shared  f32 [rows][shared][d]
//   5 y       T   [rows][d]                    in and out
//   6 norm    bf16 [d]                         with NORM
//   7 xn      T   [rows][d]                    with NORM; out
//
// Geometry: a threadgroup a row, up to 16 simdgroups; a lane takes eight neighbouring outputs at a time.
// Constraints: d a multiple of 8.
// Numerics: f32; slices upwards, slots in their order, the shared expert, the residual; one rounding to T. xn is that
// of rms_norm in every bit. Source: this project; the norm as rms_norm.
constant constexpr uint BATCH = 4;  // partial sums that are read together, so that their reads overlap

// Eight partial sums from p on.
inline void load_octet(device const float* p, thread float (&v)[8]) {
#if SIMD > 1
  UNROLL for (uint e = 0; e < 8; e += 4) {
    const float4 x = *(device const float4*)(p + e);
    v[e] = x.x;
    v[e + 1] = x.y;
    v[e + 2] = x.z;
    v[e + 3] = x.w;
  }
#else
  OCT for (uint e = 0; e < 8; e++) v[e] = p[e];
#endif
}

// The partial sums of a row: those of the slots, then those of the shared expert.
struct Parts {
  device const float* part;
  device const float* shared;
  uint routed;
  uint rows;
  uint d;
};

// Outputs i to i + 7 of BATCH partial sums from row k on; those beyond the last repeat it.
inline void load_batch(thread const Parts& p, uint k, uint i, thread float (&v)[BATCH][8]) {
  UNROLL for (uint b = 0; b < BATCH; b++) {
    const uint row = min(k + b, p.rows - 1);
    device const float* from = row < p.routed ? p.part + ulong(row) * p.d : p.shared + ulong(row - p.routed) * p.d;
    load_octet(from + i, v[b]);
  }
}

// Outputs i to i + 7 of a row, rounded to T. The shared expert counts as one more slot, of weight 1. A batch is read
// while the one before is used, and what is chosen is chosen without branches, so that reads overlap.
template <typename T>
inline void combine_octet(constant NeuronCombineParams& p, thread const Parts& parts, device const float* w,
                          device const T* y, uint i, thread float (&v)[8]) {
  float acc[8], s[8], next[BATCH][8];
  OCT for (uint e = 0; e < 8; e++) acc[e] = s[e] = 0.0f;
  uint slot = 0, slice = 0;
  load_batch(parts, 0, i, next);
  for (uint k = 0; k < parts.rows; k += BATCH) {
    float batch[BATCH][8];
    UNROLL for (uint b = 0; b < BATCH; b++) { OCT for (uint e = 0; e < 8; e++) batch[b][e] = next[b][e]; }
    if (k + BATCH < parts.rows) load_batch(parts, k + BATCH, i, next);
    UNROLL for (uint b = 0; b < BATCH; b++) {
      const bool here = k + b < parts.rows;
      slice += here ? 1u : 0u;
      const bool end = slice == (slot < p.top_k ? p.slices : p.shared);
      const float weight = slot < p.top_k ? w[min(slot, p.top_k - 1)] : 1.0f;
      OCT for (uint e = 0; e < 8; e++) {
        s[e] += here ? batch[b][e] : 0.0f;
        acc[e] = end ? fma(weight, s[e], acc[e]) : acc[e];
        s[e] = end ? 0.0f : s[e];
      }
      slot += end ? 1u : 0u;
      slice = end ? 0u : slice;
    }
  }
  OCT for (uint e = 0; e < 8; e++) v[e] = float(T(float(y[i + e]) + acc[e]));
}

// Combines a row and returns, for a norm, the squares of a thread's outputs in eight partial sums.
template <typename T>
inline void combine_row(constant NeuronCombineParams& p, uint row, device const float* part, device const float* w,
                        device const float* shared, device T* y, uint first, uint stride, thread float (&squares)[8]) {
  const uint routed = p.top_k * p.slices;
  const Parts parts = {part + ulong(row) * routed * p.d, shared + ulong(row) * p.shared * p.d, routed,
                       routed + p.shared, p.d};
  OCT for (uint e = 0; e < 8; e++) squares[e] = 0.0f;
  for (uint i = first; i < p.d; i += stride) {
    float v[8];
    combine_octet<T>(p, parts, w + row * p.top_k, y, i, v);
    OCT for (uint e = 0; e < 8; e++) y[i + e] = T(v[e]);
    add_squares(v, squares);
  }
}

template <typename T>
[[max_total_threads_per_threadgroup(512)]]
kernel void neuron_combine(constant NeuronCombineParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                           device const float* part [[buffer(2)]], device const float* w [[buffer(3)]],
                           device const float* shared [[buffer(4)]], device T* y [[buffer(5)]],
                           uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                           uint sg [[simdgroup_index_in_threadgroup]], uint nsg [[simdgroups_per_threadgroup]]) {
  if (row >= step.p.rows) return;
  float squares[8];
  device T* out = y + ulong(row) * p.d;
  combine_row<T>(p, row, part, w, shared, out, (sg * SIMD + lane) * 8, nsg * SIMD * 8, squares);
}

template <typename T>
[[max_total_threads_per_threadgroup(512)]]
kernel void neuron_combine_norm(constant NeuronCombineParams& p [[buffer(0)]],
                                device const StepBuffer& step [[buffer(1)]], device const float* part [[buffer(2)]],
                                device const float* w [[buffer(3)]], device const float* shared [[buffer(4)]],
                                device T* y [[buffer(5)]], device const bfloat* norm [[buffer(6)]],
                                device T* xn [[buffer(7)]], uint row [[threadgroup_position_in_grid]],
                                uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],
                                uint nsg [[simdgroups_per_threadgroup]]) {
  threadgroup float parts[32];
  if (row >= step.p.rows) return;
  float squares[8];
  device T* out = y + ulong(row) * p.d;
  const uint first = (sg * SIMD + lane) * 8, stride = nsg * SIMD * 8;
  combine_row<T>(p, row, part, w, shared, out, first, stride, squares);
  const float scale = row_scale(squares, float(p.d), p.eps, parts, lane, sg, nsg);
  for (uint i = first; i < p.d; i += stride) {
    float v[8];
    OCT for (uint e = 0; e < 8; e++) v[e] = float(out[i + e]);
    scale_octet(v, scale, norm + i, xn + ulong(row) * p.d + i);
  }
}

#define TYPED(N, T)                                                                                 \
  template [[host_name("neuron_combine_" N)]] kernel decltype(neuron_combine<T>) neuron_combine<T>; \
  template [[host_name("neuron_combine_norm_" N)]] kernel decltype(neuron_combine_norm<T>) neuron_combine_norm<T>;
TYPED("bf16", bfloat)
TYPED("f32", float)
