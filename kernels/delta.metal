// Gated delta net, decode: one row from the projections to the input of the output projection in one dispatch.
#include "common/delta.h"
#include "params.h"

// delta_step: for value head h with key head j = h / (value_heads / key_heads), and row p = q | k | v | z | b | a:
//
//   c = silu(conv4(state, q | k | v))     causal, depthwise; the last three raw rows become the next state
//   q = c_q[j] / sqrt(sum c_q[j]^2 + eps) / sqrt(D),  k = c_k[j] / sqrt(sum c_k[j]^2 + eps),  v = c_v[h]
//   g = exp(-exp(a_log[h]) softplus(a[h] + dt_bias[h])),  beta = sigmoid(b[h])
//   d = (v - g S k) beta,  S = g S + d k^T,  o = S q
//   y[h] = o / sqrt(mean o^2 + eps) * norm * silu(z[h])
//
//   1 step        StepBuffer                         rows, active, slot, parity
//   2 p           T    [stride]
//   3 conv_w      bf16 [C][4]                        C = (2 key_heads + value_heads) D
//   4 conv_state  T    [slots][2][3][C]              half parity & 1 is read, the other half written
//   5 a_log       f32  [value_heads]
//   6 dt_bias     f32  [value_heads]
//   7 norm        bf16 [D]
//   8 s           f32  [slots][value_heads][D(v)][D(k)]   in and out
//   9 y           T    [value_heads * D]             out
//
// Geometry: a threadgroup a value head, D / 8 simdgroups of 8 value columns; at 32 lanes 4 lanes share a column, D / 4
// state values each, so a product is 2 shuffles and the state is read once and written once. Simdgroups 0, 1, 2 and 3
// first make q, k, v and the gates. The value heads of one key head make q and k each for itself; the first of them
// writes their conv state. Threadgroup memory: 16 D + 8 bytes.
// Constraints: D in {32, 64, 128}, value_heads a multiple of key_heads.
// Numerics: f32; q, k, v and y are rounded to T (common/delta.h). Bit-equal to delta_conv and delta_scan.
// Source: Yang, Kautz, Hatamizadeh, "Gated Delta Networks" (2024), recurrent form; L2 norm with eps on the sum.
template <typename T, uint D>
[[max_total_threads_per_threadgroup(512)]]
kernel void delta_step(constant DeltaParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                       device const T* row [[buffer(2)]], device const bfloat* conv_w [[buffer(3)]],
                       device T* conv_state [[buffer(4)]], device const float* a_log [[buffer(5)]],
                       device const float* dt_bias [[buffer(6)]], device const bfloat* norm [[buffer(7)]],
                       device float* s [[buffer(8)]], device T* y [[buffer(9)]],
                       uint head [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                       uint sg [[simdgroup_index_in_threadgroup]]) {
  constexpr uint N = D / SIMD;       // channels of a lane
  constexpr uint M = D / COL_LANES;  // state values of a lane in a column
  threadgroup float part[3 * D];     // q, k, v of the head
  threadgroup float out[D];
  threadgroup float gates[2];
  if (step.p.active == 0 || step.p.rows == 0) return;

  const uint share = p.value_heads / p.key_heads;
  const uint channels = (2 * p.key_heads + p.value_heads) * D;
  const uint z_at = channels, b_at = z_at + p.value_heads * D, a_at = b_at + p.value_heads;
  if (sg < 3) {
    const uint j = sg == 2 ? 2 * p.key_heads + head : sg * p.key_heads + head / share;
    const uint base = j * D;
    const uint in = step.p.parity & 1;
    device T* state = conv_state + ulong(step.p.slot) * 6 * channels;
    const DeltaTaps<T> taps = delta_taps<T>(row, p.stride, state + ulong(in) * 3 * channels, channels, 0, base);
    float c[N];
    delta_conv_head<T, N>(c, taps, conv_w + 4 * ulong(base), lane);
    if (sg == 2 || head % share == 0) {
      delta_history<T, N>(state + ulong(1 - in) * 3 * channels, channels, taps, base, lane);
    }
    if (sg == 2) {
      VEC_LOOP
      for (uint e = 0; e < N; e++) c[e] = float(T(c[e]));
    } else {
      delta_l2norm<T, N>(c, sg == 0 ? rsqrt(float(D)) : 1.0f, p.eps);
    }
    VEC_LOOP
    for (uint e = 0; e < N; e++) part[sg * D + lane * N + e] = c[e];
  } else if (sg == 3 && lane == 0) {
    const float2 g = delta_gates(a_log[head], dt_bias[head], float(row[a_at + head]), float(row[b_at + head]));
    gates[0] = g.x;
    gates[1] = g.y;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);  // q, k, v and the gates are made

  const uint l = lane % COL_LANES, col = sg * SIMD_COLS + lane / COL_LANES;
  const float2 gate = float2(gates[0], gates[1]);
  device float* cols = s + ((ulong(step.p.slot) * p.value_heads + head) * D + col) * D;
#if SIMD > 1
  float q[M], k[M], state[M];
#pragma clang loop unroll(full)
  for (uint i = 0; i < M; i++) {
    q[i] = part[delta_key(l, i)];
    k[i] = part[D + delta_key(l, i)];
  }
  delta_read<M>(&state[0], cols, l);
  const float v[1] = {part[2 * D + col]};
  float o[1];
  delta_rule<1, M>(&state[0], &q[0], &k[0], delta_dot<M>(&q[0], &k[0]), gate, v, o);
  delta_write<M>(cols, &state[0], l);
  if (l == 0) out[col] = o[0];
#else
  const float qk = delta_dot<M>(part, part + D);
  for (uint c = 0; c < LANE_COLS; c += RULE_COLS) {
    for (uint i = 0; i < RULE_COLS * D; i += 16) msl_prefetch(cols + (c + RULE_COLS) * D + i);  // the next columns
    float v[RULE_COLS], o[RULE_COLS];
    VEC_LOOP
    for (uint e = 0; e < RULE_COLS; e++) v[e] = part[2 * D + col + c + e];
    delta_rule<RULE_COLS, M>(cols + c * D, part, part + D, qk, gate, v, o);
    VEC_LOOP
    for (uint e = 0; e < RULE_COLS; e++) out[col + c + e] = o[e];
  }
#endif
  threadgroup_barrier(mem_flags::mem_threadgroup);  // all columns are made

  if (sg == 0) delta_gated_norm<T, N>(y + head * D, out, row + z_at + head * D, norm, p.eps, lane);
}

#define DELTA_STEP(T, S, D)                                                                              \
  template [[host_name("delta_step_" #S "_d" #D)]] kernel void delta_step<T, D>(                         \
      constant DeltaParams&, device const StepBuffer&, device const T*, device const bfloat*, device T*, \
      device const float*, device const float*, device const bfloat*, device float*, device T*, uint, uint, uint);
DELTA_STEP(bfloat, bf16, 32)
DELTA_STEP(bfloat, bf16, 64)
DELTA_STEP(bfloat, bf16, 128)
DELTA_STEP(float, f32, 32)
DELTA_STEP(float, f32, 64)
DELTA_STEP(float, f32, 128)
