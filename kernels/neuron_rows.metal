// Neuron-major down projections of many rows (prefill): slots sorted by expert (route.metal) are cut into tiles of up
// to 32 that share one reading of the neurons that any of them has live; rows of the shared expert, of which together
// almost every neuron is live, are cut into tiles of 32 and read all. Bit-equal to neuron.metal followed by the sum of
// its slices. What a matrix is, and the order of its sums: common/neuron.h.
//
// A threadgroup makes a band of 256 outputs of a tile; a simdgroup takes four rows of it and waits for no other, so the
// rows of a tile can become the rows of a matrix product without a change outside.
#include "common/neuron.h"
#include "params.h"

constant constexpr uint TILE = 32;            // NeuronTile
constant constexpr uint ROWS = 4;             // rows of a simdgroup
constant constexpr uint QUADS = TILE / ROWS;  // neuronRowSGs

#if SIMD > 1
typedef LiveList<ROWS> Staged;
#else
struct Staged {};
#endif

// Four rows of a tile; those beyond count repeat the last one.
template <typename T>
struct Quad {
  RowPtrs<T, ROWS> h;
  device float* d[ROWS];
  uint count;
};

// d[m][o] = the whole output o of four rows, for the outputs of a band. `first` is neuron 0 of the rows' expert in the
// whole matrix; join names the neurons to take, or is not read: all of them.
template <bool ALL, typename W, typename T>
METAL_FUNC void quad_sums(W w, constant NeuronParams& p, thread const Quad<T>& quad, device const uint* join,
                          ulong first, uint band, threadgroup Staged& staged, uint lane) {
  const uint from = band / WIDE * BAND, outputs = min(BAND, p.d - from);
#if SIMD > 1
  float total[ROWS][LANE_OUTPUTS], slice[ROWS][LANE_OUTPUTS];
  const uint at = from + min(lane * LANE_OUTPUTS, outputs - LANE_OUTPUTS);
  UNROLL for (uint j = 0; j < ROWS * LANE_OUTPUTS; j++) total[j / LANE_OUTPUTS][j % LANE_OUTPUTS] = 0.0f;
  for (uint s = 0; s < p.slices; s++) {
    const SliceOf part = slice_of(p.n, p.slices, s);
    UNROLL for (uint j = 0; j < ROWS * LANE_OUTPUTS; j++) slice[j / LANE_OUTPUTS][j % LANE_OUTPUTS] = 0.0f;
    for (uint g = part.first; g < part.first + part.count; g++) {
      const ulong bits = ALL ? ~0ul : group_bits(join, g);
      if (bits == 0) continue;
      RowPtrs<T, ROWS> h;
      UNROLL for (uint m = 0; m < ROWS; m++) h.row[m] = quad.h.row[m] + g * GROUP;
      simdgroup_barrier(mem_flags::mem_threadgroup);  // the list before is read
      const uint whole = list_group<T, ROWS>(staged, bits, h, p.d / 8, lane);
      add_group<ROWS>(w, staged, whole, first + g * GROUP, p.d, at, slice);
    }
    UNROLL for (uint j = 0; j < ROWS * LANE_OUTPUTS; j++) {
      total[j / LANE_OUTPUTS][j % LANE_OUTPUTS] += slice[j / LANE_OUTPUTS][j % LANE_OUTPUTS];
    }
  }
  if (lane * LANE_OUTPUTS >= outputs) return;
  UNROLL for (uint m = 0; m < ROWS; m++) {
    if (m < quad.count) {
      UNROLL for (uint i = 0; i < LANE_OUTPUTS; i++) quad.d[m][at + i] = total[m][i];
    }
  }
#else
  if (band % WIDE != 0) return;
  BandSums<ROWS> total, slice;
  clear_band(total);
  for (uint s = 0; s < p.slices; s++) {
    const SliceOf part = slice_of(p.n, p.slices, s);
    clear_band(slice);
    for (uint g = part.first; g < part.first + part.count; g++) {
      LiveGroup<ROWS> group;
      list_group<T, ROWS>(group, ALL ? ~0ul : group_bits(join, g), quad.h, g * GROUP);
      if (g + 1 < p.n / GROUP) {
        prefetch_group(w, ALL ? ~0ul : group_bits(join, g + 1), first + (g + 1) * GROUP, p.d, from, from + outputs);
      }
      add_group<ROWS>(w, group, first + g * GROUP, p.d, from, from + outputs, slice);
    }
    UNROLL for (uint m = 0; m < ROWS; m++) { OCT for (uint i = 0; i < BAND; i++) total.v[m][i] += slice.v[m][i]; }
  }
  for (uint m = 0; m < quad.count; m++) store_band<ROWS>(quad.d[m] + from, total, m, outputs);
#endif
}

// neuron_union: join[t] = the bits that are set in the bitmap of a slot of tile t; all bits when there are p.dense or
// more of them.
//
//   1 step    StepBuffer                    not read: the tiles hold live rows only
//   2 live    u32 [rows * top_k][words]
//   3 order   u32 [rows * top_k]
//   4 tiles   u32 [][3]                     {expert, first, count}
//   5 ntiles  u32 [1]
//   6 join    u32 [tiles][words]            out
//
// Geometry: a simdgroup a tile, any number of simdgroups.
kernel void neuron_union(constant NeuronUnionParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                         device const uint* live [[buffer(2)]], device const uint* order [[buffer(3)]],
                         device const uint* tiles [[buffer(4)]], device const uint* ntiles [[buffer(5)]],
                         device uint* join [[buffer(6)]], uint tgid [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],
                         uint nsg [[simdgroups_per_threadgroup]]) {
  const uint at = tgid * nsg + sg;
  if (at >= ntiles[0]) return;
  device const uint* slots = order + tiles[3 * at + 1];
  const uint count = tiles[3 * at + 2];
  device uint* out = join + ulong(at) * p.words;
  uint bits = 0;
  for (uint i = lane; i < p.words; i += SIMD) {
    uint word = 0;
    for (uint s = 0; s < count; s++) word |= live[ulong(slots[s]) * p.words + i];
    out[i] = word;
    bits += uint(popcount(word));
  }
  if (simd_sum(bits) < p.dense) return;
  for (uint i = lane; i < p.words; i += SIMD) out[i] = 0xffffffffu;
}

// expert_neuron_down_rows: d[s][o] = sum over neurons n of h[s][n] * w[n][o] for every slot s, w of its expert.
//
//   1 step    StepBuffer                     not read
//   2 h       T   [rows * top_k][n]
//   3 join    u32 [tiles][n / 32]            from neuron_union
//   4 order   u32 [rows * top_k]
//   5 tiles   u32 [][3]
//   6 ntiles  u32 [1]
//   7 codes, 8 scales, 9 biases              of [experts][n][d], NM or NM20
//  10 d       f32 [rows * top_k][d]          out
//
// Geometry: grid (bands of 256 outputs, tiles), 8 simdgroups; tile tgid.z * top_k + tgid.y, and surplus threadgroups
// leave.
// Constraints: n and d multiples of 64.
// Numerics: f32 in the order of common/neuron.h; not rounded.
// Source: this project.
template <typename W, typename T>
[[max_total_threads_per_threadgroup(256)]]
kernel void expert_neuron_down_rows(constant NeuronParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                                    device const T* h [[buffer(2)]], device const uint* join [[buffer(3)]],
                                    device const uint* order [[buffer(4)]], device const uint* tiles [[buffer(5)]],
                                    device const uint* ntiles [[buffer(6)]], device const uint* codes [[buffer(7)]],
                                    device const typename W::Scale* scales [[buffer(8)]],
                                    device const bfloat* biases [[buffer(9)]], device float* d [[buffer(10)]],
                                    uint3 tgid [[threadgroup_position_in_grid]],
                                    uint lane [[thread_index_in_simdgroup]],
                                    uint sg [[simdgroup_index_in_threadgroup]]) {
  threadgroup Staged staged[QUADS];
  const uint at = tgid.z * p.top_k + tgid.y, from = sg * ROWS;
  if (at >= ntiles[0]) return;
  const uint count = tiles[3 * at + 2];
  if (from >= count) return;
  device const uint* slots = order + tiles[3 * at + 1];
  const W w = {codes, scales, biases};
  Quad<T> quad;
  UNROLL for (uint m = 0; m < ROWS; m++) {
    const ulong slot = slots[min(from + m, count - 1)];
    quad.h.row[m] = h + slot * p.n;
    quad.d[m] = d + slot * p.d;
  }
  quad.count = min(ROWS, count - from);
  device const uint* bits = join + ulong(at) * (p.n / 32);
  quad_sums<false>(w, p, quad, bits, ulong(tiles[3 * at]) * p.n, tgid.x, staged[sg], lane);
}

// neuron_down_rows: d[r][o] = the same for row r with one matrix, of which every neuron is read.
//
//   1 step    StepBuffer                  rows
//   2 h       T   [rows][n]
//   3 codes, 4 scales, 5 biases           of [n][d], NM or NM20
//   6 d       f32 [rows][d]               out
//
// Geometry: grid (bands of 256 outputs, tiles of 32 rows), 8 simdgroups.
template <typename W, typename T>
[[max_total_threads_per_threadgroup(256)]]
kernel void neuron_down_rows(constant NeuronParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                             device const T* h [[buffer(2)]], device const uint* codes [[buffer(3)]],
                             device const typename W::Scale* scales [[buffer(4)]],
                             device const bfloat* biases [[buffer(5)]], device float* d [[buffer(6)]],
                             uint2 tgid [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                             uint sg [[simdgroup_index_in_threadgroup]]) {
  threadgroup Staged staged[QUADS];
  const uint row = tgid.y * TILE + sg * ROWS, rows = step.p.rows;
  if (row >= rows) return;
  const W w = {codes, scales, biases};
  Quad<T> quad;
  UNROLL for (uint m = 0; m < ROWS; m++) {
    const ulong r = min(row + m, rows - 1);
    quad.h.row[m] = h + r * p.n;
    quad.d[m] = d + r * p.d;
  }
  quad.count = min(ROWS, rows - row);
  quad_sums<true>(w, p, quad, nullptr, 0, tgid.x, staged[sg], lane);
}

#define ROWS_OF(F, W, N, T)                                                                                           \
  template [[host_name("neuron_down_rows_" F "_" N)]] kernel decltype(neuron_down_rows<W, T>) neuron_down_rows<W, T>; \
  template [[host_name("expert_neuron_down_rows_" F                                                                   \
                       "_" N)]] kernel decltype(expert_neuron_down_rows<W, T>) expert_neuron_down_rows<W, T>;
ROWS_OF("nm", NM, "bf16", bfloat)
ROWS_OF("nm", NM, "f32", float)
ROWS_OF("nm20", NM20, "bf16", bfloat)
ROWS_OF("nm20", NM20, "f32", float)
