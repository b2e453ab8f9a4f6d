// Attention, many rows: attn_store prepares queries, keys and values of all rows in parallel, attn_rows attends row by
// row. Bit-equal to attn_decode and attn_merge row by row (common/attention.h).
#include "common/attention.h"
#include "params.h"

// attn_store: q = rope(norm(q)), k = rope(norm(k)), v = v for each live row and head; row r has position pos + r.
//
//   1 step    StepBuffer                          pos, rows, active, pages
//   2 p       T    [rows][stride]                 q0 | g0 | q1 | g1 .. | k | v, gates only with params.gate
//   3 q_norm  bf16 [D]                            read with params.norm
//   4 k_norm  bf16 [D]
//   5 q       T    [rows][heads][D]               out
//   6 k       T    [pages][keys][KEY_BLOCK][D]    out: the keys of the rows
//   7 v       T    [pages][keys][KEY_BLOCK][D]    out: the values of the rows
//
// Geometry: grid (heads of q, k and v by four, rows), a simdgroup a head.
// Constraints: D in {32, 64, 128, 256}.
// Numerics: f32, one rounding.
// Source: Su et al., "RoFormer" (2021), half-split pairs.
template <typename T, uint D>
[[max_total_threads_per_threadgroup(128)]]
kernel void attn_store(constant AttnParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                       device const T* rows [[buffer(2)]], device const bfloat* q_norm [[buffer(3)]],
                       device const bfloat* k_norm [[buffer(4)]], device T* q [[buffer(5)]], device T* k [[buffer(6)]],
                       device T* v [[buffer(7)]], uint2 tgid [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]]) {
  const uint r = tgid.y, unit = tgid.x * ATTN_SGS + sg;
  if (step.p.active == 0 || r >= step.p.rows || unit >= p.heads + 2 * p.keys) return;

  device const T* row = rows + ulong(r) * p.stride;
  const uint pos = step.p.pos + r;
  const uint q_stride = p.gate != 0 ? 2 * D : D;
  if (unit < p.heads) {
    device T* to = q + (ulong(r) * p.heads + unit) * D;
    attn_prepare<T, D, T>(to, row + unit * q_stride, q_norm, p, pos, lane);
    return;
  }
  const bool is_key = unit < p.heads + p.keys;
  const uint head = unit - p.heads - (is_key ? 0 : p.keys);
  const ulong to = ((ulong(step.pages[pos / KEY_BLOCK]) * p.keys + head) * KEY_BLOCK + pos % KEY_BLOCK) * D;
  device const T* from = row + p.heads * q_stride + (unit - p.heads) * D;
  if (is_key) {
    attn_prepare<T, D, T>(k + to, from, k_norm, p, pos, lane);
  } else {
    for (uint i = lane; i < D; i += SIMD) v[to + i] = from[i];
  }
}

// attn_rows: a[r][h] = softmax over keys 0 .. pos + r of (q[r][h] . k / sqrt(D)) times v; with params.gate times
//            sigmoid(g). Block by block in ascending order, as attn_decode and attn_merge.
//
//   1 step  StepBuffer                          pos, rows, active, pages
//   2 q     T   [rows][heads][D]                from attn_store
//   3 k     T   [pages][keys][KEY_BLOCK][D]
//   4 v     T   [pages][keys][KEY_BLOCK][D]
//   5 p     T   [rows][stride]                  gates
//   6 a     T   [rows][heads * D]               out
//
// Geometry: grid (tiles of rows, key heads, groups of query heads), 4 simdgroups. A tile has max(1, LINES / G) rows, a
// group up to LINES of the G query heads of a key head, LINES = 8 or 16 (D <= 128): all lines of a threadgroup share
// the bytes of keys and values. Work inside a block as in attn_decode. Threadgroup memory: 16 to 24 KiB.
// Constraints: D in {32, 64, 128, 256}.
// Numerics: f32, one rounding.
// Source: Milakov, Gimelshein, "Online normalizer calculation for softmax" (2018).
template <typename T, uint D>
[[max_total_threads_per_threadgroup(128)]]
kernel void attn_rows(constant AttnMergeParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                      device const T* q_rows [[buffer(2)]], device const T* k [[buffer(3)]],
                      device const T* v [[buffer(4)]], device const T* rows [[buffer(5)]], device T* a [[buffer(6)]],
                      uint3 tgid [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                      uint sg [[simdgroup_index_in_threadgroup]]) {
  constexpr uint LINES = attn_lines(D), DIMS = attn_lane_dims(D), OWN = LINES / ATTN_SGS;
  threadgroup float q[LINES * D];
  threadgroup float score[LINES * KEY_BLOCK];
  threadgroup uint keys[LINES];
  threadgroup float factors[2 * LINES];
  threadgroup float sums[LINES];
  const uint group = p.heads / p.keys, tile = max(1u, LINES / group), row0 = tgid.x * tile;
  if (step.p.active == 0 || row0 >= step.p.rows) return;

  const uint first_head = tgid.y * group + tgid.z * LINES;  // of the group's query heads
  const uint heads = min(LINES, group - tgid.z * LINES);
  const uint live = min(tile, step.p.rows - row0), lines = live * heads;
  for (uint i = sg; i < lines; i += ATTN_SGS) {
    device const T* from = q_rows + (ulong(row0 + i / heads) * p.heads + first_head + i % heads) * D;
    for (uint d = lane; d < D; d += SIMD) q[i * D + d] = float(from[d]);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);  // queries

  const uint3 share = attn_share<D>(lines, lane, sg);
  const uint own = share.x, count = share.y, dim = share.z;
  float o[attn_sg_lines(D) * DIMS];
  VEC_LOOP
  for (uint e = 0; e < attn_sg_lines(D) * DIMS; e++) o[e] = 0.0f;
  float top[OWN], sum[OWN];  // of lines sg, sg + 4, ...
#pragma clang loop unroll(full)
  for (uint t = 0; t < OWN; t++) {
    top[t] = -INFINITY;
    sum[t] = 0.0f;
  }
  const uint end = step.p.pos + row0 + live;  // keys that the last row sees
  for (uint b = 0; b * KEY_BLOCK < end; b++) {
    const ulong at = (ulong(step.pages[b]) * p.keys + tgid.y) * (KEY_BLOCK * D);
    attn_block_scores<T, D>(score, q, lines, k + at, min(end - b * KEY_BLOCK, KEY_BLOCK), p.scale, lane, sg);
    threadgroup_barrier(mem_flags::mem_threadgroup);  // scores
#pragma clang loop unroll(full)
    for (uint t = 0; t < OWN; t++) {
      const uint i = sg + t * ATTN_SGS;
      const uint seen = step.p.pos + row0 + i / heads + 1;  // keys of the line's row
      const uint n = seen > b * KEY_BLOCK ? min(seen - b * KEY_BLOCK, KEY_BLOCK) : 0;
      if (i < lines && n > 0) {
        const float2 ml = attn_weights(score + i * KEY_BLOCK, n, lane);
        const float2 f = attn_join(top[t], sum[t], ml.x, ml.y);
        if (lane == 0) {
          factors[2 * i] = f.x;
          factors[2 * i + 1] = f.y;
        }
      }
      if (i < lines && lane == 0) keys[i] = n;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // weights
    float block[attn_sg_lines(D) * DIMS];
    attn_values<T, D>(&block[0], score + own * KEY_BLOCK, keys + own, count, v + at + dim);
    LANE_LOOP
    for (uint i = 0; i < attn_sg_lines(D); i++) {
      if (i < count && keys[own + i] > 0) {
        const float2 f = float2(factors[2 * (own + i)], factors[2 * (own + i) + 1]);
        VEC_LOOP
        for (uint e = 0; e < DIMS; e++) o[i * DIMS + e] = attn_joined(o[i * DIMS + e], block[i * DIMS + e], f);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // scores, counts and factors are free
  }
#pragma clang loop unroll(full)
  for (uint t = 0; t < OWN; t++) {
    if (lane == 0 && sg + t * ATTN_SGS < lines) sums[sg + t * ATTN_SGS] = sum[t];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);  // sums
  const bool gated = p.gate != 0;
  LANE_LOOP
  for (uint i = 0; i < attn_sg_lines(D); i++) {
    if (i < count) {
      const ulong r = row0 + (own + i) / heads;
      const uint head = first_head + (own + i) % heads;
      device const T* gate = rows + r * p.stride + (gated ? (2 * head + 1) * D : 0) + dim;
      device T* to = a + (r * p.heads + head) * D + dim;
      VEC_LOOP
      for (uint e = 0; e < DIMS; e++) {
        to[e] = attn_output<T>(o[i * DIMS + e], sums[own + i], gated, float(gate[e]));
      }
    }
  }
}

#define ATTN_ROWS(T, S, D)                                                                                         \
  template [[host_name("attn_store_" #S "_d" #D)]] kernel void attn_store<T, D>(                                   \
      constant AttnParams&, device const StepBuffer&, device const T*, device const bfloat*, device const bfloat*, \
      device T*, device T*, device T*, uint2, uint, uint);                                                         \
  template [[host_name("attn_rows_" #S "_d" #D)]] kernel void attn_rows<T, D>(                                     \
      constant AttnMergeParams&, device const StepBuffer&, device const T*, device const T*, device const T*,      \
      device const T*, device T*, uint3, uint, uint);
ATTN_ROWS(bfloat, bf16, 32)
ATTN_ROWS(bfloat, bf16, 64)
ATTN_ROWS(bfloat, bf16, 128)
ATTN_ROWS(bfloat, bf16, 256)
ATTN_ROWS(float, f32, 32)
ATTN_ROWS(float, f32, 64)
ATTN_ROWS(float, f32, 128)
ATTN_ROWS(float, f32, 256)
