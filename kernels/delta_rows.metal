// Gated delta net, many rows: delta_conv prepares q, k, v and the gates of all rows in parallel, delta_scan walks the
// rows with the recurrent state in registers. Bit-equal to delta_step row by row (common/delta.h).
#include "common/delta.h"
#include "params.h"

constant constexpr uint CONV_ROWS = 16;  // deltaConvRows
constant constexpr uint SCAN_ROWS = 16;  // rows whose outputs wait for the gated norm

// delta_conv: for each live row of p = q | k | v | z | b | a:
//
//   c = silu(conv4(q | k | v)),  q = l2norm(c_q) / sqrt(D),  k = l2norm(c_k),  v = c_v     per head
//   g = exp(-exp(a_log) softplus(a + dt_bias)),  beta = sigmoid(b)                         per value head
//
//   1 step        StepBuffer                  rows, active, slot, parity
//   2 p           T    [rows][stride]
//   3 conv_w      bf16 [C][4]                 C = (2 key_heads + value_heads) D
//   4 conv_state  T    [slots][2][3][C]       half parity & 1 is read, the other half written: the last three raw rows
//   5 a_log       f32  [value_heads]
//   6 dt_bias     f32  [value_heads]
//   7 qkv         T    [rows][C]              out
//   8 gb          f32  [rows][value_heads][2] out: g, beta
//
// Geometry: grid (heads of q, k, v; blocks of CONV_ROWS rows); a simdgroup takes a head of one row at a time. The block
// of the last live row writes the conv state.
// Constraints: D in {32, 64, 128}.
// Numerics: f32; q, k and v are rounded to T once, at the end.
// Source: as delta_step.
template <typename T, uint D>
[[max_total_threads_per_threadgroup(128)]]
kernel void delta_conv(constant DeltaParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                       device const T* rows [[buffer(2)]], device const bfloat* conv_w [[buffer(3)]],
                       device T* conv_state [[buffer(4)]], device const float* a_log [[buffer(5)]],
                       device const float* dt_bias [[buffer(6)]], device T* qkv [[buffer(7)]],
                       device float* gb [[buffer(8)]], uint2 tgid [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],
                       uint nsg [[simdgroups_per_threadgroup]]) {
  constexpr uint N = D / SIMD;  // channels of a lane
  if (step.p.active == 0) return;

  const uint channels = (2 * p.key_heads + p.value_heads) * D, base = tgid.x * D;
  const uint b_at = channels + p.value_heads * D, a_at = b_at + p.value_heads;
  const uint in = step.p.parity & 1;
  device T* state = conv_state + ulong(step.p.slot) * 6 * channels;
  const uint end = min((tgid.y + 1) * CONV_ROWS, step.p.rows);
  for (uint r = tgid.y * CONV_ROWS + sg; r < end; r += nsg) {
    const DeltaTaps<T> taps = delta_taps<T>(rows, p.stride, state + ulong(in) * 3 * channels, channels, r, base);
    float c[N];
    delta_conv_head<T, N>(c, taps, conv_w + 4 * ulong(base), lane);
    if (r + 1 == step.p.rows) {
      delta_history<T, N>(state + ulong(1 - in) * 3 * channels, channels, taps, base, lane);
    }
    if (tgid.x < 2 * p.key_heads) {
      delta_l2norm<T, N>(c, tgid.x < p.key_heads ? rsqrt(float(D)) : 1.0f, p.eps);
    } else if (lane == 0) {
      const uint head = tgid.x - 2 * p.key_heads;
      device const T* row = rows + ulong(r) * p.stride;
      const float2 g = delta_gates(a_log[head], dt_bias[head], float(row[a_at + head]), float(row[b_at + head]));
      device float* to = gb + 2 * (ulong(r) * p.value_heads + head);
      to[0] = g.x;
      to[1] = g.y;
    }
    device T* to = qkv + ulong(r) * channels + base + lane * N;
    VEC_LOOP
    for (uint e = 0; e < N; e++) to[e] = T(c[e]);
  }
}

// delta_scan: for value head h with key head j = h / (value_heads / key_heads), row after row:
//
//   d = (v - g S k) beta,  S = g S + d k^T,  o = S q
//   y[r][h] = o / sqrt(mean o^2 + eps) * norm * silu(z[r][h])
//
//   1 step  StepBuffer                        rows, active, slot
//   2 qkv   T    [rows][C]                    from delta_conv
//   3 gb    f32  [rows][value_heads][2]       from delta_conv
//   4 p     T    [rows][stride]               z at C
//   5 norm  bf16 [D]
//   6 s     f32  [slots][value_heads][D(v)][D(k)]   in and out
//   7 y     T    [rows][value_heads * D]      out
//
// Geometry: a threadgroup a value head, D / 8 simdgroups of 8 value columns, lanes as in delta_step. The state is read
// before the first row and written after the last one. Outputs of SCAN_ROWS rows wait in threadgroup memory (64 D
// bytes), then a simdgroup normalises a row.
// Constraints: D in {32, 64, 128}.
// Numerics: f32 state; bit-equal to delta_step.
// Source: as delta_step.
template <typename T, uint D>
[[max_total_threads_per_threadgroup(512)]]
kernel void delta_scan(constant DeltaParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                       device const T* qkv [[buffer(2)]], device const float* gb [[buffer(3)]],
                       device const T* rows [[buffer(4)]], device const bfloat* norm [[buffer(5)]],
                       device float* s [[buffer(6)]], device T* y [[buffer(7)]],
                       uint head [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                       uint sg [[simdgroup_index_in_threadgroup]], uint nsg [[simdgroups_per_threadgroup]]) {
  constexpr uint N = D / SIMD;       // channels of a lane
  constexpr uint M = D / COL_LANES;  // state values of a lane in a column
  threadgroup float out[SCAN_ROWS * D];
  if (step.p.active == 0 || step.p.rows == 0) return;

  const uint share = p.value_heads / p.key_heads;
  const uint channels = (2 * p.key_heads + p.value_heads) * D, values = p.value_heads * D;
  const uint q_at = head / share * D, k_at = q_at + p.key_heads * D, v_at = 2 * p.key_heads * D + head * D;
  const uint l = lane % COL_LANES, col = sg * SIMD_COLS + lane / COL_LANES;
  device float* cols = s + ((ulong(step.p.slot) * p.value_heads + head) * D + col) * D;
  float state[LANE_COLS * M];
  delta_read<M>(state, cols, l);
  for (uint first = 0; first < step.p.rows; first += SCAN_ROWS) {
    const uint n = min(SCAN_ROWS, step.p.rows - first);
    for (uint i = 0; i < n; i++) {
      const ulong r = first + i;
      device const T* row = qkv + r * channels;
      float q[M], k[M];
      VEC_LOOP
      for (uint e = 0; e < M; e++) {
        q[e] = float(row[q_at + delta_key(l, e)]);
        k[e] = float(row[k_at + delta_key(l, e)]);
      }
      device const float* g = gb + 2 * (r * p.value_heads + head);
      const float2 gate = float2(g[0], g[1]);
      const float qk = delta_dot<M>(&q[0], &k[0]);
      LANE_LOOP
      for (uint c = 0; c < LANE_COLS; c += RULE_COLS) {
        float v[RULE_COLS], o[RULE_COLS];
        VEC_LOOP
        for (uint e = 0; e < RULE_COLS; e++) v[e] = float(row[v_at + col + c + e]);
        delta_rule<RULE_COLS, M>(&state[c * M], &q[0], &k[0], qk, gate, v, o);
        if (l == 0) {
          VEC_LOOP
          for (uint e = 0; e < RULE_COLS; e++) out[i * D + col + c + e] = o[e];
        }
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // the outputs of n rows are made
    for (uint i = sg; i < n; i += nsg) {
      const ulong r = first + i;
      device const T* z = rows + r * p.stride + channels + head * D;
      delta_gated_norm<T, N>(y + r * values + head * D, out + i * D, z, norm, p.eps, lane);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // and read
  }
  delta_write<M>(cols, state, l);
}

#define DELTA_ROWS(T, S, D)                                                                                   \
  template [[host_name("delta_conv_" #S "_d" #D)]] kernel void delta_conv<T, D>(                              \
      constant DeltaParams&, device const StepBuffer&, device const T*, device const bfloat*, device T*,      \
      device const float*, device const float*, device T*, device float*, uint2, uint, uint, uint);           \
  template [[host_name("delta_scan_" #S "_d" #D)]] kernel void delta_scan<T, D>(                              \
      constant DeltaParams&, device const StepBuffer&, device const T*, device const float*, device const T*, \
      device const bfloat*, device float*, device T*, uint, uint, uint, uint);
DELTA_ROWS(bfloat, bf16, 32)
DELTA_ROWS(bfloat, bf16, 64)
DELTA_ROWS(bfloat, bf16, 128)
DELTA_ROWS(float, f32, 32)
DELTA_ROWS(float, f32, 64)
DELTA_ROWS(float, f32, 128)
