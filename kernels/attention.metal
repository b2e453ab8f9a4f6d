// Attention, decode: one row over all keys of a session, a threadgroup a key head and block of keys, then the blocks
// joined.
#include "common/attention.h"
#include "params.h"

// attn_decode: for key head h and each block b of KEY_BLOCK keys that exists, with q and k normalised and rotated:
//
//   m = max_j s_j,  l = sum_j e^(s_j - m),  o = sum_j e^(s_j - m) v_j,  s_j = q . k_j / sqrt(D)    for each query head
//
//   1 step     StepBuffer                          pos, rows, active, pages
//   2 p        T    [stride]                       q0 | g0 | q1 | g1 .. | k | v, gates only with params.gate
//   3 q_norm   bf16 [D]                            read with params.norm
//   4 k_norm   bf16 [D]
//   5 k        T    [pages][keys][KEY_BLOCK][D]    in and out: the key of pos is stored
//   6 v        T    [pages][keys][KEY_BLOCK][D]    in and out
//   7 part_o   f32  [keys][blocks][G][D]           out, G = heads / keys
//   8 part_ml  f32  [keys][blocks][G][2]           out: m, l
//
// Geometry: grid (key heads, blocks worked on at once), 4 simdgroups; a threadgroup takes blocks b, b + waves, ... All
// query heads of a key head share the bytes of its keys and values, up to 8 or 16 (D <= 128) at a time. Scores: 8
// lanes a key. Values: a simdgroup takes a slice of 64 dimensions of a part of the heads. The block that owns pos
// stores the new key and value first. Threadgroup memory: 16 to 24 KiB.
// Constraints: D in {32, 64, 128, 256}; blocks beyond params.blocks are left out.
// Numerics: f32; queries and keys are rounded to T. Bit-equal to attn_store and attn_rows (common/attention.h).
// Source: Dao et al., "Flash-Decoding" (2023) for the split over keys.
template <typename T, uint D>
[[max_total_threads_per_threadgroup(128)]]
kernel void attn_decode(constant AttnParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                        device const T* row [[buffer(2)]], device const bfloat* q_norm [[buffer(3)]],
                        device const bfloat* k_norm [[buffer(4)]], device T* k [[buffer(5)]], device T* v [[buffer(6)]],
                        device float* part_o [[buffer(7)]], device float* part_ml [[buffer(8)]],
                        uint2 tgid [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                        uint sg [[simdgroup_index_in_threadgroup]]) {
  constexpr uint LINES = attn_lines(D), DIMS = attn_lane_dims(D);
  threadgroup float q[LINES * D];
  threadgroup float score[LINES * KEY_BLOCK];
  threadgroup uint keys[LINES];
  if (step.p.active == 0 || step.p.rows == 0) return;

  const uint group = p.heads / p.keys, head = tgid.x, pos = step.p.pos;
  const uint q_stride = p.gate != 0 ? 2 * D : D;
  const uint k_at = p.heads * q_stride + head * D, v_at = k_at + p.keys * D;
  const uint blocks = min(pos / KEY_BLOCK + 1, p.blocks);
  for (uint b = tgid.y; b < blocks; b += p.waves) {
    const ulong at = (ulong(step.pages[b]) * p.keys + head) * (KEY_BLOCK * D);
    const uint n = min(pos + 1 - b * KEY_BLOCK, KEY_BLOCK);
    if (b == pos / KEY_BLOCK) {
      const ulong to = at + pos % KEY_BLOCK * D;
      if (sg == 0) attn_prepare<T, D, T>(k + to, row + k_at, k_norm, p, pos, lane);
      if (sg == 1) {
        for (uint i = lane; i < D; i += SIMD) v[to + i] = row[v_at + i];
      }
    }
    for (uint first = 0; first < group; first += LINES) {
      const uint lines = min(LINES, group - first);
      for (uint i = sg; i < lines; i += ATTN_SGS) {
        device const T* x = row + (head * group + first + i) * q_stride;
        attn_prepare<T, D, float>(q + i * D, x, q_norm, p, pos, lane);
        if (lane == 0) keys[i] = n;
      }
      threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);  // queries, the new key and value
      attn_block_scores<T, D>(score, q, lines, k + at, n, p.scale, lane, sg);
      threadgroup_barrier(mem_flags::mem_threadgroup);  // scores
      const ulong part = (ulong(head) * p.blocks + b) * group + first;
      for (uint i = sg; i < lines; i += ATTN_SGS) {
        const float2 ml = attn_weights(score + i * KEY_BLOCK, n, lane);
        if (lane == 0) {
          part_ml[2 * (part + i)] = ml.x;
          part_ml[2 * (part + i) + 1] = ml.y;
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);  // weights
      const uint3 share = attn_share<D>(lines, lane, sg);
      const uint own = share.x, count = share.y, dim = share.z;
      float o[attn_sg_lines(D) * DIMS];
      attn_values<T, D>(&o[0], score + own * KEY_BLOCK, keys + own, count, v + at + dim);
      LANE_LOOP
      for (uint i = 0; i < attn_sg_lines(D); i++) {
        if (i < count) {
          device float* to = part_o + (part + own + i) * D + dim;
          VEC_LOOP
          for (uint e = 0; e < DIMS; e++) to[e] = o[i * DIMS + e];
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);  // queries and weights are free
    }
  }
}

// attn_merge: a[h] = (sum over blocks of o_b e^(m_b - M)) / (sum over blocks of l_b e^(m_b - M)), M the largest m_b,
//             blocks joined in ascending order; with params.gate times sigmoid(g_h).
//
//   1 step     StepBuffer                  pos, rows, active
//   2 part_o   f32 [keys][blocks][G][D]    from attn_decode
//   3 part_ml  f32 [keys][blocks][G][2]
//   4 p        T   [stride]                gates
//   5 a        T   [heads * D]             out
//
// Geometry: a threadgroup a query head, a simdgroup a slice of up to 64 dimensions.
// Constraints: D in {32, 64, 128, 256}; blocks beyond params.blocks are left out.
// Numerics: f32, one rounding.
// Source: as attn_decode.
template <typename T, uint D>
[[max_total_threads_per_threadgroup(128)]]
kernel void attn_merge(constant AttnMergeParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                       device const float* part_o [[buffer(2)]], device const float* part_ml [[buffer(3)]],
                       device const T* row [[buffer(4)]], device T* a [[buffer(5)]],
                       uint head [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                       uint sg [[simdgroup_index_in_threadgroup]]) {
  constexpr uint DIMS = attn_lane_dims(D), V = DIMS < 8 ? DIMS : 8;
  if (step.p.active == 0 || step.p.rows == 0) return;

  const uint group = p.heads / p.keys, blocks = min(step.p.pos / KEY_BLOCK + 1, p.blocks);
  const uint dim = sg * attn_slice(D) + lane * DIMS;
  float o[DIMS];
  VEC_LOOP
  for (uint e = 0; e < DIMS; e++) o[e] = 0.0f;
  float top = -INFINITY, sum = 0.0f;
  for (uint b = 0; b < blocks; b++) {
    const ulong part = (ulong(head / group) * p.blocks + b) * group + head % group;
    const float2 f = attn_join(top, sum, part_ml[2 * part], part_ml[2 * part + 1]);
    device const float* from = part_o + part * D + dim;
    LANE_LOOP
    for (uint i = 0; i < DIMS; i += V) {
      VEC_LOOP
      for (uint e = 0; e < V; e++) o[i + e] = attn_joined(o[i + e], from[i + e], f);
    }
  }
  const bool gated = p.gate != 0;
  device const T* gate = row + (gated ? (2 * head + 1) * D : 0) + dim;
  device T* to = a + head * D + dim;
  VEC_LOOP
  for (uint e = 0; e < DIMS; e++) to[e] = attn_output<T>(o[e], sum, gated, float(gate[e]));
}

#define ATTN_DECODE(T, S, D)                                                                                          \
  template [[host_name("attn_decode_" #S "_d" #D)]] kernel void attn_decode<T, D>(                                    \
      constant AttnParams&, device const StepBuffer&, device const T*, device const bfloat*, device const bfloat*,    \
      device T*, device T*, device float*, device float*, uint2, uint, uint);                                         \
  template [[host_name("attn_merge_" #S "_d" #D)]] kernel void attn_merge<T, D>(                                      \
      constant AttnMergeParams&, device const StepBuffer&, device const float*, device const float*, device const T*, \
      device T*, uint, uint, uint);
ATTN_DECODE(bfloat, bf16, 32)
ATTN_DECODE(bfloat, bf16, 64)
ATTN_DECODE(bfloat, bf16, 128)
ATTN_DECODE(bfloat, bf16, 256)
ATTN_DECODE(float, f32, 32)
ATTN_DECODE(float, f32, 64)
ATTN_DECODE(float, f32, 128)
ATTN_DECODE(float, f32, 256)
