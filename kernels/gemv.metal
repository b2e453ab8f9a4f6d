// Dense matrix times activations: plain, into f32, onto the residual stream, and the gated first half of an MLP.
// Weight formats and their streams: common/dequant.h; arithmetic and its order: common/gemv.h.
//
// Rows from step.p.rows on are neither read nor written. A row's result does not depend on M.
#include "common/gemv.h"
#include "common/vmath.h"
#include "params.h"

// A threadgroup is 2 simdgroups of 4 matrix rows (gemvSimdgroups, gemvRows). At width 1 its first simdgroup takes all
// 8, so that activations are converted half as often, and the other has nothing to do.
constant constexpr uint ROWS = SIMD > 1 ? 4 : 8;

// First matrix row of a simdgroup; n or more when it has none.
inline uint first_row(uint tg, uint sg, uint nsg, uint n) {
  if (SIMD == 1) return sg == 0 ? tg * ROWS : n;
  return (tg * nsg + sg) * ROWS;
}

// Activation rows row, row + 1, ...; those beyond the last live one repeat it.
template <typename T, uint M>
inline RowPtrs<T, M> live_rows(device const T* x, uint row, uint rows, uint stride) {
  RowPtrs<T, M> p;
  UNROLL for (uint m = 0; m < M; m++) p.row[m] = x + ulong(min(row + m, rows - 1)) * stride;
  return p;
}

// gemv: y[r][n] = sum over k of x[r][k] * w[n][k]; with ADD, y[r][n] += that sum.
//
//   1 step    StepBuffer              rows
//   2 x       T   [rows][x_stride]    x_stride a multiple of 8
//   3 codes, 4 scales, 5 biases       of [n][k]; B16 has codes only
//   6 y       Y   [rows][y_stride]    out, with ADD in and out (B16: buffer 4)
//
// Geometry: grid (ceil(n / 8), tiles of M rows), threadgroups of 2 simdgroups; a simdgroup makes 4 x M outputs.
// With p.last the only row read is rows - 1, and row 0 of y receives it.
// Constraints: k a multiple of 64; rows at least 1 if anything is to be written.
// Numerics: f32 in the order of row_dot; one rounding to Y.
// Source: this project; affine groups as in mlx's 4-bit and 8-bit checkpoints.
template <typename W, typename T, typename Y, bool ADD, uint M>
inline void gemv_body(W w, constant GemvParams& p, uint rows, device const T* x, device Y* y, uint2 tgid, uint lane,
                      uint first) {
  uint row = tgid.y * M;
  if (first >= p.n || row >= rows) return;
  if (p.last != 0) row = rows - 1;
  float sum[ROWS][M];
  row_dot<W, T, ROWS, M>(w, row_ids<ROWS>(first, p.n), p.k, live_rows<T, M>(x, row, rows, p.x_stride), lane, sum);
  if (lane != 0) return;
  UNROLL for (uint m = 0; m < M; m++) {
    if (row + m >= rows) return;
    device Y* out = y + ulong(p.last != 0 ? 0 : row + m) * p.y_stride + first;
    UNROLL for (uint r = 0; r < ROWS; r++) {
      if (first + r < p.n) out[r] = Y(ADD ? float(out[r]) + sum[r][m] : sum[r][m]);
    }
  }
}

template <typename W, typename T, typename Y, bool ADD, uint M>
kernel void gemv(constant GemvParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                 device const T* x [[buffer(2)]], device const uint* codes [[buffer(3)]],
                 device const bfloat* scales [[buffer(4)]], device const bfloat* biases [[buffer(5)]],
                 device Y* y [[buffer(6)]], uint2 tgid [[threadgroup_position_in_grid]],
                 uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],
                 uint nsg [[simdgroups_per_threadgroup]]) {
  const W w = {codes, scales, biases};
  gemv_body<W, T, Y, ADD, M>(w, p, step.p.rows, x, y, tgid, lane, first_row(tgid.x, sg, nsg, p.n));
}

template <typename T, typename Y, bool ADD, uint M>
kernel void gemv_plain(constant GemvParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                       device const T* x [[buffer(2)]], device const bfloat* codes [[buffer(3)]],
                       device Y* y [[buffer(4)]], uint2 tgid [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],
                       uint nsg [[simdgroups_per_threadgroup]]) {
  const B16 w = {codes};
  gemv_body<B16, T, Y, ADD, M>(w, p, step.p.rows, x, y, tgid, lane, first_row(tgid.x, sg, nsg, p.n));
}

// gate_up: h[r][i] = silu(g) * u with g, u = rows 2i and 2i + 1 of w times x[r]; silu(g) = g / (1 + exp(-g)).
//
//   1 step    StepBuffer              rows
//   2 x       T   [rows][k]
//   3 codes, 4 scales, 5 biases       of [2 i][k]; B16 has codes only
//   6 h       T   [rows][i]           out (B16: buffer 4)
//
// Geometry, constraints: as gemv with n = 2 i; a simdgroup makes 2 x M outputs.
// Numerics: f32 in the order of row_dot; one rounding to T.
// Source: Shazeer, "GLU Variants Improve Transformer" (arXiv 2002.05202), SwiGLU.
template <typename W, typename T, uint M>
inline void gate_up_body(W w, constant GateUpParams& p, uint rows, device const T* x, device T* h, uint2 tgid,
                         uint lane, uint first) {
  const uint n = 2 * p.i, row = tgid.y * M;
  if (first >= n || row >= rows) return;
  float sum[ROWS][M];
  row_dot<W, T, ROWS, M>(w, row_ids<ROWS>(first, n), p.k, live_rows<T, M>(x, row, rows, p.k), lane, sum);
  if (lane != 0) return;
  UNROLL for (uint m = 0; m < M; m++) {
    if (row + m >= rows) return;
    device T* out = h + ulong(row + m) * p.i + first / 2;
    UNROLL for (uint r = 0; r < ROWS / 2; r++) {
      if (first + 2 * r < n) out[r] = T(vsilu(sum[2 * r][m]) * sum[2 * r + 1][m]);
    }
  }
}

template <typename W, typename T, uint M>
kernel void gate_up(constant GateUpParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                    device const T* x [[buffer(2)]], device const uint* codes [[buffer(3)]],
                    device const bfloat* scales [[buffer(4)]], device const bfloat* biases [[buffer(5)]],
                    device T* h [[buffer(6)]], uint2 tgid [[threadgroup_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],
                    uint nsg [[simdgroups_per_threadgroup]]) {
  const W w = {codes, scales, biases};
  gate_up_body<W, T, M>(w, p, step.p.rows, x, h, tgid, lane, first_row(tgid.x, sg, nsg, 2 * p.i));
}

template <typename T, uint M>
kernel void gate_up_plain(constant GateUpParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                          device const T* x [[buffer(2)]], device const bfloat* codes [[buffer(3)]],
                          device T* h [[buffer(4)]], uint2 tgid [[threadgroup_position_in_grid]],
                          uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],
                          uint nsg [[simdgroups_per_threadgroup]]) {
  const B16 w = {codes};
  gate_up_body<B16, T, M>(w, p, step.p.rows, x, h, tgid, lane, first_row(tgid.x, sg, nsg, 2 * p.i));
}

#define GEMV(E, F, W, N, T, Y, ADD, M) \
  template [[host_name("gemv_" E "_" F "_" N "_m" #M)]] kernel decltype(gemv<W, T, Y, ADD, M>) gemv<W, T, Y, ADD, M>;
#define GEMV_PLAIN(E, N, T, Y, ADD, M) \
  template                             \
      [[host_name("gemv_" E "_b16_" N "_m" #M)]] kernel decltype(gemv_plain<T, Y, ADD, M>) gemv_plain<T, Y, ADD, M>;
#define GATE_UP(F, W, N, T, M) \
  template [[host_name("gate_up_" F "_" N "_m" #M)]] kernel decltype(gate_up<W, T, M>) gate_up<W, T, M>;
#define GATE_UP_PLAIN(N, T, M) \
  template [[host_name("gate_up_b16_" N "_m" #M)]] kernel decltype(gate_up_plain<T, M>) gate_up_plain<T, M>;
#define QUANTISED(F, W, N, T, M)         \
  GEMV("store", F, W, N, T, T, false, M) \
  GEMV("add", F, W, N, T, T, true, M)    \
  GATE_UP(F, W, N, T, M)
#define TYPED(N, T, M)                   \
  QUANTISED("q4", Q4, N, T, M)           \
  QUANTISED("q8", Q8, N, T, M)           \
  GEMV_PLAIN("store", N, T, T, false, M) \
  GEMV_PLAIN("add", N, T, T, true, M)    \
  GATE_UP_PLAIN(N, T, M)
// With f32 activations, storing f32 is what "store" does.
#define ROW_CLASS(M)                                     \
  TYPED("bf16", bfloat, M)                               \
  GEMV("f32", "q4", Q4, "bf16", bfloat, float, false, M) \
  GEMV("f32", "q8", Q8, "bf16", bfloat, float, false, M) \
  GEMV_PLAIN("f32", "bf16", bfloat, float, false, M)
ROW_CLASS(1)
ROW_CLASS(2)
ROW_CLASS(3)
ROW_CLASS(4)
ROW_CLASS(5)
TYPED("f32", float, 1)
TYPED("f32", float, 4)
