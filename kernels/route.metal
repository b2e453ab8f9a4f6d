// Routing of a mixture of experts: the choice of experts for each row, and the stable sort of the chosen slots by
// expert that lets many rows share one reading of an expert's weights. All counts stay on the device.
//
// Slot s = row * top_k + j is the j-th choice of a row. Rows from step.p.rows on are neither read nor written.
// Integers only but for the softmax over the chosen, so nothing depends on the order of threads.
#include "common/route.h"
#include "params.h"

constant constexpr uint BLOCK_ROWS = 32;  // RouteBlock

// route_topk: idx[r][j] = id of the j-th largest of logits[r][0..experts), ties to the lower id;
//             w[r][j] = exp(l_j - l_0) / sum over the chosen of exp(l_i - l_0).
//
//   1 step    StepBuffer           rows
//   2 logits  f32 [rows][stride]   experts <= stride
//   3 idx     u32 [rows][top_k]    out: distinct, below experts, whatever the logits are
//   4 w       f32 [rows][top_k]    out: NaN for all slots of a row that has a NaN or a chosen +infinity
//
// Geometry: a simdgroup a row, any number of simdgroups a threadgroup; grid ceil(rows / simdgroups). Lane l holds
// experts l, l + SIMD, ... in registers.
// Constraints: experts <= E, top_k <= min(experts, 16).
// Numerics: f32; the sum runs over slots in their order. The weights equal the softmax over all experts renormalised
// over the chosen, because the common denominator cancels.
// Source: Qwen3-MoE router with norm_topk_prob (softmax, top-k, renormalise).
template <uint E>
kernel void route_topk(constant RouteParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                       device const float* logits [[buffer(2)]], device uint* idx [[buffer(3)]],
                       device float* w [[buffer(4)]], uint tgid [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],
                       uint nsg [[simdgroups_per_threadgroup]]) {
  constexpr uint N = (E + SIMD - 1) / SIMD;          // experts of a lane
  constexpr uint S = (MAX_TOP_K + SIMD - 1) / SIMD;  // slots of a lane
  const uint row = tgid * nsg + sg;
  if (row >= step.p.rows) return;
  device const float* l = logits + ulong(row) * p.stride;

  uint key[N];
  uint bad = 0;
  EACH_HELD
  for (uint j = 0; j < N; j++) {
    const uint e = j * SIMD + lane;
    key[j] = e < p.experts ? route_key(l[e]) : 0u;
    bad |= key[j] == 1u ? 1u : 0u;
  }
  bad = simd_or(bad);

  uint id[S];
  float weight[S];
  uint at = NONE;
  float top = 0.0f, sum = 0.0f;
  for (uint r = 0; r < p.top_k; r++) {
    at = route_next<N>(key, at, lane);
    if (r == 0) top = l[at];
    const float e = vexp(l[at] - top);
    sum += e;
    if (r % SIMD == lane) {
      id[S == 1 ? 0 : r] = at;
      weight[S == 1 ? 0 : r] = e;
    }
  }
#pragma clang loop unroll(full)
  for (uint t = 0; t < S; t++) {
    const uint j = t * SIMD + lane;
    if (j < p.top_k) {
      idx[row * p.top_k + j] = id[t];
      w[row * p.top_k + j] = bad != 0 ? NAN : weight[t] / sum;
    }
  }
}

#define ROUTE_TOPK(E) template [[host_name("route_topk_e" #E)]] kernel decltype(route_topk<E>) route_topk<E>;
ROUTE_TOPK(64)
ROUTE_TOPK(256)
ROUTE_TOPK(512)

// route_hist: first step of the counting sort. counts[b][e] = slots of expert e in block b of 32 rows; rank[s] =
//             earlier slots of the block with the same expert.
//
//   1 step    StepBuffer              rows
//   2 idx     u32 [rows][top_k]
//   3 counts  u32 [blocks][experts]   out, for the blocks that have rows
//   4 rank    u32 [rows * top_k]      out
//
// Geometry: one simdgroup a block; 2 KiB of threadgroup memory. It walks its slots SIMD at a time; a lane finds its
// rank inside the step by comparing with the other lanes' experts, the last lane of an expert moves the count.
kernel void route_hist(constant RouteParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                       device const uint* idx [[buffer(2)]], device uint* counts [[buffer(3)]],
                       device uint* rank [[buffer(4)]], uint tgid [[threadgroup_position_in_grid]],
                       uint lane [[thread_index_in_simdgroup]]) {
  threadgroup uint count[MAX_EXPERTS];
  const uint row = tgid * BLOCK_ROWS;
  if (row >= step.p.rows) return;
  const uint end = min(row + BLOCK_ROWS, step.p.rows) * p.top_k;
  for (uint e = lane; e < p.experts; e += SIMD) count[e] = 0;
  simdgroup_barrier(mem_flags::mem_threadgroup);  // counts are zero
  for (uint first = row * p.top_k; first < end; first += SIMD) {
    const uint live = min(uint(SIMD), end - first);
    const uint e = lane < live ? idx[first + lane] : NONE;
    uint earlier = 0, later = 0;
    for (uint i = 0; i < live; i++) {
      const uint same = idx[first + i] == e ? 1u : 0u;
      earlier += i < lane ? same : 0u;
      later += i > lane ? same : 0u;
    }
    const uint place = lane < live ? count[e] + earlier : 0u;
    simdgroup_barrier(mem_flags::mem_threadgroup);  // counts are read
    if (lane < live) {
      rank[first + lane] = place;
      if (later == 0) count[e] = place + 1;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);  // counts are moved
  }
  for (uint e = lane; e < p.experts; e += SIMD) counts[tgid * p.experts + e] = count[e];
}

// route_scan: second step. counts[b][e] becomes the place of block b's first slot of expert e in the order by
//             (expert, slot), and the tiles of at most p.tile slots are listed by ascending expert and place.
//
//   1 step    StepBuffer              rows
//   2 counts  u32 [blocks][experts]   in and out
//   3 tiles   u32 [][3]               out: {expert, first place, slots}
//   4 ntiles  u32 [1]                 out
//
// Geometry: one threadgroup of any number of simdgroups; 6 KiB of threadgroup memory. Threads own experts for the
// sums over blocks, simdgroup 0 scans over experts, simdgroups own experts for the tiles.
kernel void route_scan(constant RouteParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                       device uint* counts [[buffer(2)]], device uint* tiles [[buffer(3)]],
                       device uint* ntiles [[buffer(4)]], uint lane [[thread_index_in_simdgroup]],
                       uint sg [[simdgroup_index_in_threadgroup]], uint nsg [[simdgroups_per_threadgroup]]) {
  threadgroup uint total[MAX_EXPERTS];
  threadgroup uint place[MAX_EXPERTS];
  threadgroup uint tile[MAX_EXPERTS];
  const uint blocks = (step.p.rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
  const uint thread_id = sg * SIMD + lane;
  for (uint e = thread_id; e < p.experts; e += nsg * SIMD) {
    uint sum = 0;
    for (uint b = 0; b < blocks; b++) sum += counts[b * p.experts + e];
    total[e] = sum;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);  // totals are written
  if (sg == 0) {
    uint slots = 0, listed = 0;
    for (uint first = 0; first < p.experts; first += SIMD) {
      const uint e = first + lane;
      const uint mine = e < p.experts ? total[e] : 0u;
      const uint need = (mine + p.tile - 1) / p.tile;
      const uint before = simd_prefix_exclusive_sum(mine);
      const uint before_tiles = simd_prefix_exclusive_sum(need);
      if (e < p.experts) {
        place[e] = slots + before;
        tile[e] = listed + before_tiles;
      }
      slots += simd_sum(mine);
      listed += simd_sum(need);
    }
    if (lane == 0) ntiles[0] = listed;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);  // places and tiles of experts are known
  for (uint e = thread_id; e < p.experts; e += nsg * SIMD) {
    uint at = place[e];
    for (uint b = 0; b < blocks; b++) {
      const uint n = counts[b * p.experts + e];
      counts[b * p.experts + e] = at;
      at += n;
    }
  }
  for (uint e = sg; e < p.experts; e += nsg) {
    const uint n = total[e];
    for (uint i = lane; i * p.tile < n; i += SIMD) {
      device uint* t = tiles + 3 * (tile[e] + i);
      t[0] = e;
      t[1] = place[e] + i * p.tile;
      t[2] = min(p.tile, n - i * p.tile);
    }
  }
}

// route_scatter: last step. order[counts[b][e] + rank[s]] = s for slot s of block b and expert e. Stable: the slots
//                of an expert ascend.
//
//   1 step    StepBuffer              rows
//   2 idx     u32 [rows][top_k]
//   3 counts  u32 [blocks][experts]   places, from route_scan
//   4 rank    u32 [rows * top_k]
//   5 order   u32 [rows * top_k]      out
//
// Geometry: one simdgroup a block.
kernel void route_scatter(constant RouteParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                          device const uint* idx [[buffer(2)]], device const uint* counts [[buffer(3)]],
                          device const uint* rank [[buffer(4)]], device uint* order [[buffer(5)]],
                          uint tgid [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  const uint row = tgid * BLOCK_ROWS;
  if (row >= step.p.rows) return;
  const uint end = min(row + BLOCK_ROWS, step.p.rows) * p.top_k;
  for (uint s = row * p.top_k + lane; s < end; s += SIMD) order[counts[tgid * p.experts + idx[s]] + rank[s]] = s;
}
