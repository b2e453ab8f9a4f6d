// attention.h: the arithmetic of attention that decode (attention.metal) and prefill (attention_rows.metal) share.
//
// A line is one query head of one row. Keys come in blocks of KEY_BLOCK absolute positions. For each line and block:
//
//   s_j = scale (q . k_j),  m = max s_j,  p_j = e^(s_j - m),  l = sum p_j,  o = sum p_j v_j     over the block's keys
//
// in f32, and blocks are joined in ascending order. Only the order of sums inside a line matters for its bits: over
// dimensions it is given by the lanes, over keys of o it ascends, over keys of l it is given by the lanes. Which lines
// share a threadgroup does not matter, so decode and prefill agree in every bit. A key that a line must not see is in
// none of its sums.
#pragma once
#include "../params.h"
#include "simd.h"
#include "vmath.h"

constant constexpr uint KEY_LANES = SIMD == 1 ? 1 : 8;  // lanes that share a key
constant constexpr uint LANE_KEYS = SIMD == 1 ? 2 : 1;  // keys of a lane at once
constant constexpr uint ATTN_SGS = 4;                   // simdgroups of a threadgroup
constant constexpr uint LINE_BLOCK = 4;                 // lines that are worked on together

// Lines of a threadgroup, for D dimensions: their queries and the scores of a block lie in threadgroup memory.
constexpr uint attn_lines(uint D) { return D > 128 ? 8 : 16; }
// The values of a head are cut into slices; a simdgroup makes one slice of some lines, a lane adjacent dimensions.
constexpr uint attn_slice(uint D) { return D > 64 ? 64 : D; }
constexpr uint attn_lane_dims(uint D) { return attn_slice(D) / SIMD; }
// Lines of one simdgroup at most.
constexpr uint attn_sg_lines(uint D) { return attn_lines(D) * (D / attn_slice(D)) / ATTN_SGS; }

// Norm and rotation of one head of D dimensions by one simdgroup, rounded to T and stored as E:
//
//   x = x / sqrt(mean x^2 + eps) * w,  (x_i, x_j) = (x_i cos a - x_j sin a, x_j cos a + x_i sin a),  j = i + pairs
template <typename T, uint D, typename E, typename Y>
inline void attn_prepare(Y y, device const T* x, device const bfloat* w, constant AttnParams& p, uint pos, uint lane) {
  constexpr uint N = D / SIMD;
  float c[N];
  VEC_LOOP
  for (uint e = 0; e < N; e++) c[e] = float(x[lane * N + e]);
  const float r = rsqrt(sum_squares(c) / float(D) + p.eps);
  const bool norm = p.norm != 0;
  for (uint i = lane; i < p.pairs; i += SIMD) {
    const uint j = i + p.pairs;
    const float2 a = vsincos_turns(pos * p.turn_hi[i] + mulhi(pos, p.turn_lo[i]));
    const float u = norm ? float(x[i]) * r * float(w[i]) : float(x[i]);
    const float v = norm ? float(x[j]) * r * float(w[j]) : float(x[j]);
    y[i] = E(T(fma(u, a.y, -(v * a.x))));
    y[j] = E(T(fma(v, a.y, u * a.x)));
  }
  for (uint i = 2 * p.pairs + lane; i < D; i += SIMD) {
    y[i] = E(T(norm ? float(x[i]) * r * float(w[i]) : float(x[i])));
  }
}

// Scores of B lines from q on against keys 0 to n-1 of a block at k: score[line * KEY_BLOCK + j] = scale (q . k_j). All
// simdgroups share the keys. Reads keys and writes scores of up to the next multiple of 4 from n on; n <= KEY_BLOCK.
template <typename T, uint D, uint B>
inline void attn_scores(threadgroup float* score, threadgroup const float* q, device const T* k, uint n, float scale,
                        uint lane, uint sg) {
  constexpr uint SG_KEYS = SIMD / KEY_LANES * LANE_KEYS;
  const uint l = lane % KEY_LANES;
  // D = 32 gives eight lanes four dimensions each, otherwise a lane takes eight at a time.
  constexpr uint W = D / KEY_LANES < 8 ? D / KEY_LANES : 8;
  for (uint first = sg * SG_KEYS; first < n; first += ATTN_SGS * SG_KEYS) {
    const uint j = first + lane / KEY_LANES * LANE_KEYS;
    float acc[LANE_KEYS][B][8];
#pragma clang loop unroll(full)
    for (uint t = 0; t < LANE_KEYS; t++) {
#pragma clang loop unroll(full)
      for (uint b = 0; b < B; b++) {
        VEC_LOOP
        for (uint e = 0; e < 8; e++) acc[t][b][e] = 0.0f;
      }
    }
    LANE_LOOP
    for (uint i = 0; i < D / KEY_LANES; i += W) {
      const uint at = i * KEY_LANES + l * W;
#pragma clang loop unroll(full)
      for (uint t = 0; t < LANE_KEYS; t++) {
        float x[8];
        VEC_LOOP
        for (uint e = 0; e < W; e++) x[e] = float(k[(j + t) * D + at + e]);
#pragma clang loop unroll(full)
        for (uint b = 0; b < B; b++) {
          VEC_LOOP
          for (uint e = 0; e < W; e++) acc[t][b][e] = fma(q[b * D + at + e], x[e], acc[t][b][e]);
        }
      }
    }
#pragma clang loop unroll(full)
    for (uint t = 0; t < LANE_KEYS; t++) {
#pragma clang loop unroll(full)
      for (uint b = 0; b < B; b++) {
        const float s = group_sum<KEY_LANES>(sum8(acc[t][b])) * scale;
        if (l == 0) score[b * KEY_BLOCK + j + t] = s;
      }
    }
  }
}

// Scores of all lines of a threadgroup.
template <typename T, uint D>
inline void attn_block_scores(threadgroup float* score, threadgroup const float* q, uint lines, device const T* k,
                              uint n, float scale, uint lane, uint sg) {
  uint i = 0;
  for (; i + LINE_BLOCK <= lines; i += LINE_BLOCK) {
    attn_scores<T, D, LINE_BLOCK>(score + i * KEY_BLOCK, q + i * D, k, n, scale, lane, sg);
  }
  for (; i < lines; i++) attn_scores<T, D, 1>(score + i * KEY_BLOCK, q + i * D, k, n, scale, lane, sg);
}

// Eight strides of scores from key i * SIMD on: their largest values, then their weights and the sums of them. ALL says
// that all of them are below n.
template <bool ALL>
inline void attn_top(thread float (&top)[8], threadgroup const float* score, uint i, uint n, uint lane) {
  VEC_LOOP
  for (uint e = 0; e < 8; e++) {
    const uint j = (i + e) * SIMD + lane;
    const float s = ALL || j < n ? score[j] : -INFINITY;
    top[e] = s > top[e] ? s : top[e];
  }
}

template <bool ALL>
inline void attn_exp(thread float (&sum)[8], threadgroup float* score, float m, uint i, uint n, uint lane) {
  VEC_LOOP
  for (uint e = 0; e < 8; e++) {
    const uint j = (i + e) * SIMD + lane;
    const float w = ALL || j < n ? vexp(score[j] - m) : 0.0f;
    score[j] = w;
    sum[e] += w;
  }
}

// Turns the scores of keys 0 to n-1 of one line into weights p_j, by one simdgroup; n > 0. Returns (m, l).
inline float2 attn_weights(threadgroup float* score, uint n, uint lane) {
  const uint whole = n / (8 * SIMD) * 8;
  float top[8], sum[8];
  VEC_LOOP
  for (uint e = 0; e < 8; e++) {
    top[e] = -INFINITY;
    sum[e] = 0.0f;
  }
  for (uint i = 0; i < whole; i += 8) attn_top<true>(top, score, i, n, lane);
  if (whole * SIMD < n) attn_top<false>(top, score, whole, n, lane);
  float m = top[0];
#pragma clang loop unroll(full)
  for (uint e = 1; e < 8; e++) m = max(m, top[e]);
  m = simd_max(m);
  for (uint i = 0; i < whole; i += 8) attn_exp<true>(sum, score, m, i, n, lane);
  if (whole * SIMD < n) attn_exp<false>(sum, score, m, whole, n, lane);
  return float2(m, simd_sum(sum8(sum)));
}

// o[line][d] += sum over keys first to n-1, ascending, of p_j v_j[d], for W vectors of V dimensions of B lines; lines
// lie attn_lane_dims(D) apart.
template <typename T, uint D, uint B, uint W, uint V>
inline void attn_add_values(thread float* o, threadgroup const float* weight, device const T* v, uint first, uint n) {
  constexpr uint DIMS = attn_lane_dims(D);
  float acc[B][W][V];
#pragma clang loop unroll(full)
  for (uint b = 0; b < B; b++) {
#pragma clang loop unroll(full)
    for (uint i = 0; i < W; i++) {
      VEC_LOOP
      for (uint e = 0; e < V; e++) acc[b][i][e] = o[b * DIMS + i * V + e];
    }
  }
  for (uint j = first; j < n; j++) {
#pragma clang loop unroll(full)
    for (uint i = 0; i < W; i++) {
      float x[V];
      VEC_LOOP
      for (uint e = 0; e < V; e++) x[e] = float(v[j * D + i * V + e]);
#pragma clang loop unroll(full)
      for (uint b = 0; b < B; b++) {
        const float p = weight[b * KEY_BLOCK + j];
        VEC_LOOP
        for (uint e = 0; e < V; e++) acc[b][i][e] = fma(p, x[e], acc[b][i][e]);
      }
    }
  }
#pragma clang loop unroll(full)
  for (uint b = 0; b < B; b++) {
#pragma clang loop unroll(full)
    for (uint i = 0; i < W; i++) {
      VEC_LOOP
      for (uint e = 0; e < V; e++) o[b * DIMS + i * V + e] = acc[b][i][e];
    }
  }
}

// The dimensions of one lane, from v on, of the weighed values of a block: o[line][d] = sum over the keys[line] first
// keys of p_j v_j[d]. o has room for attn_sg_lines(D) lines of attn_lane_dims(D); lines is at most that.
template <typename T, uint D>
inline void attn_values(thread float* o, threadgroup const float* weight, threadgroup const uint* keys, uint lines,
                        device const T* v) {
  constexpr uint DIMS = attn_lane_dims(D), V = DIMS < 8 ? DIMS : 8, W = DIMS < 16 ? 1 : 2;
  LANE_LOOP
  for (uint t = 0; t < attn_sg_lines(D); t += LINE_BLOCK) {
    if (t < lines) {
      thread float* ot = o + t * DIMS;
      VEC_LOOP
      for (uint e = 0; e < LINE_BLOCK * DIMS; e++) ot[e] = 0.0f;
      uint joint = 0;  // keys that all lines of the block see
      if (t + LINE_BLOCK <= lines) {
        joint = min(min(keys[t], keys[t + 1]), min(keys[t + 2], keys[t + 3]));
        LANE_LOOP
        for (uint d = 0; d < DIMS; d += W * V) {
          attn_add_values<T, D, LINE_BLOCK, W, V>(ot + d, weight + t * KEY_BLOCK, v + d, 0, joint);
        }
      }
#pragma clang loop unroll(full)
      for (uint b = 0; b < LINE_BLOCK; b++) {
        if (t + b < lines && keys[t + b] > joint) {
          LANE_LOOP
          for (uint d = 0; d < DIMS; d += W * V) {
            attn_add_values<T, D, 1, W, V>(ot + b * DIMS + d, weight + (t + b) * KEY_BLOCK, v + d, joint, keys[t + b]);
          }
        }
      }
    }
  }
}

// The part of a threadgroup's work on values that one simdgroup does: (first line, number of lines, the first dimension
// of this lane).
template <uint D>
inline uint3 attn_share(uint lines, uint lane, uint sg) {
  constexpr uint SLICES = D / attn_slice(D), PARTS = ATTN_SGS / SLICES;
  const uint each = ((lines + PARTS - 1) / PARTS + LINE_BLOCK - 1) / LINE_BLOCK * LINE_BLOCK;
  const uint first = min(sg / SLICES * each, lines);
  return uint3(first, min(each, lines - first), sg % SLICES * attn_slice(D) + lane * attn_lane_dims(D));
}

// Joins a block (m, l) to what came before it (top, sum); before the first block top is -infinity and sum is 0. Returns
// the factors of the earlier values and of the block's: o = o x + o_block y.
inline float2 attn_join(thread float& top, thread float& sum, float m, float l) {
  const float now = max(top, m);
  const float2 f = float2(vexp(top - now), vexp(m - now));
  top = now;
  sum = fma(sum, f.x, l * f.y);
  return f;
}

inline float attn_joined(float o, float block, float2 f) { return fma(o, f.x, block * f.y); }

// The output of one dimension: o / sum, with a gate times its sigmoid.
template <typename T>
inline T attn_output(float o, float sum, bool gated, float gate) {
  const float y = o / sum;
  return T(gated ? y * vsigmoid(gate) : y);
}
