// Up projections with squared ReLU, which also say what of their result is live: h = max(w x, 0)^2 and a bitmap. They
// feed the neuron-major kernels (neuron.metal). Weight formats and their streams: common/dequant.h; an expert's matrix
// is rows e * i to (e + 1) * i - 1 of the stacked matrix.
//
// Bit n % 32 of word n / 32 is set unless the stored h[n] is 0; NaN is live. A threadgroup makes the 32 neurons of one
// word, so the word is its own. Rows from step.p.rows on are neither read nor written. A row's result does not depend
// on the kernel, on M or on its neighbours.
#include "common/gemv.h"
#include "params.h"

constant constexpr uint WORD = 32;                // liveBits
constant constexpr uint ROWS = SIMD > 1 ? 4 : 8;  // neurons of a simdgroup at a time
constant constexpr uint TILE = 4;                 // slots that the kernels of sorted rows take at once
constant constexpr uint PIECES = 32 / TILE;       // NeuronTile / TILE

// max(x, 0)^2; NaN is kept.
inline float relu2(float x) {
  const float r = x < 0.0f ? 0.0f : x;
  return r * r;
}

// Where the 32 neurons of a word of M rows go.
template <typename T, uint M>
struct WordOut {
  device T* h[M];
  device uint* live[M];
};

// Matrix rows first to first + 31 times M rows of x; the first count of them are stored. part has 32 M elements.
template <typename T, uint M>
inline void relu2_word(Q4 w, ulong first, uint k, RowPtrs<T, M> x, WordOut<T, M> out, uint count,
                       threadgroup float* part, uint lane, uint sg) {
#if SIMD > 1
  RowIds<ROWS> ids;
  UNROLL for (uint r = 0; r < ROWS; r++) ids.row[r] = first + sg * ROWS + r;
  float sum[ROWS][M];
  row_dot<Q4, T, ROWS, M>(w, ids, k, x, lane, sum);
  if (lane == 0) {
    UNROLL for (uint j = 0; j < ROWS * M; j++) {
      part[j % M * WORD + sg * ROWS + j / M] = float(T(relu2(sum[j / M][j % M])));
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);  // the word is complete
  UNROLL for (uint m = 0; m < M; m++) {
    if (sg != m || m >= count) continue;
    const float v[1] = {part[m * WORD + lane]};
    const uint word = live_word(v);
    out.h[m][lane] = T(v[0]);
    if (lane == 0) out.live[m][0] = word;
  }
#else
  if (sg != 0) return;
  float v[M][WORD];
  for (uint n = 0; n < WORD; n += ROWS) {
    RowIds<ROWS> ids;
    UNROLL for (uint r = 0; r < ROWS; r++) ids.row[r] = first + n + r;
    float sum[ROWS][M];
    row_dot<Q4, T, ROWS, M>(w, ids, k, x, lane, sum);
    UNROLL for (uint j = 0; j < ROWS * M; j++) v[j % M][n + j / M] = float(T(relu2(sum[j / M][j % M])));
  }
  for (uint m = 0; m < count; m++) {
    for (uint n = 0; n < WORD; n++) out.h[m][n] = T(v[m][n]);
    out.live[m][0] = live_word(v[m]);
  }
#endif
}

// up_relu2: h[r][n] = max(w[n] x[r], 0)^2.
//
//   1 step    StepBuffer              rows
//   2 x       T   [rows][k]
//   3 codes, 4 scales, 5 biases       of [i][k], Q4
//   6 h       T   [rows][i]           out
//   7 live    u32 [rows][i / 32]      out
//
// Geometry: grid (i / 32, tiles of M rows), threadgroups of 8 simdgroups of 4 neurons.
// Constraints: i and k multiples of 64.
// Numerics: f32 in the order of row_dot; one rounding to T.
// Source: So et al., "Primer" (arXiv 2109.08668), squared ReLU.
template <typename T, uint M>
[[max_total_threads_per_threadgroup(256)]]
kernel void up_relu2(constant Relu2Params& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                     device const T* x [[buffer(2)]], device const uint* codes [[buffer(3)]],
                     device const bfloat* scales [[buffer(4)]], device const bfloat* biases [[buffer(5)]],
                     device T* h [[buffer(6)]], device uint* live [[buffer(7)]],
                     uint2 tgid [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                     uint sg [[simdgroup_index_in_threadgroup]]) {
  threadgroup float part[M * WORD];
  const uint row = tgid.y * M, rows = step.p.rows;
  if (row >= rows) return;
  const Q4 w = {codes, scales, biases};
  RowPtrs<T, M> in;
  WordOut<T, M> out;
  UNROLL for (uint m = 0; m < M; m++) {
    const ulong r = min(row + m, rows - 1);
    in.row[m] = x + r * p.k;
    out.h[m] = h + r * p.i + tgid.x * WORD;
    out.live[m] = live + r * (p.i / WORD) + tgid.x;
  }
  relu2_word<T, M>(w, tgid.x * WORD, p.k, in, out, min(M, rows - row), part, lane, sg);
}

// expert_up_relu2: the same for slot j of row r with the matrix of expert idx[r][j].
//
//   1 step    StepBuffer                     rows
//   2 x       T   [rows][k]
//   3 idx     u32 [rows][top_k]
//   4 codes, 5 scales, 6 biases              of [experts][i][k], Q4
//   7 h       T   [rows][top_k][i]           out
//   8 live    u32 [rows][top_k][i / 32]      out
//
// Geometry: grid (i / 32, top_k, rows); else as up_relu2.
template <typename T>
[[max_total_threads_per_threadgroup(256)]]
kernel void expert_up_relu2(constant Relu2Params& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                            device const T* x [[buffer(2)]], device const uint* idx [[buffer(3)]],
                            device const uint* codes [[buffer(4)]], device const bfloat* scales [[buffer(5)]],
                            device const bfloat* biases [[buffer(6)]], device T* h [[buffer(7)]],
                            device uint* live [[buffer(8)]], uint3 tgid [[threadgroup_position_in_grid]],
                            uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]]) {
  threadgroup float part[WORD];
  if (tgid.z >= step.p.rows) return;
  const Q4 w = {codes, scales, biases};
  const ulong slot = tgid.z * p.top_k + tgid.y;
  RowPtrs<T, 1> in;
  in.row[0] = x + ulong(tgid.z) * p.k;
  WordOut<T, 1> out;
  out.h[0] = h + slot * p.i + tgid.x * WORD;
  out.live[0] = live + slot * (p.i / WORD) + tgid.x;
  relu2_word<T, 1>(w, ulong(idx[slot]) * p.i + tgid.x * WORD, p.k, in, out, 1, part, lane, sg);
}

// expert_up_relu2_rows: the same for slots sorted by expert into tiles of up to 32 (route.metal).
//
//   1 step    StepBuffer                     not read: the tiles hold live rows only
//   2 x       T   [rows][k]
//   3 order   u32 [rows * top_k]
//   4 tiles   u32 [][3]                      {expert, first, count}
//   5 ntiles  u32 [1]
//   6 codes, 7 scales, 8 biases              of [experts][i][k], Q4
//   9 h       T   [rows * top_k][i]          out
//  10 live    u32 [rows * top_k][i / 32]     out
//
// Geometry: grid (i / 32 words by 8 pieces of a tile, tiles); tile tgid.z * top_k + tgid.y, and surplus threadgroups
// leave. The pieces of one word are neighbours, so that one reading of its weights serves them from the cache.
template <typename T>
[[max_total_threads_per_threadgroup(256)]]
kernel void expert_up_relu2_rows(constant Relu2Params& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                                 device const T* x [[buffer(2)]], device const uint* order [[buffer(3)]],
                                 device const uint* tiles [[buffer(4)]], device const uint* ntiles [[buffer(5)]],
                                 device const uint* codes [[buffer(6)]], device const bfloat* scales [[buffer(7)]],
                                 device const bfloat* biases [[buffer(8)]], device T* h [[buffer(9)]],
                                 device uint* live [[buffer(10)]], uint3 tgid [[threadgroup_position_in_grid]],
                                 uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]]) {
  threadgroup float part[TILE * WORD];
  const uint at = tgid.z * p.top_k + tgid.y;
  if (at >= ntiles[0]) return;
  const uint first = tgid.x % PIECES * TILE, word = tgid.x / PIECES, count = tiles[3 * at + 2];
  if (first >= count) return;
  device const uint* slots = order + tiles[3 * at + 1];
  const Q4 w = {codes, scales, biases};
  RowPtrs<T, TILE> in;
  WordOut<T, TILE> out;
  UNROLL for (uint m = 0; m < TILE; m++) {
    const ulong slot = slots[min(first + m, count - 1)];
    in.row[m] = x + slot / p.top_k * p.k;
    out.h[m] = h + slot * p.i + word * WORD;
    out.live[m] = live + slot * (p.i / WORD) + word;
  }
  const ulong row = ulong(tiles[3 * at]) * p.i + word * WORD;
  relu2_word<T, TILE>(w, row, p.k, in, out, min(TILE, count - first), part, lane, sg);
}

#define UP(N, T, M) template [[host_name("up_relu2_" N "_m" #M)]] kernel decltype(up_relu2<T, M>) up_relu2<T, M>;
#define EXPERT_UP(N, T)                                                                                \
  template [[host_name("expert_up_relu2_" N)]] kernel decltype(expert_up_relu2<T>) expert_up_relu2<T>; \
  template [[host_name("expert_up_relu2_rows_" N)]] kernel decltype(expert_up_relu2_rows<T>) expert_up_relu2_rows<T>;
UP("bf16", bfloat, 1)
UP("bf16", bfloat, 2)
UP("bf16", bfloat, 3)
UP("bf16", bfloat, 4)
UP("bf16", bfloat, 5)
UP("f32", float, 1)
UP("f32", float, 4)
EXPERT_UP("bf16", bfloat)
EXPERT_UP("f32", float)
