// The end of a pass, first part: greedy arg-max; and of a draw, what is done in parallel, with the candidates of each
// chunk. sample_final.metal ends a draw. What is drawn is defined there; common/sample.h has the plan that all follow.
#include "common/advance.h"
#include "common/select.h"

// argmax: token = id of the greatest logit, ties to the lower id; then advance (common/advance.h). A NaN among the
// logits, or nothing but -infinity, sets RING_NAN, which also clears active.
//
//   1 step    StepBuffer     in and out
//   2 part    Best[parts]    of head
//
// Geometry: one threadgroup of any size.
kernel void argmax(constant ArgmaxParams& p [[buffer(0)]], device StepBuffer& step [[buffer(1)]],
                   device const Best* part [[buffer(2)]], uint lane [[thread_index_in_simdgroup]],
                   uint sg [[simdgroup_index_in_threadgroup]], uint nsg [[simdgroups_per_threadgroup]]) {
  threadgroup float vals[32];
  threadgroup uint ids[32];
  const Group g = {vals, ids, lane, sg, nsg};
  const bool active = step.p.active != 0;
  const Arg a = parts_arg(g, part, p.parts);
  if (!active || group_thread(g) != 0) return;
  advance(step, a.id == NO_ID ? 0 : a.id, 0.0f, arg_void(a) ? RING_NAN : 0);
}

// Sum of the weights of n logits, one thread's share.
inline float chunk_weights(device const float* l, uint n, float best, uint t, uint threads) {
  float s[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
  for (uint i = 8 * t; i < n; i += 8 * threads) {
    float v[8];
    load_octet(l, i, n, v);
    VEC_LOOP
    for (uint j = 0; j < 8; j++) s[j] += weight(v[j], best);
  }
  return sum8(s);
}

// Best score of the logits of a chunk that min-p keeps, one thread's share. base is a multiple of 4.
inline Arg chunk_draw(device const StepParams& s, device const float* l, uint base, uint n, float inv, float floor,
                      uint t, uint threads) {
  Arg a = no_arg();
  for (uint i = 8 * t; i < n; i += 8 * threads) {
    float v[8], scores[8];
    load_octet(l, i, n, v);
    score_octet(s, base + i, inv, v, scores);
    for (uint j = 0; j < min(n - i, 8u); j++) {
      if (v[j] >= floor) arg_take(a, scores[j], base + i + j);
    }
  }
  return a;
}

// sample_process: of each chunk of 2,048 logits the sum of the weights exp(l - best), the best score of a direct draw,
// and the first plan.cands candidates in the order of ids.
//
//   1 step    StepBuffer              sampling fields
//   2 logits  f32  [n]
//   3 part    Best [parts]            of head
//   4 stats   Stat [chunks]           out
//   5 lists   Cand [chunks][cands]    out, packed: the last chunk may have fewer
//
// Geometry: a threadgroup a chunk, any number of simdgroups.
// Numerics: sums in f32: eight partial sums a thread, then the threadgroup's sum. Nothing else depends on an order.
kernel void sample_process(constant SampleParams& p [[buffer(0)]], device const StepBuffer& step [[buffer(1)]],
                           device const float* logits [[buffer(2)]], device const Best* part [[buffer(3)]],
                           device Stat* stats [[buffer(4)]], device Cand* lists [[buffer(5)]],
                           uint chunk [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                           uint sg [[simdgroup_index_in_threadgroup]], uint nsg [[simdgroups_per_threadgroup]]) {
  threadgroup float vals[32];
  threadgroup uint ids[32];
  threadgroup uint found[2];
  threadgroup Counter hist[DIGITS];
  if (step.p.active == 0) return;
  const Group g = {vals, ids, lane, sg, nsg};
  const uint t = group_thread(g), threads = group_threads(g);
  const Plan plan = make_plan(step.p, p.n);
  const uint base = chunk * SAMPLE_CHUNK, n = min(SAMPLE_CHUNK, p.n - base);
  device const float* l = logits + base;
  const Arg best = parts_arg(g, part, p.parts);
  Stat stat = {0.0f, -INFINITY, NO_ID, 0};
  if (plan.sums) stat.sum = group_sum_f(g, chunk_weights(l, n, best.value, t, threads));
  if (plan.direct) {
    Arg a = chunk_draw(step.p, l, base, n, plan.inv, min_p_floor(step.p, best.value), t, threads);
    group_arg(g, a);
    stat.score = a.value;
    stat.id = a.id;
  }
  if (t == 0) stats[chunk] = stat;
  if (plan.cands == 0) return;
  const uint want = min(plan.cands, n);
  const Cut cut = select_cut(g, l, n, want, hist, found);
  select_write(g, l, base, n, cut, lists + ulong(chunk) * plan.cands);
}
