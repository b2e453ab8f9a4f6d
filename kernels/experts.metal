// Routed experts for a few rows (decode and verification): every row reads the weights of its own experts, chosen on
// the device. Bit-equal to experts_rows.metal. Weight formats and their streams: common/dequant.h; an expert's matrix
// is rows e * n to (e + 1) * n - 1 of the stacked matrix.
#include "common/experts.h"
#include "params.h"

// expert_gateup: h[r][j][i] = silu(g) * u, g and u = rows 2i and 2i + 1 of expert idx[r][j] times x[r].
//
//   1 step    StepBuffer           rows
//   2 x       T   [rows][k]
//   3 idx     u32 [rows][top_k]
//   4 codes, 5 scales, 6 biases    of [experts][n][k], n = 2 I; B16 has codes only
//   7 h       T   [rows][top_k][I] out (4 for B16: buffer 5)
//
// Geometry: a simdgroup makes 4 weight rows = 2 outputs of one slot; grid (n / (4 simdgroups), top_k, rows).
// Constraints: k a multiple of 64; idx below experts.
// Numerics: f32 in the order of row_dot, one rounding to T.
template <typename T, typename W>
inline void gateup(W w, constant ExpertParams& p, device const T* x, device const uint* idx, device T* h, uint3 tgid,
                   uint lane, uint first) {
  if (first >= p.n) return;
  const uint slot = tgid.z * p.top_k + tgid.y;
  RowPtrs<T, 1> in;
  in.row[0] = x + ulong(tgid.z) * p.k;
  float sum[EXPERT_ROWS][1];
  row_dot<W, T, EXPERT_ROWS, 1>(w, expert_rows(idx[slot], p.n, first), p.k, in, lane, sum);
  if (lane != 0) return;
  device T* out = h + ulong(slot) * (p.n / 2) + first / 2;
  UNROLL for (uint i = 0; i < EXPERT_ROWS / 2; i++) {
    if (first + 2 * i < p.n) out[i] = T(vsilu(sum[2 * i][0]) * sum[2 * i + 1][0]);
  }
}

template <typename T, typename W>
kernel void expert_gateup(constant ExpertParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                          device const T* x [[buffer(2)]], device const uint* idx [[buffer(3)]],
                          device const uint* codes [[buffer(4)]], device const bfloat* scales [[buffer(5)]],
                          device const bfloat* biases [[buffer(6)]], device T* h [[buffer(7)]],
                          uint3 tgid [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                          uint sg [[simdgroup_index_in_threadgroup]], uint nsg [[simdgroups_per_threadgroup]]) {
  if (tgid.z >= step.p.rows) return;
  const W w = {codes, scales, biases};
  gateup<T, W>(w, p, x, idx, h, tgid, lane, expert_first(tgid.x, sg, nsg, p.n));
}

template <typename T>
kernel void expert_gateup_plain(constant ExpertParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                                device const T* x [[buffer(2)]], device const uint* idx [[buffer(3)]],
                                device const bfloat* codes [[buffer(4)]], device T* h [[buffer(5)]],
                                uint3 tgid [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                                uint sg [[simdgroup_index_in_threadgroup]], uint nsg [[simdgroups_per_threadgroup]]) {
  if (tgid.z >= step.p.rows) return;
  const B16 w = {codes};
  gateup<T, B16>(w, p, x, idx, h, tgid, lane, expert_first(tgid.x, sg, nsg, p.n));
}

// expert_down: y[r][i] += sum over j of weight[r][j] * (row i of expert idx[r][j] times h[r][j])
//                         + sigmoid(logits[r][experts]) * ds[r][i].
//
//   1 step    StepBuffer            rows
//   2 h       T   [rows][top_k][k]
//   3 idx     u32 [rows][top_k]
//   4 w       f32 [rows][top_k]     weights of the slots
//   5 codes, 6 scales, 7 biases     of [experts][n][k]; B16 has codes only
//   8 ds      f32 [rows][n]         shared expert's output (B16: 6)
//   9 logits  f32 [rows][stride]    value `experts` is the shared expert's gate (B16: 7)
//  10 y       T   [rows][n]         in and out (B16: 8)
//
// Geometry: a simdgroup makes 4 outputs of one row from all its slots, so no partial sums leave it; grid
// (n / (4 simdgroups), rows).
// Constraints: k a multiple of 64; idx below experts.
// Numerics: f32; slots in their order, then the shared expert, then the residual; one rounding to T.
template <typename T, typename W>
inline void down(W w, constant ExpertParams& p, device const T* h, device const uint* idx, device const float* weight,
                 device const float* ds, device const float* logits, device T* y, uint row, uint lane, uint first) {
  if (first >= p.n) return;
  float acc[EXPERT_ROWS];
  UNROLL for (uint r = 0; r < EXPERT_ROWS; r++) acc[r] = 0.0f;
  for (uint j = 0; j < p.top_k; j++) {
    const uint slot = row * p.top_k + j;
    RowPtrs<T, 1> in;
    in.row[0] = h + ulong(slot) * p.k;
    float sum[EXPERT_ROWS][1];
    row_dot<W, T, EXPERT_ROWS, 1>(w, expert_rows(idx[slot], p.n, first), p.k, in, lane, sum);
    const float share = weight[slot];
    UNROLL for (uint r = 0; r < EXPERT_ROWS; r++) acc[r] = expert_add(acc[r], share, sum[r][0]);
  }
  if (lane != 0) return;
  const float gate = logits[ulong(row) * p.stride + p.experts];
  const ulong at = ulong(row) * p.n + first;
  UNROLL for (uint r = 0; r < EXPERT_ROWS; r++) {
    if (first + r < p.n) y[at + r] = T(expert_end(acc[r], gate, ds[at + r], float(y[at + r])));
  }
}

template <typename T, typename W>
kernel void expert_down(constant ExpertParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                        device const T* h [[buffer(2)]], device const uint* idx [[buffer(3)]],
                        device const float* w [[buffer(4)]], device const uint* codes [[buffer(5)]],
                        device const bfloat* scales [[buffer(6)]], device const bfloat* biases [[buffer(7)]],
                        device const float* ds [[buffer(8)]], device const float* logits [[buffer(9)]],
                        device T* y [[buffer(10)]], uint2 tgid [[threadgroup_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],
                        uint nsg [[simdgroups_per_threadgroup]]) {
  if (tgid.y >= step.p.rows) return;
  const W view = {codes, scales, biases};
  down<T, W>(view, p, h, idx, w, ds, logits, y, tgid.y, lane, expert_first(tgid.x, sg, nsg, p.n));
}

template <typename T>
kernel void expert_down_plain(constant ExpertParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                              device const T* h [[buffer(2)]], device const uint* idx [[buffer(3)]],
                              device const float* w [[buffer(4)]], device const bfloat* codes [[buffer(5)]],
                              device const float* ds [[buffer(6)]], device const float* logits [[buffer(7)]],
                              device T* y [[buffer(8)]], uint2 tgid [[threadgroup_position_in_grid]],
                              uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],
                              uint nsg [[simdgroups_per_threadgroup]]) {
  if (tgid.y >= step.p.rows) return;
  const B16 view = {codes};
  down<T, B16>(view, p, h, idx, w, ds, logits, y, tgid.y, lane, expert_first(tgid.x, sg, nsg, p.n));
}

#define AFFINE(KERNEL, F, W, D, T) \
  template [[host_name(#KERNEL "_" #F "_" #D)]] kernel decltype(KERNEL<T, W>) KERNEL<T, W>;
#define PLAIN(KERNEL, D, T) \
  template [[host_name(#KERNEL "_b16_" #D)]] kernel decltype(KERNEL##_plain<T>) KERNEL##_plain<T>;
#define FORMATS(KERNEL, D, T) AFFINE(KERNEL, q4, Q4, D, T) AFFINE(KERNEL, q8, Q8, D, T) PLAIN(KERNEL, D, T)
FORMATS(expert_gateup, bf16, bfloat)
FORMATS(expert_gateup, f32, float)
FORMATS(expert_down, bf16, bfloat)
FORMATS(expert_down, f32, float)
