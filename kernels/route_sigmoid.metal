// Choice of experts by sigmoid scores with a correction bias, in groups if the model has them.
#include "common/route.h"
#include "params.h"

constant constexpr uint ROWS = 4;  // routeGroups: simdgroups of a threadgroup, a row each

// What a simdgroup needs to pick groups: a key for each expert, then for each group.
struct GroupPick {
  float choice[MAX_EXPERTS];
  uint key[MAX_EXPERTS / 2];
};

// The sum of the two largest of n numbers.
inline float best_two(threadgroup const float* v, uint n) {
  float a = v[0], b = -INFINITY;
  for (uint i = 1; i < n; i++) {
    const float x = v[i];
    b = x > a ? a : (x > b ? x : b);
    a = x > a ? x : a;
  }
  return a + b;
}

// route_sigmoid: s = sigmoid(logits[r][e]);  choice = s + bias[e], or 0 in groups that are not kept;
//                idx[r][j] = id of the j-th largest choice, ties to the lower id;
//                w[r][j] = s_j / (sum over the chosen of s_i + 1e-20) * scale, or s_j * scale without p.norm.
//
//   1 step    StepBuffer           rows
//   2 logits  f32 [rows][stride]   experts <= stride
//   3 bias    f32 [experts]
//   4 idx     u32 [rows][top_k]    out: distinct, below experts, whatever the logits are
//   5 w       f32 [rows][top_k]    out: NaN for all slots of a row that has a NaN
//
// A group is a run of experts / groups; the `keep` groups with the largest sums of their two largest choices are kept,
// ties to the lower group.
//
// Geometry: a simdgroup a row, up to 4 simdgroups a threadgroup; grid ceil(rows / simdgroups). Lane l holds experts l,
// l + SIMD, ... in registers; groups go through 12 KiB of threadgroup memory.
// Constraints: experts <= E, top_k <= min(experts, 16), groups of at least two experts.
// Numerics: f32; the sum runs over slots in their order.
// Source: DeepSeek-AI, "DeepSeek-V3 Technical Report" (arXiv 2412.19437), 2.1.2, as Nemotron-H uses it.
template <uint E>
[[max_total_threads_per_threadgroup(128)]]
kernel void route_sigmoid(constant RouteSigmoidParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                          device const float* logits [[buffer(2)]], device const float* bias [[buffer(3)]],
                          device uint* idx [[buffer(4)]], device float* w [[buffer(5)]],
                          uint tgid [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                          uint sg [[simdgroup_index_in_threadgroup]], uint nsg [[simdgroups_per_threadgroup]]) {
  constexpr uint N = (E + SIMD - 1) / SIMD;          // experts of a lane
  constexpr uint S = (MAX_TOP_K + SIMD - 1) / SIMD;  // slots of a lane
  threadgroup GroupPick picks[ROWS];
  const uint row = tgid * nsg + sg;
  if (row >= step.p.rows) return;
  device const float* l = logits + ulong(row) * p.stride;

  uint key[N];
  uint bad = 0;
  EACH_HELD
  for (uint j = 0; j < N; j++) {
    const uint e = j * SIMD + lane;
    key[j] = e < p.experts ? route_key(vsigmoid(l[e]) + bias[e]) : 0u;
    bad |= key[j] == 1u ? 1u : 0u;
  }
  bad = simd_or(bad);

  if (p.groups > 1) {
    threadgroup GroupPick& pick = picks[sg];
    const uint size = p.experts / p.groups;
    for (uint e = lane; e < p.experts; e += SIMD) pick.choice[e] = vsigmoid(l[e]) + bias[e];
    simdgroup_barrier(mem_flags::mem_threadgroup);  // choices are written
    for (uint g = lane; g < p.groups; g += SIMD) pick.key[g] = route_key(best_two(pick.choice + g * size, size));
    simdgroup_barrier(mem_flags::mem_threadgroup);  // keys of groups are written
    for (uint j = 0; j < N; j++) {
      const uint e = j * SIMD + lane;
      if (e >= p.experts) continue;
      const uint mine = e / size;
      uint better = 0;
      for (uint g = 0; g < p.groups; g++) {
        const uint k = pick.key[g];
        better += k > pick.key[mine] || (k == pick.key[mine] && g < mine) ? 1u : 0u;
      }
      if (better >= p.keep) key[j] = route_key(0.0f);
    }
  }

  uint id[S];
  float weight[S];
  uint at = NONE;
  float sum = 0.0f;
  for (uint r = 0; r < p.top_k; r++) {
    at = route_next<N>(key, at, lane);
    const float s = vsigmoid(l[at]);
    sum += s;
    if (r % SIMD == lane) {
      id[S == 1 ? 0 : r] = at;
      weight[S == 1 ? 0 : r] = s;
    }
  }
#pragma clang loop unroll(full)
  for (uint t = 0; t < S; t++) {
    const uint j = t * SIMD + lane;
    if (j < p.top_k) {
      const float share = p.norm != 0 ? weight[t] / (sum + 1e-20f) : weight[t];
      idx[row * p.top_k + j] = id[t];
      w[row * p.top_k + j] = bad != 0 ? NAN : share * p.scale;
    }
  }
}

#define ROUTE_SIGMOID(E) \
  template [[host_name("route_sigmoid_e" #E)]] kernel decltype(route_sigmoid<E>) route_sigmoid<E>;
ROUTE_SIGMOID(64)
ROUTE_SIGMOID(256)
ROUTE_SIGMOID(512)
