// The end of a draw: the candidates of all chunks, what is kept, the token, its log-probability and the alternatives;
// then advance.
#include "common/advance.h"
#include "common/select.h"

// What is kept: keys above key, and of those that equal it the ids up to last.
struct Kept {
  uint key;
  uint last;
};

// The first plan.cands candidates of all lists, sorted by value, ties to the lower id.
inline void merge_lists(Group g, constant SampleParams& p, Plan plan, device const Cand* lists,
                        threadgroup Counter* hist, threadgroup uint* found, threadgroup Cand* cands) {
  const uint last = p.n - (p.chunks - 1) * SAMPLE_CHUNK;
  const uint n = (p.chunks - 1) * plan.cands + min(plan.cands, last);
  const Cut cut = select_cut(g, lists, n, plan.cands, hist, found);
  select_write(g, lists, 0, n, cut, cands);
  sort_cands(g, cands, plan.cands);
}

// Sum of the weights of all tokens above a logit, over the threadgroup.
inline float mass_above(Group g, device const float* l, uint n, float best, float low) {
  float s[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
  for (uint i = 8 * group_thread(g); i < n; i += 8 * group_threads(g)) {
    float v[8];
    load_octet(l, i, n, v);
    VEC_LOOP
    for (uint j = 0; j < 8; j++) s[j] += v[j] > low ? weight(v[j], best) : 0.0f;
  }
  return group_sum_f(g, sum8(s));
}

inline uint count_above(Group g, device const float* l, uint n, uint key) {
  uint c = 0;
  for (uint i = group_thread(g); i < n; i += group_threads(g)) c += order_key(l[i]) > key ? 1 : 0;
  return group_sum_u(g, c);
}

// Number of tokens with this key and an id up to last.
inline uint count_equal(Group g, device const float* l, uint n, uint key, uint last) {
  uint c = 0;
  for (uint i = group_thread(g); i < min(n, last + 1); i += group_threads(g)) c += order_key(l[i]) == key ? 1 : 0;
  return group_sum_u(g, c);
}

// Kept tokens when they are more than the candidates: found by bisection of the keys, with passes over all logits.
inline Kept keep_wide(Group g, device const StepParams& s, Plan plan, device const float* l, uint n, float best,
                      float sum) {
  Kept kept = {LOWEST_KEY, NO_ID};
  if (plan.top_p < 1.0f) {  // least key above which there is less than top_p
    uint hi = order_key(best);
    while (kept.key < hi) {
      const uint mid = kept.key + (hi - kept.key) / 2;
      if (mass_above(g, l, n, best, key_logit(mid)) < plan.top_p * sum) {
        hi = mid;
      } else {
        kept.key = mid + 1;
      }
    }
  }
  kept.key = max(kept.key, order_key(min_p_floor(s, best)));
  if (plan.top_k == 0 || plan.top_k >= n) return kept;
  uint lo = kept.key, hi = order_key(best);  // least key above which there are fewer than top_k
  while (lo < hi) {
    const uint mid = lo + (hi - lo) / 2;
    if (count_above(g, l, n, mid) < plan.top_k) {
      hi = mid;
    } else {
      lo = mid + 1;
    }
  }
  kept.key = lo;
  const uint ties = plan.top_k - count_above(g, l, n, lo);
  if (count_equal(g, l, n, lo, n - 1) <= ties) return kept;
  uint first = 0;
  kept.last = n - 1;  // least id up to which there are that many ties
  while (first < kept.last) {
    const uint mid = first + (kept.last - first) / 2;
    if (count_equal(g, l, n, lo, mid) >= ties) {
      kept.last = mid;
    } else {
      first = mid + 1;
    }
  }
  return kept;
}

// Best score of all kept tokens.
inline Arg draw_wide(Group g, device const StepParams& s, Plan plan, device const float* l, uint n, Kept kept) {
  Arg a = no_arg();
  for (uint i = 8 * group_thread(g); i < n; i += 8 * group_threads(g)) {
    float v[8], scores[8];
    load_octet(l, i, n, v);
    score_octet(s, i, plan.inv, v, scores);
    for (uint j = 0; j < min(n - i, 8u); j++) {
      const uint key = order_key(v[j]);
      if (key > kept.key || (key == kept.key && i + j <= kept.last)) arg_take(a, scores[j], i + j);
    }
  }
  group_arg(g, a);
  return a;
}

// Number of the first n sorted candidates that top-p and min-p keep; n when more than the candidates may be kept. One
// thread's work: few candidates are looked at.
inline uint keep_cands(device const StepParams& s, Plan plan, threadgroup const Cand* cands, uint n, float best,
                       float sum) {
  const float floor = min_p_floor(s, best), limit = plan.top_p * sum;
  float mass = 0.0f;
  for (uint i = 0; i < n; i++) {
    const float l = key_logit(cands[i].key);
    const bool tie = i > 0 && cands[i].key == cands[i - 1].key;
    if (i > 0 && (l < floor || (plan.top_p < 1.0f && !tie && !(mass < limit)))) return i;
    mass += weight(l, best);
  }
  return n;
}

// Best score of the first n candidates.
inline Arg draw_cands(Group g, device const StepParams& s, Plan plan, threadgroup const Cand* cands, uint n) {
  Arg a = no_arg();
  for (uint i = group_thread(g); i < n; i += group_threads(g)) {
    const Cand c = cands[i];
    arg_take(a, score(key_logit(c.key), plan.inv, token_bits(s, c.id / 4)[c.id % 4]), c.id);
  }
  group_arg(g, a);
  return a;
}

inline Arg draw(Group g, constant SampleParams& p, device const StepParams& s, Plan plan, device const float* logits,
                device const Stat* stats, threadgroup const Cand* cands, Arg best, float sum) {
  if (plan.greedy) return best;
  if (plan.direct) {
    Arg a = no_arg();
    for (uint i = group_thread(g); i < p.chunks; i += group_threads(g)) arg_take(a, stats[i].score, stats[i].id);
    group_arg(g, a);
    return a;
  }
  const bool bounded = plan.top_k > 0 && plan.top_k <= MAX_CANDS;
  const uint n = bounded ? min(plan.top_k, plan.cands) : plan.cands;
  if (group_thread(g) == 0) g.ids[0] = keep_cands(s, plan, cands, n, best.value, sum);
  threadgroup_barrier(mem_flags::mem_threadgroup);  // counted
  const uint kept = g.ids[0];
  threadgroup_barrier(mem_flags::mem_threadgroup);  // and read
  if (kept < n || bounded || n == p.n) return draw_cands(g, s, plan, cands, kept);
  return draw_wide(g, s, plan, logits, p.n, keep_wide(g, s, plan, logits, p.n, best.value, sum));
}

// sample_final: chooses the first plan.cands candidates of all lists, sorts them, and draws the token of this pass, by
// the rules of mlx-lm's samplers and in their order. With w(i) = exp(l_i - best) and W their sum:
//   top-p  keeps i if the weights of all greater logits sum to less than top_p * W (ties stay together)
//   min-p  keeps i if l_i >= best + log(min_p)
//   top-k  keeps the first top_k of the rest, ties to the lower id
//   token  = arg max over the kept of l_i / temp + gumbel(word i % 4 of philox(i / 4, step, 0, 0; seed))
// The best is always kept. Greedy: the arg-max. The log-probability of token and alternatives is l - best - log W.
//
//   1 step    StepBuffer             in and out
//   2 logits  f32  [n]
//   3 part    Best [parts]           of head
//   4 stats   Stat [chunks]          of sample_process
//   5 lists   Cand [chunks][cands]   of sample_process
//
// Geometry: one threadgroup of any size.
// Numerics: f32. At the cut of top-p the last bits of a sum decide.
// Source: Gumbel-max: Maddison, Tarlow, Minka, "A* Sampling" (NeurIPS 2014); nucleus: Holtzman et al. (ICLR 2020).
kernel void sample_final(constant SampleParams& p [[buffer(0)]], device StepBuffer& step [[buffer(1)]],
                         device const float* logits [[buffer(2)]], device const Best* part [[buffer(3)]],
                         device const Stat* stats [[buffer(4)]], device const Cand* lists [[buffer(5)]],
                         uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],
                         uint nsg [[simdgroups_per_threadgroup]]) {
  threadgroup float vals[32];
  threadgroup uint ids[32];
  threadgroup uint found[2];
  threadgroup Counter hist[DIGITS];
  threadgroup Cand cands[MAX_CANDS];
  if (step.p.active == 0) return;
  const Group g = {vals, ids, lane, sg, nsg};
  const Plan plan = make_plan(step.p, p.n);
  const Arg best = parts_arg(g, part, p.parts);
  if (arg_void(best)) {
    if (group_thread(g) == 0) advance(step, best.id == NO_ID ? 0 : best.id, 0.0f, RING_NAN);
    return;
  }
  if (plan.cands > 0) merge_lists(g, p, plan, lists, hist, found, cands);
  float sum = 0.0f;
  if (plan.sums) {
    for (uint i = group_thread(g); i < p.chunks; i += group_threads(g)) sum += stats[i].sum;
    sum = group_sum_f(g, sum);
  }
  const Arg token = draw(g, p, step.p, plan, logits, stats, cands, best, sum);
  if (group_thread(g) != 0) return;
  const float log_sum = plan.sums ? vlog(sum) : 0.0f;
  const uint alts = min(min(step.p.alts, MAX_ALTERNATIVES), plan.cands);
  for (uint i = 0; i < alts; i++) {
    const float l = key_logit(cands[i].key);
    device Alternative& alt = step.alts[step.p.step % RING_SIZE * MAX_ALTERNATIVES + i];
    alt.id = cands[i].id;
    alt.log = (l == best.value ? 0.0f : l - best.value) - log_sum;
  }
  const float l = logits[token.id];
  const float log_prob = (l == best.value ? 0.0f : l - best.value) - log_sum;
  advance(step, token.id, step.p.logprobs != 0 ? log_prob : 0.0f, 0);
}
