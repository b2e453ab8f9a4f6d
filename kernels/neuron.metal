// Neuron-major down projections of a few rows: dead neurons are not read, nor the scales of groups that are dead. What
// a matrix is, and the order of its sums: common/neuron.h.
//
// A threadgroup makes a band of 256 outputs of one slice, a simdgroup a group of 64 neurons of it; the groups meet in
// threadgroup memory and are added upwards. Rows from step.p.rows on are neither read nor written.
#include "common/neuron.h"
#include "params.h"

constant constexpr uint SLICE_GROUPS = 16;  // neuronSlice

#if SIMD > 1

// Output o of a group lies at o + o / 8: lanes that hold eight outputs each write to different banks.
constant constexpr uint PITCH = BAND + BAND / LANE_OUTPUTS;

// What the simdgroups of a threadgroup use one after the other: their lists, then their sums.
template <uint M>
union Shared {
  LiveList<M> list[SLICE_GROUPS];
  float sums[SLICE_GROUPS][PITCH];
};

#else
template <uint M>
struct Shared {};  // one simdgroup makes the whole slice
#endif

// The rows of a threadgroup; those beyond count repeat the last one.
template <typename T, uint M>
struct Rows {
  RowPtrs<T, M> h;
  device const uint* live[M];
  device float* part[M];
  uint count;
};

// The bits of a group that are set in one of the rows' bitmaps.
template <typename T, uint M>
inline ulong any_bits(thread const Rows<T, M>& rows, uint group, uint dense) {
  if (dense != 0) return ~0ul;
  ulong bits = 0;
  UNROLL for (uint m = 0; m < M; m++) bits |= group_bits(rows.live[m], group);
  return bits;
}

// part[m][o] = the sum over the groups of a slice for the outputs of a band of the rows. `first` is neuron 0 of the
// rows' expert in the whole matrix.
template <uint M, typename W, typename T>
METAL_FUNC void slice_sums(W w, constant NeuronParams& p, thread const Rows<T, M>& rows, ulong first, SliceOf slice,
                           uint band, threadgroup Shared<M>& shared, uint lane, uint sg, uint nsg) {
  const uint from = band / WIDE * BAND, outputs = min(BAND, p.d - from);
#if SIMD > 1
  float mine[M][LANE_OUTPUTS];
  UNROLL for (uint j = 0; j < M * LANE_OUTPUTS; j++) mine[j / LANE_OUTPUTS][j % LANE_OUTPUTS] = 0.0f;
  if (sg < slice.count) {
    const uint group = slice.first + sg;
    const ulong bits = any_bits(rows, group, p.dense);
    if (bits != 0) {
      RowPtrs<T, M> h;
      UNROLL for (uint m = 0; m < M; m++) h.row[m] = rows.h.row[m] + group * GROUP;
      threadgroup LiveList<M>& list = shared.list[sg];
      const uint whole = list_group<T, M>(list, bits, h, p.d / 8, lane);
      const uint at = from + min(lane * LANE_OUTPUTS, outputs - LANE_OUTPUTS);
      add_group<M>(w, list, whole, first + group * GROUP, p.d, at, mine);
    }
  }
  UNROLL for (uint m = 0; m < M; m++) {
    if (m < rows.count) {
      threadgroup_barrier(mem_flags::mem_threadgroup);  // lists, or the row before, are read
      UNROLL for (uint i = 0; i < LANE_OUTPUTS; i++) shared.sums[sg][lane * (LANE_OUTPUTS + 1) + i] = mine[m][i];
      threadgroup_barrier(mem_flags::mem_threadgroup);  // the groups' sums are written
      for (uint o = sg * SIMD + lane; o < outputs; o += nsg * SIMD) {
        float s = 0.0f;
        for (uint g = 0; g < slice.count; g++) s += shared.sums[g][o + o / LANE_OUTPUTS];
        rows.part[m][from + o] = s;
      }
    }
  }
#else
  if (sg != 0 || band % WIDE != 0) return;
  BandSums<M> sum;
  clear_band(sum);
  for (uint g = slice.first; g < slice.first + slice.count; g++) {
    LiveGroup<M> group;
    list_group<T, M>(group, any_bits(rows, g, p.dense), rows.h, g * GROUP);
    if (g + 1 < slice.first + slice.count) {
      prefetch_group(w, any_bits(rows, g + 1, p.dense), first + (g + 1) * GROUP, p.d, from, from + outputs);
    }
    add_group<M>(w, group, first + g * GROUP, p.d, from, from + outputs, sum);
  }
  for (uint m = 0; m < rows.count; m++) store_band<M>(rows.part[m] + from, sum, m, outputs);
#endif
}

// neuron_down: part[r][s][o] = sum over the live neurons n of slice s of h[r][n] * w[n][o].
//
//   1 step    StepBuffer                  rows
//   2 h       T   [rows][n]
//   3 live    u32 [rows][n / 32]          not read with p.dense
//   4 codes, 5 scales, 6 biases           of [n][d], NM or NM20
//   7 part    f32 [rows][slices][d]       out
//
// Geometry: grid (bands of 256 outputs, slices, tiles of M rows), a simdgroup a group of the longest slice. A neuron is
// read when one of the M rows has it live.
// Constraints: n and d multiples of 64; at most 16 groups a slice.
// Numerics: f32 in the order of common/neuron.h; not rounded.
// Source: this project.
template <typename W, typename T, uint M>
[[max_total_threads_per_threadgroup(512)]]
kernel void neuron_down(constant NeuronParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                        device const T* h [[buffer(2)]], device const uint* live [[buffer(3)]],
                        device const uint* codes [[buffer(4)]], device const typename W::Scale* scales [[buffer(5)]],
                        device const bfloat* biases [[buffer(6)]], device float* part [[buffer(7)]],
                        uint3 tgid [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                        uint sg [[simdgroup_index_in_threadgroup]], uint nsg [[simdgroups_per_threadgroup]]) {
  threadgroup Shared<M> shared;
  const uint row = tgid.z * M, live_rows = step.p.rows;
  if (row >= live_rows) return;
  const W w = {codes, scales, biases};
  Rows<T, M> rows;
  UNROLL for (uint m = 0; m < M; m++) {
    const ulong r = min(row + m, live_rows - 1);
    rows.h.row[m] = h + r * p.n;
    rows.live[m] = live + r * (p.n / 32);
    rows.part[m] = part + (r * p.slices + tgid.y) * p.d;
  }
  rows.count = min(M, live_rows - row);
  const SliceOf slice = slice_of(p.n, p.slices, tgid.y);
  slice_sums<M>(w, p, rows, 0, slice, tgid.x, shared, lane, sg, nsg);
}

// expert_neuron_down: part[r][j][s][o] = the same for slot j of row r with the matrix of expert idx[r][j].
//
//   1 step    StepBuffer                          rows
//   2 h       T   [rows][top_k][n]
//   3 live    u32 [rows][top_k][n / 32]           not read with p.dense
//   4 idx     u32 [rows][top_k]
//   5 codes, 6 scales, 7 biases                   of [experts][n][d], NM or NM20
//   8 part    f32 [rows][top_k][slices][d]        out
//
// Geometry: grid (bands of 256 outputs, slices of all slots, rows); else as neuron_down.
template <typename W, typename T>
[[max_total_threads_per_threadgroup(512)]]
kernel void expert_neuron_down(constant NeuronParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                               device const T* h [[buffer(2)]], device const uint* live [[buffer(3)]],
                               device const uint* idx [[buffer(4)]], device const uint* codes [[buffer(5)]],
                               device const typename W::Scale* scales [[buffer(6)]],
                               device const bfloat* biases [[buffer(7)]], device float* part [[buffer(8)]],
                               uint3 tgid [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                               uint sg [[simdgroup_index_in_threadgroup]], uint nsg [[simdgroups_per_threadgroup]]) {
  threadgroup Shared<1> shared;
  if (tgid.z >= step.p.rows) return;
  const W w = {codes, scales, biases};
  const ulong slot = tgid.z * p.top_k + tgid.y / p.slices;
  const uint s = tgid.y % p.slices;
  Rows<T, 1> rows;
  rows.h.row[0] = h + slot * p.n;
  rows.live[0] = live + slot * (p.n / 32);
  rows.part[0] = part + (slot * p.slices + s) * p.d;
  rows.count = 1;
  const SliceOf slice = slice_of(p.n, p.slices, s);
  slice_sums<1>(w, p, rows, ulong(idx[slot]) * p.n, slice, tgid.x, shared, lane, sg, nsg);
}

#define DOWN(F, W, N, T, M) \
  template [[host_name("neuron_down_" F "_" N "_m" #M)]] kernel decltype(neuron_down<W, T, M>) neuron_down<W, T, M>;
#define EXPERT_DOWN(F, W, N, T) \
  template                      \
      [[host_name("expert_neuron_down_" F "_" N)]] kernel decltype(expert_neuron_down<W, T>) expert_neuron_down<W, T>;
#define FORMAT(F, W)                \
  DOWN(F, W, "bf16", bfloat, 1)     \
  DOWN(F, W, "bf16", bfloat, 2)     \
  DOWN(F, W, "bf16", bfloat, 3)     \
  DOWN(F, W, "bf16", bfloat, 4)     \
  DOWN(F, W, "bf16", bfloat, 5)     \
  DOWN(F, W, "f32", float, 1)       \
  DOWN(F, W, "f32", float, 4)       \
  EXPERT_DOWN(F, W, "bf16", bfloat) \
  EXPERT_DOWN(F, W, "f32", float)
FORMAT("nm", NM)
FORMAT("nm20", NM20)
