// Mamba-2, many rows: mamba_conv prepares x, B, C and the gates of all rows in parallel, mamba_scan walks the rows with
// the state in registers. Bit-equal to mamba_step row by row (common/mamba.h).
#include "common/mamba.h"
#include "params.h"

constant constexpr uint CONV_ROWS = 16;  // mambaConvRows

// One run of channels of one row.
template <typename T, uint M>
inline void conv_run(device T* to, DeltaTaps<T> taps, device const bfloat* w, device const bfloat* b, uint lane) {
  float c[M];
  mamba_conv<T, M>(c, taps, w, b, lane);
  VEC_LOOP
  for (uint e = 0; e < M; e++) to[lane * M + e] = T(c[e]);
}

// mamba_conv: for each live row of z | x | B | C | dt:
//
//   xbc = silu(conv4(x | B | C) + conv_b)
//   dt = clamp(softplus(dt + dt_bias), dt_min, dt_max),  decay = exp(-exp(a_log) dt)   per head
//
//   1 step        StepBuffer              rows, active, slot, parity
//   2 rows        T    [rows][stride]
//   3 conv_w      bf16 [C][4]             C = heads P + 2 groups N
//   4 conv_b      bf16 [C]
//   5 conv_state  T    [slots][2][3][C]   half parity & 1 is read, the other half written: the last three raw rows
//   6 a_log       f32  [heads]
//   7 dt_bias     f32  [heads]
//   8 xbc         T    [rows][C]          out
//   9 gates       f32  [rows][heads][2]   out: decay, dt
//
// Geometry: grid (heads of x, groups of B, groups of C; blocks of CONV_ROWS rows); a simdgroup takes one row at a time.
// The block of the last live row writes the conv state.
// Constraints: P in {32, 64}, N in {64, 128}.
// Numerics: f32; x, B and C are rounded to T once.
// Source: as mamba_step.
template <typename T, uint P, uint N>
[[max_total_threads_per_threadgroup(128)]]
kernel void mamba_conv_rows(constant MambaParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                            device const T* rows [[buffer(2)]], device const bfloat* conv_w [[buffer(3)]],
                            device const bfloat* conv_b [[buffer(4)]], device T* conv_state [[buffer(5)]],
                            device const float* a_log [[buffer(6)]], device const float* dt_bias [[buffer(7)]],
                            device T* xbc [[buffer(8)]], device float* gates [[buffer(9)]],
                            uint2 tgid [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                            uint sg [[simdgroup_index_in_threadgroup]], uint nsg [[simdgroups_per_threadgroup]]) {
  if (step.p.active == 0) return;
  const MambaShape<P, N> shape = mamba_shape<P, N>(p);
  const bool head = tgid.x < p.heads;
  const uint base = head ? tgid.x * P : shape.values + (tgid.x - p.heads) * N;
  const uint in = step.p.parity & 1;
  device T* state = conv_state + ulong(step.p.slot) * 6 * shape.channels;
  device const T* half_in = state + ulong(in) * 3 * shape.channels;
  device T* half_out = state + ulong(1 - in) * 3 * shape.channels;
  device const bfloat* w = conv_w + 4 * ulong(base);
  device const bfloat* b = conv_b + base;
  const uint end = min((tgid.y + 1) * CONV_ROWS, step.p.rows);
  for (uint r = tgid.y * CONV_ROWS + sg; r < end; r += nsg) {
    const DeltaTaps<T> taps = delta_taps<T>(rows + shape.values, p.stride, half_in, shape.channels, r, base);
    device T* to = xbc + ulong(r) * shape.channels + base;
    const bool last = r + 1 == step.p.rows;
    if (head) {
      conv_run<T, P / SIMD>(to, taps, w, b, lane);
      if (last) delta_history<T, P / SIMD>(half_out, shape.channels, taps, base, lane);
    } else {
      conv_run<T, N / SIMD>(to, taps, w, b, lane);
      if (last) delta_history<T, N / SIMD>(half_out, shape.channels, taps, base, lane);
    }
    if (head && lane == 0) {
      const float dt = float(rows[ulong(r) * p.stride + shape.dt_at + tgid.x]);
      const float2 g = mamba_gates(a_log[tgid.x], dt_bias[tgid.x], dt, p.dt_min, p.dt_max);
      device float* to = gates + 2 * (ulong(r) * p.heads + tgid.x);
      to[0] = g.x;
      to[1] = g.y;
    }
  }
}

// mamba_scan: for head h with group g = h / (heads / groups), row after row:
//
//   S = decay S + (dt x[h]) B[g]^T,  y[r][h] = S C[g] + d[h] x[h]
//
//   1 step   StepBuffer                  rows, active, slot
//   2 xbc    T    [rows][C]              from mamba_conv
//   3 gates  f32  [rows][heads][2]       from mamba_conv
//   4 d      f32  [heads]
//   5 s      f32  [slots][heads][P][N]   in and out
//   6 y      T    [rows][heads * P]      out
//
// Geometry: a threadgroup a head, P / 8 simdgroups of 8 rows of the state, lanes as in mamba_step; no simdgroup waits
// for another. The state is read before the first row and written after the last one.
// Constraints: P in {32, 64}, N in {64, 128}.
// Numerics: f32 state; bit-equal to mamba_step.
// Source: as mamba_step.
template <typename T, uint P, uint N>
[[max_total_threads_per_threadgroup(256)]]
kernel void mamba_scan(constant MambaParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                       device const T* xbc [[buffer(2)]], device const float* gates [[buffer(3)]],
                       device const float* d [[buffer(4)]], device float* s [[buffer(5)]], device T* y [[buffer(6)]],
                       uint head [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                       uint sg [[simdgroup_index_in_threadgroup]]) {
  constexpr uint M = N / COL_LANES;  // state values of a lane in a row
  if (step.p.active == 0 || step.p.rows == 0) return;

  const MambaShape<P, N> shape = mamba_shape<P, N>(p);
  const uint b_at = shape.values + head / (p.heads / p.groups) * N, c_at = b_at + p.groups * N;
  const uint l = lane % COL_LANES, col = sg * SIMD_COLS + lane / COL_LANES, x_at = head * P + col;
  const float skip = d[head];
  device float* cols = s + ((ulong(step.p.slot) * p.heads + head) * P + col) * N;
  float state[LANE_COLS * M];
  delta_read<M>(state, cols, l);
  for (uint r = 0; r < step.p.rows; r++) {
    device const T* row = xbc + ulong(r) * shape.channels;
    device T* out = y + ulong(r) * shape.values + x_at;
    float b[M], c[M];
    VEC_LOOP
    for (uint e = 0; e < M; e++) {
      b[e] = float(row[b_at + delta_key(l, e)]);
      c[e] = float(row[c_at + delta_key(l, e)]);
    }
    device const float* g = gates + 2 * (ulong(r) * p.heads + head);
    const float2 gate = float2(g[0], g[1]);
    LANE_LOOP
    for (uint k = 0; k < LANE_COLS; k += RULE_COLS) {
      float x[RULE_COLS], o[RULE_COLS];
      VEC_LOOP
      for (uint e = 0; e < RULE_COLS; e++) x[e] = float(row[x_at + k + e]);
      mamba_rule<RULE_COLS, M>(&state[k * M], &b[0], &c[0], gate, x, o);
      if (l == 0) {
        VEC_LOOP
        for (uint e = 0; e < RULE_COLS; e++) out[k + e] = T(fma(skip, x[e], o[e]));
      }
    }
  }
  delta_write<M>(cols, state, l);
}

#define MAMBA_ROWS(T, S, P, N)                                                                        \
  template [[host_name("mamba_conv_" #S "_d" #P                                                       \
                       "_s" #N)]] kernel decltype(mamba_conv_rows<T, P, N>) mamba_conv_rows<T, P, N>; \
  template [[host_name("mamba_scan_" #S "_d" #P "_s" #N)]] kernel decltype(mamba_scan<T, P, N>) mamba_scan<T, P, N>;
#define TYPED(T, S)         \
  MAMBA_ROWS(T, S, 32, 64)  \
  MAMBA_ROWS(T, S, 32, 128) \
  MAMBA_ROWS(T, S, 64, 64)  \
  MAMBA_ROWS(T, S, 64, 128)
TYPED(bfloat, bf16)
TYPED(float, f32)
