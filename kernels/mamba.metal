// Mamba-2, decode: one row from the input projection to the gated norm, and the gated norm of any number of rows.
#include "common/mamba.h"
#include "params.h"

// mamba_step: for head h with group g = h / (heads / groups), and row p = z | x | B | C | dt:
//
//   c = silu(conv4(state, x | B | C) + conv_b)   causal, depthwise; the last three raw rows become the next state
//   dt = clamp(softplus(dt[h] + dt_bias[h]), dt_min, dt_max)
//   S = exp(-exp(a_log[h]) dt) S + (dt c_x[h]) c_B[g]^T
//   y[h] = S c_C[g] + d[h] c_x[h]
//
//   1 step        StepBuffer                      rows, active, slot, parity
//   2 row         T    [stride]
//   3 conv_w      bf16 [C][4]                     C = heads P + 2 groups N
//   4 conv_b      bf16 [C]
//   5 conv_state  T    [slots][2][3][C]           half parity & 1 is read, the other half written
//   6 a_log       f32  [heads]
//   7 dt_bias     f32  [heads]
//   8 d           f32  [heads]
//   9 s           f32  [slots][heads][P][N]       in and out
//  10 y           T    [heads * P]                out
//
// Geometry: a threadgroup a head, P / 8 simdgroups of 8 rows of the state; at 32 lanes 4 lanes share a row, N / 4
// values each, so a product is 2 shuffles and the state is read once and written once. Simdgroups 0, 1, 2 and 3 first
// make x, B, C and the gates. The heads of one group make B and C each for itself; the first of them writes their conv
// state. Threadgroup memory: 4 (P + 2 N) + 8 bytes.
// Constraints: P in {32, 64}, N in {64, 128}, heads a multiple of groups.
// Numerics: f32; x, B, C and y are rounded to T (common/mamba.h). Bit-equal to mamba_conv and mamba_scan.
// Source: Dao and Gu, "Transformers are SSMs" (arXiv 2405.21060), recurrent form.
template <typename T, uint P, uint N>
[[max_total_threads_per_threadgroup(256)]]
kernel void mamba_step(constant MambaParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                       device const T* row [[buffer(2)]], device const bfloat* conv_w [[buffer(3)]],
                       device const bfloat* conv_b [[buffer(4)]], device T* conv_state [[buffer(5)]],
                       device const float* a_log [[buffer(6)]], device const float* dt_bias [[buffer(7)]],
                       device const float* d [[buffer(8)]], device float* s [[buffer(9)]], device T* y [[buffer(10)]],
                       uint head [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                       uint sg [[simdgroup_index_in_threadgroup]]) {
  constexpr uint M = N / COL_LANES;   // state values of a lane in a row
  threadgroup float part[2 * N + P];  // B, C, x
  threadgroup float gates[2];
  if (step.p.active == 0 || step.p.rows == 0) return;

  const MambaShape<P, N> shape = mamba_shape<P, N>(p);
  const uint share = p.heads / p.groups, group = head / share, in = step.p.parity & 1;
  device T* state = conv_state + ulong(step.p.slot) * 6 * shape.channels;
  device const T* half_in = state + ulong(in) * 3 * shape.channels;
  device T* half_out = state + ulong(1 - in) * 3 * shape.channels;
  if (sg == 0) {
    const uint base = head * P;
    const DeltaTaps<T> taps = delta_taps<T>(row + shape.values, p.stride, half_in, shape.channels, 0, base);
    float c[P / SIMD];
    mamba_conv<T, P / SIMD>(c, taps, conv_w + 4 * ulong(base), conv_b + base, lane);
    delta_history<T, P / SIMD>(half_out, shape.channels, taps, base, lane);
    VEC_LOOP
    for (uint e = 0; e < P / SIMD; e++) part[2 * N + lane * (P / SIMD) + e] = c[e];
  } else if (sg < 3) {
    const uint base = shape.values + ((sg - 1) * p.groups + group) * N;
    const DeltaTaps<T> taps = delta_taps<T>(row + shape.values, p.stride, half_in, shape.channels, 0, base);
    float c[N / SIMD];
    mamba_conv<T, N / SIMD>(c, taps, conv_w + 4 * ulong(base), conv_b + base, lane);
    if (head % share == 0) delta_history<T, N / SIMD>(half_out, shape.channels, taps, base, lane);
    VEC_LOOP
    for (uint e = 0; e < N / SIMD; e++) part[(sg - 1) * N + lane * (N / SIMD) + e] = c[e];
  } else if (sg == 3 && lane == 0) {
    const float2 g = mamba_gates(a_log[head], dt_bias[head], float(row[shape.dt_at + head]), p.dt_min, p.dt_max);
    gates[0] = g.x;
    gates[1] = g.y;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);  // x, B, C and the gates are made

  const uint l = lane % COL_LANES, col = sg * SIMD_COLS + lane / COL_LANES;
  const float2 gate = float2(gates[0], gates[1]);
  const float skip = d[head];
  device float* cols = s + ((ulong(step.p.slot) * p.heads + head) * P + col) * N;
  device T* out = y + head * P + col;
#if SIMD > 1
  float b[M], c[M], held[M];
#pragma clang loop unroll(full)
  for (uint i = 0; i < M; i++) {
    b[i] = part[delta_key(l, i)];
    c[i] = part[N + delta_key(l, i)];
  }
  delta_read<M>(&held[0], cols, l);
  const float x[1] = {part[2 * N + col]};
  float o[1];
  mamba_rule<1, M>(&held[0], &b[0], &c[0], gate, x, o);
  delta_write<M>(cols, &held[0], l);
  if (l == 0) out[0] = T(fma(skip, x[0], o[0]));
#else
  for (uint r = 0; r < LANE_COLS; r += RULE_COLS) {
    for (uint i = 0; i < RULE_COLS * N; i += 16) msl_prefetch(cols + (r + RULE_COLS) * N + i);  // the next rows
    float x[RULE_COLS], o[RULE_COLS];
    VEC_LOOP
    for (uint e = 0; e < RULE_COLS; e++) x[e] = part[2 * N + col + r + e];
    mamba_rule<RULE_COLS, M>(cols + r * N, part, part + N, gate, x, o);
    VEC_LOOP
    for (uint e = 0; e < RULE_COLS; e++) out[r + e] = T(fma(skip, x[e], o[e]));
  }
#endif
}

// group_norm: u = y * silu(z); out = u / sqrt(mean of u^2 over its group + eps) * w.
//
//   1 step  StepBuffer        rows
//   2 y     T    [rows][d]
//   3 z     T    [rows][stride]
//   4 w     bf16 [d]
//   5 out   T    [rows][d]    out
//
// Geometry: grid (groups, rows), one simdgroup each; a lane takes eight neighbouring elements at a time.
// Constraints: d / groups a multiple of 32.
// Numerics: f32; eight partial sums a lane, their tree, then the simdgroup's sum; one rounding.
// Source: Mamba-2's gated RMSNorm, gate before norm (arXiv 2405.21060, section 7).
template <typename T>
kernel void group_norm(constant GroupNormParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                       device const T* y [[buffer(2)]], device const T* z [[buffer(3)]],
                       device const bfloat* w [[buffer(4)]], device T* out [[buffer(5)]],
                       uint2 tgid [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  if (tgid.y >= step.p.rows) return;
  const uint size = p.d / p.groups, base = tgid.x * size;
  device const T* in = y + ulong(tgid.y) * p.d + base;
  device const T* gate = z + ulong(tgid.y) * p.stride + base;
  device T* to = out + ulong(tgid.y) * p.d + base;
  float sums[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
  for (uint i = lane * 8; i < size; i += SIMD * 8) {
    VEC_LOOP
    for (uint e = 0; e < 8; e++) {
      const float u = float(in[i + e]) * vsilu(float(gate[i + e]));
      sums[e] = fma(u, u, sums[e]);
    }
  }
  const float scale = rsqrt(simd_sum(sum8(sums)) / float(size) + p.eps);
  for (uint i = lane * 8; i < size; i += SIMD * 8) {
    VEC_LOOP
    for (uint e = 0; e < 8; e++) {
      const float u = float(in[i + e]) * vsilu(float(gate[i + e]));
      to[i + e] = T(u * scale * float(w[base + i + e]));
    }
  }
}

#define MAMBA_STEP(T, S, P, N) \
  template [[host_name("mamba_step_" #S "_d" #P "_s" #N)]] kernel decltype(mamba_step<T, P, N>) mamba_step<T, P, N>;
#define TYPED(T, S)         \
  MAMBA_STEP(T, S, 32, 64)  \
  MAMBA_STEP(T, S, 32, 128) \
  MAMBA_STEP(T, S, 64, 64)  \
  MAMBA_STEP(T, S, 64, 128) \
  template [[host_name("group_norm_" #S)]] kernel decltype(group_norm<T>) group_norm<T>;
TYPED(bfloat, bf16)
TYPED(float, f32)
