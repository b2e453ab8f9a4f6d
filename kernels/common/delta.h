// delta.h: the arithmetic of a gated delta net that decode (delta.metal) and prefill (delta_rows.metal) share. Both
// call the functions below and nothing else touches a number, so they agree in every bit.
//
// Roundings to the activation type T: q and k after the L2 norm (q also after the division by sqrt(D)), v after SiLU,
// and the output after the gated norm. All else is f32.
#pragma once
#include "simd.h"
#include "vmath.h"

constant constexpr uint COL_LANES = SIMD == 1 ? 1 : 4;  // lanes that share a value column
constant constexpr uint LANE_COLS = SIMD == 1 ? 8 : 1;  // columns of a lane: 8 a simdgroup
constant constexpr uint RULE_COLS = SIMD == 1 ? 4 : 1;  // of these, columns that the delta rule takes at once
constant constexpr uint SIMD_COLS = LANE_COLS * SIMD / COL_LANES;  // 8

// The four rows that a convolution reads, oldest first, each at the first channel of a head.
template <typename T>
struct DeltaTaps {
  device const T* u0;
  device const T* u1;
  device const T* u2;
  device const T* u3;
};

// Taps of row r of a pass: rows before the first one come from the conv state (half [3][channels], oldest first).
template <typename T>
inline DeltaTaps<T> delta_taps(device const T* p, uint stride, device const T* half_in, uint channels, uint r,
                               uint base) {
  device const T* p0 = p + ulong(r) * stride + base;
  device const T* h0 = half_in + ulong(r) * channels + base;
  DeltaTaps<T> t;
  t.u0 = r >= 3 ? p0 - 3 * ulong(stride) : h0;
  t.u1 = r >= 2 ? p0 - 2 * ulong(stride) : h0 + channels;
  t.u2 = r >= 1 ? p0 - ulong(stride) : h0 + 2 * ulong(channels);
  t.u3 = p0;
  return t;
}

// c[e] = silu(sum_j w[ch][j] * u_j[ch]) of channel ch = lane * N + e of a head of N * SIMD channels. The four weights
// of a channel are read as two words: a bfloat is the upper half of a float.
template <typename T, uint N>
inline void delta_conv_head(thread float (&c)[N], DeltaTaps<T> t, device const bfloat* w, uint lane) {
  device const uint* pairs = (device const uint*)w;
  const uint at = lane * N;
  VEC_LOOP
  for (uint e = 0; e < N; e++) {
    const uint ch = at + e, w01 = pairs[2 * ch], w23 = pairs[2 * ch + 1];
    float a = as_type<float>(w01 << 16) * float(t.u0[ch]);
    a = fma(as_type<float>(w01 & 0xffff0000u), float(t.u1[ch]), a);
    a = fma(as_type<float>(w23 << 16), float(t.u2[ch]), a);
    a = fma(as_type<float>(w23 & 0xffff0000u), float(t.u3[ch]), a);
    c[e] = vsilu(a);
  }
}

// Rows 1 to 3 of the taps of a pass's last row are the next conv state.
template <typename T, uint N>
inline void delta_history(device T* half_out, uint channels, DeltaTaps<T> t, uint base, uint lane) {
  device T* out = half_out + base;
  const uint at = lane * N;
  VEC_LOOP
  for (uint e = 0; e < N; e++) {
    const uint ch = at + e;
    out[ch] = t.u1[ch];
    out[ch + channels] = t.u2[ch];
    out[ch + 2 * ulong(channels)] = t.u3[ch];
  }
}

// Multiplies the head by scale / sqrt(sum of squares + eps) and rounds it to T.
template <typename T, uint N>
inline void delta_l2norm(thread float (&c)[N], float scale, float eps) {
  const float r = rsqrt(sum_squares(c) + eps) * scale;
  VEC_LOOP
  for (uint e = 0; e < N; e++) c[e] = float(T(c[e] * r));
}

// Decay g = exp(-exp(a_log) * softplus(a + dt_bias)) and beta = sigmoid(b) of a value head.
inline float2 delta_gates(float a_log, float dt_bias, float a, float b) {
  return float2(vexp(-vexp(a_log) * vsoftplus(a + dt_bias)), vsigmoid(b));
}

// Index in a column of value i of lane l: 64 consecutive bytes of four lanes, then the next 64.
inline uint delta_key(uint l, uint i) { return (i / 4 * COL_LANES + l) * 4 + i % 4; }

// Reads a lane's part of the state: its LANE_COLS columns of COL_LANES * N values from s on.
template <uint N>
inline void delta_read(thread float* r, device const float* s, uint l) {
#pragma clang loop unroll(full)
  for (uint c = 0; c < LANE_COLS; c++) {
    LANE_LOOP
    for (uint i = 0; i < N; i += 4) {
      const float4 x = *(device const float4*)(s + c * COL_LANES * N + delta_key(l, i));
      thread float* to = r + c * N + i;
      to[0] = x.x;
      to[1] = x.y;
      to[2] = x.z;
      to[3] = x.w;
    }
  }
}

// Writes it back.
template <uint N>
inline void delta_write(device float* s, thread const float* r, uint l) {
#pragma clang loop unroll(full)
  for (uint c = 0; c < LANE_COLS; c++) {
    LANE_LOOP
    for (uint i = 0; i < N; i += 4) {
      thread const float* x = r + c * N + i;
      *(device float4*)(s + c * COL_LANES * N + delta_key(l, i)) = float4(x[0], x[1], x[2], x[3]);
    }
  }
}

// q . k over COL_LANES lanes of N values each.
template <uint N, typename K>
inline float delta_dot(K q, K k) {
  float p[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
  LANE_LOOP
  for (uint i = 0; i < N; i += 8) {
    VEC_LOOP
    for (uint e = 0; e < 8; e++) p[e] = fma(q[i + e], k[i + e], p[e]);
  }
  return group_sum<COL_LANES>(sum8(p));
}

// The delta rule on C columns of the state, of which a lane has N values each, at s, s + N, ... v and o are the
// columns' inputs and outputs:
//
//	d = (v - g S k) beta;   S' = g S + d k^T;   o = S' q = g S q + d (k . q)
//
// Both products with the old state are taken in one reading of it. No column's result depends on C: several at a time
// share the reading of q and k and keep a vector unit busy. S points to device or thread memory, K to threadgroup or
// thread memory.
template <uint C, uint N, typename S, typename K>
inline void delta_rule(S s, K q, K k, float qk, float2 gate, thread const float (&v)[C], thread float (&o)[C]) {
  float a[C][8], b[C][8], d[C];
#pragma clang loop unroll(full)
  for (uint c = 0; c < C; c++) {
    VEC_LOOP
    for (uint e = 0; e < 8; e++) a[c][e] = b[c][e] = 0.0f;
  }
  LANE_LOOP
  for (uint i = 0; i < N; i += 8) {
#pragma clang loop unroll(full)
    for (uint c = 0; c < C; c++) {
      VEC_LOOP
      for (uint e = 0; e < 8; e++) {
        const float x = s[c * N + i + e];
        a[c][e] = fma(x, k[i + e], a[c][e]);
        b[c][e] = fma(x, q[i + e], b[c][e]);
      }
    }
  }
  const float g = gate.x;
#pragma clang loop unroll(full)
  for (uint c = 0; c < C; c++) {
    d[c] = (v[c] - g * group_sum<COL_LANES>(sum8(a[c]))) * gate.y;
    o[c] = fma(d[c], qk, g * group_sum<COL_LANES>(sum8(b[c])));
  }
  LANE_LOOP
  for (uint i = 0; i < N; i += 8) {
#pragma clang loop unroll(full)
    for (uint c = 0; c < C; c++) {
      float x[8];  // keeps stores apart from loads that they might alias
      VEC_LOOP
      for (uint e = 0; e < 8; e++) x[e] = fma(k[i + e], d[c], g * s[c * N + i + e]);
      VEC_LOOP
      for (uint e = 0; e < 8; e++) s[c * N + i + e] = x[e];
    }
  }
}

// Gated RMS norm of one head by one simdgroup: y = o / sqrt(mean(o^2) + eps) * w * silu(z), one rounding.
template <typename T, uint N>
inline void delta_gated_norm(device T* y, threadgroup const float* o, device const T* z, device const bfloat* w,
                             float eps, uint lane) {
  float c[N];
  const uint at = lane * N;
  VEC_LOOP
  for (uint e = 0; e < N; e++) c[e] = o[at + e];
  const float r = rsqrt(sum_squares(c) / float(N * SIMD) + eps);
  VEC_LOOP
  for (uint e = 0; e < N; e++) y[at + e] = T(c[e] * r * float(w[at + e]) * vsilu(float(z[at + e])));
}
