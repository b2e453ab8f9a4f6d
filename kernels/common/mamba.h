// mamba.h: the arithmetic of a Mamba-2 mixer that decode (mamba.metal) and prefill (mamba_rows.metal) share. Both call
// the functions below and nothing else touches a number, so they agree in every bit. Taps and history of the
// convolution, and the shares of lanes in the state, are those of delta.h: a row of the state is a column there.
//
// Roundings to the activation type T: x, B and C after SiLU, and the output. All else is f32.
#pragma once
#include "../params.h"
#include "delta.h"

// Where the parts of a row of projections z | x | B | C | dt and of its channels x | B | C lie.
template <uint P, uint N>
struct MambaShape {
  uint values;    // heads * P: also where the channels start
  uint channels;  // of the convolution
  uint dt_at;
};

template <uint P, uint N>
inline MambaShape<P, N> mamba_shape(constant MambaParams& p) {
  MambaShape<P, N> s;
  s.values = p.heads * P;
  s.channels = s.values + 2 * p.groups * N;
  s.dt_at = s.values + s.channels;
  return s;
}

// c[e] = T(silu(b[ch] + sum_j w[ch][j] * u_j[ch])) of channel ch = lane * M + e of a run of M * SIMD channels.
template <typename T, uint M>
inline void mamba_conv(thread float (&c)[M], DeltaTaps<T> t, device const bfloat* w, device const bfloat* b,
                       uint lane) {
  device const uint* pairs = (device const uint*)w;
  const uint at = lane * M;
  VEC_LOOP
  for (uint e = 0; e < M; e++) {
    const uint ch = at + e, w01 = pairs[2 * ch], w23 = pairs[2 * ch + 1];
    float a = fma(as_type<float>(w01 << 16), float(t.u0[ch]), float(b[ch]));
    a = fma(as_type<float>(w01 & 0xffff0000u), float(t.u1[ch]), a);
    a = fma(as_type<float>(w23 << 16), float(t.u2[ch]), a);
    a = fma(as_type<float>(w23 & 0xffff0000u), float(t.u3[ch]), a);
    c[e] = float(T(vsilu(a)));
  }
}

// Decay exp(-exp(a_log) dt) and dt = clamp(softplus(dt + dt_bias)) of a head. NaN is kept.
inline float2 mamba_gates(float a_log, float dt_bias, float dt, float least, float most) {
  const float v = vsoftplus(dt + dt_bias);
  const float d = v < least ? least : (v > most ? most : v);
  return float2(vexp(-vexp(a_log) * d), d);
}

// The recurrence on C rows of the state, of which a lane has N values each, at s, s + N, ...: S' = decay S + (dt x)
// B^T, o = S' C. x and o are the rows' inputs and outputs. The state is read once and written once. No row's result
// depends on C. S points to device or thread memory, K to threadgroup or thread memory.
template <uint C, uint N, typename S, typename K>
inline void mamba_rule(S s, K b, K c, float2 gate, thread const float (&x)[C], thread float (&o)[C]) {
  float p[C][8], u[C];
#pragma clang loop unroll(full)
  for (uint r = 0; r < C; r++) {
    u[r] = gate.y * x[r];
    VEC_LOOP
    for (uint e = 0; e < 8; e++) p[r][e] = 0.0f;
  }
  LANE_LOOP
  for (uint i = 0; i < N; i += 8) {
#pragma clang loop unroll(full)
    for (uint r = 0; r < C; r++) {
      float v[8];  // keeps stores apart from loads that they might alias
      VEC_LOOP
      for (uint e = 0; e < 8; e++) {
        v[e] = fma(u[r], b[i + e], gate.x * s[r * N + i + e]);
        p[r][e] = fma(v[e], c[i + e], p[r][e]);
      }
      VEC_LOOP
      for (uint e = 0; e < 8; e++) s[r * N + i + e] = v[e];
    }
  }
#pragma clang loop unroll(full)
  for (uint r = 0; r < C; r++) o[r] = group_sum<COL_LANES>(sum8(p[r]));
}
