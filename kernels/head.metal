// The output head: logits of one row, with the first stage of their arg-max.
#include "common/gemv.h"
#include "common/sample.h"
#include "params.h"

constant constexpr uint ROWS = SIMD > 1 ? 4 : 8;  // matrix rows of a simdgroup at a time
constant constexpr uint TILE = 256;               // logits of a threadgroup (headTile)

// head: logits[n] = sum over k of x[k] * w[n][k]; part[t] = greatest of logits 256t to 256t + 255, ties to the lower
// id. The value of a part is NaN when one of its logits is.
//
//   1 step    StepBuffer          not read
//   2 x       T   [k]
//   3 codes, 4 scales, 5 biases   of [n][k]; B16 has codes only
//   6 logits  f32 [n]             out (B16: buffer 4)
//   7 part    Best[ceil(n / 256)] out (B16: buffer 5)
//
// Geometry: a threadgroup makes 256 logits; its simdgroups take 4 rows (8 at width 1) at a time, in turn. Grid ceil(n /
// 256). Constraints: k a multiple of 64. Numerics: f32 in the order of row_dot. The arg-max does not depend on any
// order.
template <typename W, typename T>
inline void head_body(W w, constant HeadParams& p, device const T* x, device float* logits, device Best* part,
                      uint tgid, Group g) {
  RowPtrs<T, 1> in;
  in.row[0] = x;
  Arg best = no_arg();
  for (uint at = g.sg * ROWS; at < TILE; at += g.nsg * ROWS) {
    const uint first = tgid * TILE + at;
    if (first >= p.n) break;
    float sum[ROWS][1];
    row_dot<W, T, ROWS, 1>(w, row_ids<ROWS>(first, p.n), p.k, in, g.lane, sum);
    UNROLL for (uint r = 0; r < ROWS; r++) {
      if (first + r >= p.n) break;
      if (g.lane == 0) logits[first + r] = sum[r][0];
      arg_take(best, sum[r][0], first + r);
    }
  }
  group_arg(g, best);
  if (group_thread(g) == 0) part[tgid] = {best.nan != 0 ? NAN : best.value, best.id};
}

template <typename W, typename T>
kernel void head(constant HeadParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                 device const T* x [[buffer(2)]], device const uint* codes [[buffer(3)]],
                 device const bfloat* scales [[buffer(4)]], device const bfloat* biases [[buffer(5)]],
                 device float* logits [[buffer(6)]], device Best* part [[buffer(7)]],
                 uint tgid [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                 uint sg [[simdgroup_index_in_threadgroup]], uint nsg [[simdgroups_per_threadgroup]]) {
  threadgroup float vals[32];
  threadgroup uint ids[32];
  const W w = {codes, scales, biases};
  head_body(w, p, x, logits, part, tgid, Group{vals, ids, lane, sg, nsg});
}

template <typename T>
kernel void head_plain(constant HeadParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                       device const T* x [[buffer(2)]], device const bfloat* codes [[buffer(3)]],
                       device float* logits [[buffer(4)]], device Best* part [[buffer(5)]],
                       uint tgid [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                       uint sg [[simdgroup_index_in_threadgroup]], uint nsg [[simdgroups_per_threadgroup]]) {
  threadgroup float vals[32];
  threadgroup uint ids[32];
  const B16 w = {codes};
  head_body(w, p, x, logits, part, tgid, Group{vals, ids, lane, sg, nsg});
}

#define TYPED(N, T)                                                              \
  template [[host_name("head_q4_" N)]] kernel decltype(head<Q4, T>) head<Q4, T>; \
  template [[host_name("head_q8_" N)]] kernel decltype(head<Q8, T>) head<Q8, T>; \
  template [[host_name("head_b16_" N)]] kernel decltype(head_plain<T>) head_plain<T>;
TYPED("bf16", bfloat)
TYPED("f32", float)
