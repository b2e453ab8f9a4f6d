// Routed experts for many rows (prefill): slots sorted by expert (route.metal) are cut into tiles of up to 4 that
// share one reading of their expert's weights. Bit-equal to experts.metal, slot by slot. Weight formats and their
// streams: common/dequant.h; an expert's matrix is rows e * n to (e + 1) * n - 1 of the stacked matrix.
//
// Grids over tiles are upper bounds: dimensions 1 and 2 hold tile tgid.z * top_k + tgid.y, and surplus threadgroups
// leave when it is not below ntiles.
#include "common/experts.h"
#include "params.h"

// A tile: slots order[first] to order[first + count - 1] of one expert.
struct Tile {
  uint expert;
  uint count;
  uint slot[EXPERT_TILE];  // those beyond count repeat the last
};

inline Tile load_tile(device const uint* tiles, device const uint* order, uint at) {
  Tile t;
  t.expert = tiles[3 * at];
  const uint first = tiles[3 * at + 1];
  t.count = tiles[3 * at + 2];
  UNROLL for (uint m = 0; m < EXPERT_TILE; m++) t.slot[m] = order[first + min(m, t.count - 1)];
  return t;
}

// expert_gateup_rows: h[s][i] = silu(g) * u for every slot s, g and u = rows 2i and 2i + 1 of its expert times row
//                     s / top_k of x.
//
//   1 step    StepBuffer             not read: the tiles hold live rows only
//   2 x       T   [rows][k]
//   3 order   u32 [rows * top_k]
//   4 tiles   u32 [][3]              {expert, first, count}
//   5 ntiles  u32 [1]
//   6 codes, 7 scales, 8 biases      of [experts][n][k], n = 2 I; B16 has codes only
//   9 h       T   [rows * top_k][I]  out (B16: 7)
//
// Geometry: a simdgroup makes 4 weight rows = 2 outputs of the slots of one tile; grid (n / (4 simdgroups), tiles).
// Constraints: k a multiple of 64.
// Numerics: f32 in the order of row_dot, one rounding to T.
template <typename T, typename W>
inline void gateup_rows(W w, constant ExpertParams& p, device const T* x, Tile t, device T* h, uint lane, uint first) {
  if (first >= p.n) return;
  RowPtrs<T, EXPERT_TILE> in;
  UNROLL for (uint m = 0; m < EXPERT_TILE; m++) in.row[m] = x + ulong(t.slot[m] / p.top_k) * p.k;
  float sum[EXPERT_ROWS][EXPERT_TILE];
  row_dot<W, T, EXPERT_ROWS, EXPERT_TILE>(w, expert_rows(t.expert, p.n, first), p.k, in, lane, sum);
  if (lane != 0) return;
  UNROLL for (uint m = 0; m < EXPERT_TILE; m++) {
    device T* out = h + ulong(t.slot[m]) * (p.n / 2) + first / 2;
    UNROLL for (uint i = 0; i < EXPERT_ROWS / 2; i++) {
      if (m < t.count && first + 2 * i < p.n) out[i] = T(vsilu(sum[2 * i][m]) * sum[2 * i + 1][m]);
    }
  }
}

template <typename T, typename W>
kernel void expert_gateup_rows(constant ExpertParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                               device const T* x [[buffer(2)]], device const uint* order [[buffer(3)]],
                               device const uint* tiles [[buffer(4)]], device const uint* ntiles [[buffer(5)]],
                               device const uint* codes [[buffer(6)]], device const bfloat* scales [[buffer(7)]],
                               device const bfloat* biases [[buffer(8)]], device T* h [[buffer(9)]],
                               uint3 tgid [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                               uint sg [[simdgroup_index_in_threadgroup]], uint nsg [[simdgroups_per_threadgroup]]) {
  const uint at = tgid.z * p.top_k + tgid.y;
  if (at >= ntiles[0]) return;
  const W w = {codes, scales, biases};
  gateup_rows<T, W>(w, p, x, load_tile(tiles, order, at), h, lane, expert_first(tgid.x, sg, nsg, p.n));
}

template <typename T>
kernel void expert_gateup_rows_plain(constant ExpertParams& p [[buffer(0)]],
                                     device const StepBuffer& step [[buffer(1)]], device const T* x [[buffer(2)]],
                                     device const uint* order [[buffer(3)]], device const uint* tiles [[buffer(4)]],
                                     device const uint* ntiles [[buffer(5)]], device const bfloat* codes [[buffer(6)]],
                                     device T* h [[buffer(7)]], uint3 tgid [[threadgroup_position_in_grid]],
                                     uint lane [[thread_index_in_simdgroup]],
                                     uint sg [[simdgroup_index_in_threadgroup]],
                                     uint nsg [[simdgroups_per_threadgroup]]) {
  const uint at = tgid.z * p.top_k + tgid.y;
  if (at >= ntiles[0]) return;
  const B16 w = {codes};
  gateup_rows<T, B16>(w, p, x, load_tile(tiles, order, at), h, lane, expert_first(tgid.x, sg, nsg, p.n));
}

// expert_down_rows: d[s][i] = row i of slot s's expert times h[s].
//
//   1 step    StepBuffer             not read
//   2 h       T   [rows * top_k][k]
//   3 order, 4 tiles, 5 ntiles       as above
//   6 codes, 7 scales, 8 biases      of [experts][n][k]; B16 has codes only
//   9 d       f32 [rows * top_k][n]  out (B16: 7)
//
// Geometry, constraints: as expert_gateup_rows, 4 outputs a simdgroup.
// Numerics: f32 in the order of row_dot; not rounded.
template <typename T, typename W>
inline void down_rows(W w, constant ExpertParams& p, device const T* h, Tile t, device float* d, uint lane,
                      uint first) {
  if (first >= p.n) return;
  RowPtrs<T, EXPERT_TILE> in;
  UNROLL for (uint m = 0; m < EXPERT_TILE; m++) in.row[m] = h + ulong(t.slot[m]) * p.k;
  float sum[EXPERT_ROWS][EXPERT_TILE];
  row_dot<W, T, EXPERT_ROWS, EXPERT_TILE>(w, expert_rows(t.expert, p.n, first), p.k, in, lane, sum);
  if (lane != 0) return;
  UNROLL for (uint m = 0; m < EXPERT_TILE; m++) {
    device float* out = d + ulong(t.slot[m]) * p.n + first;
    UNROLL for (uint r = 0; r < EXPERT_ROWS; r++) {
      if (m < t.count && first + r < p.n) out[r] = sum[r][m];
    }
  }
}

template <typename T, typename W>
kernel void expert_down_rows(constant ExpertParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                             device const T* h [[buffer(2)]], device const uint* order [[buffer(3)]],
                             device const uint* tiles [[buffer(4)]], device const uint* ntiles [[buffer(5)]],
                             device const uint* codes [[buffer(6)]], device const bfloat* scales [[buffer(7)]],
                             device const bfloat* biases [[buffer(8)]], device float* d [[buffer(9)]],
                             uint3 tgid [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                             uint sg [[simdgroup_index_in_threadgroup]], uint nsg [[simdgroups_per_threadgroup]]) {
  const uint at = tgid.z * p.top_k + tgid.y;
  if (at >= ntiles[0]) return;
  const W w = {codes, scales, biases};
  down_rows<T, W>(w, p, h, load_tile(tiles, order, at), d, lane, expert_first(tgid.x, sg, nsg, p.n));
}

template <typename T>
kernel void expert_down_rows_plain(constant ExpertParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                                   device const T* h [[buffer(2)]], device const uint* order [[buffer(3)]],
                                   device const uint* tiles [[buffer(4)]], device const uint* ntiles [[buffer(5)]],
                                   device const bfloat* codes [[buffer(6)]], device float* d [[buffer(7)]],
                                   uint3 tgid [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                                   uint sg [[simdgroup_index_in_threadgroup]],
                                   uint nsg [[simdgroups_per_threadgroup]]) {
  const uint at = tgid.z * p.top_k + tgid.y;
  if (at >= ntiles[0]) return;
  const B16 w = {codes};
  down_rows<T, B16>(w, p, h, load_tile(tiles, order, at), d, lane, expert_first(tgid.x, sg, nsg, p.n));
}

// combine_rows: y[r][i] += sum over j of w[r][j] * d[r * top_k + j][i] + sigmoid(logits[r][experts]) * ds[r][i].
//
//   1 step    StepBuffer             rows
//   2 d       f32 [rows * top_k][n]
//   3 w       f32 [rows][top_k]
//   4 ds      f32 [rows][n]          shared expert's output
//   5 logits  f32 [rows][stride]     value `experts` is the shared expert's gate
//   6 y       T   [rows][n]          in and out
//
// Geometry: a simdgroup makes 64 columns of a row; grid (n / (64 simdgroups), rows).
// Numerics: the end of expert_down: f32, slots in their order, shared expert, residual; one rounding to T.
template <typename T>
kernel void combine_rows(constant ExpertParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                         device const float* d [[buffer(2)]], device const float* w [[buffer(3)]],
                         device const float* ds [[buffer(4)]], device const float* logits [[buffer(5)]],
                         device T* y [[buffer(6)]], uint2 tgid [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],
                         uint nsg [[simdgroups_per_threadgroup]]) {
  constexpr uint COLUMNS = 64;
  const uint row = tgid.y, first = (tgid.x * nsg + sg) * COLUMNS;
  if (row >= step.p.rows || first >= p.n) return;
  const float gate = logits[ulong(row) * p.stride + p.experts];
  device const float* out = d + ulong(row) * p.top_k * p.n;
  device const float* weight = w + row * p.top_k;
  const uint end = min(first + COLUMNS, p.n);
  for (uint i = first + lane; i < end; i += SIMD) {
    float acc = 0.0f;
    for (uint j = 0; j < p.top_k; j++) acc = expert_add(acc, weight[j], out[ulong(j) * p.n + i]);
    const ulong at = ulong(row) * p.n + i;
    y[at] = T(expert_end(acc, gate, ds[at], float(y[at])));
  }
}

#define AFFINE(KERNEL, F, W, D, T) \
  template [[host_name(#KERNEL "_" #F "_" #D)]] kernel decltype(KERNEL<T, W>) KERNEL<T, W>;
#define PLAIN(KERNEL, D, T) \
  template [[host_name(#KERNEL "_b16_" #D)]] kernel decltype(KERNEL##_plain<T>) KERNEL##_plain<T>;
#define FORMATS(KERNEL, D, T) AFFINE(KERNEL, q4, Q4, D, T) AFFINE(KERNEL, q8, Q8, D, T) PLAIN(KERNEL, D, T)
#define COMBINE(D, T) template [[host_name("combine_rows_" #D)]] kernel decltype(combine_rows<T>) combine_rows<T>;
FORMATS(expert_gateup_rows, bf16, bfloat)
FORMATS(expert_gateup_rows, f32, float)
FORMATS(expert_down_rows, bf16, bfloat)
FORMATS(expert_down_rows, f32, float)
COMBINE(bf16, bfloat)
COMBINE(f32, float)
