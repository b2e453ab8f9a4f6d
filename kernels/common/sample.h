// sample.h: what the kernels that end a pass share: the arg-max of logits in parts, the plan of a draw, its noise.
#pragma once
#include "../params.h"
#include "philox.h"
#include "simd.h"
#include "vmath.h"

// What a part of the logits leaves: its greatest with the lowest id. The value is NaN if the part held one.
struct Best {
  float value;
  uint id;
};

// What sample_process leaves of a chunk of logits.
struct Stat {
  float sum;    // of the weights, if the plan needs it
  float score;  // best score of a direct draw, and its token
  uint id;
  uint pad;
};

// An arg-max under way. A NaN never wins silently: it is carried as a flag of its own.
struct Arg {
  float value;
  uint id;
  uint nan;  // 1 when a NaN was seen
};

constant constexpr uint NO_ID = 0xffffffffu;

inline Arg no_arg() { return {-INFINITY, NO_ID, 0}; }

// Adds one value. At least one real value, -infinity included, gives an id below NO_ID.
inline void arg_take(thread Arg& a, float v, uint id) {
  if (isnan(v)) {
    a.nan = 1;
  } else if (arg_better(v, id, a.value, a.id)) {
    a.value = v;
    a.id = id;
  }
}

// A threadgroup at work: scratch for its reductions, and who the calling thread is.
struct Group {
  threadgroup float* vals;  // nsg elements
  threadgroup uint* ids;    // nsg elements
  uint lane, sg, nsg;
};

inline uint group_thread(Group g) { return g.sg * SIMD + g.lane; }
inline uint group_threads(Group g) { return g.nsg * SIMD; }
inline float group_sum_f(Group g, float v) { return tg_sum(v, g.vals, g.lane, g.sg, g.nsg); }
inline uint group_sum_u(Group g, uint v) { return tg_sum(v, g.ids, g.lane, g.sg, g.nsg); }
inline uint group_scan(Group g, uint v, thread uint& total) { return tg_scan(v, g.ids, g.lane, g.sg, g.nsg, total); }

// The arg-max of all threads, to every thread.
inline void group_arg(Group g, thread Arg& a) {
  tg_argmax(a.value, a.id, g.vals, g.ids, g.lane, g.sg, g.nsg);
  a.nan = tg_max(a.nan, g.ids, g.lane, g.sg, g.nsg);
}

// The arg-max of the n parts that the head left.
inline Arg parts_arg(Group g, device const Best* part, uint n) {
  Arg a = no_arg();
  for (uint i = group_thread(g); i < n; i += group_threads(g)) arg_take(a, part[i].value, part[i].id);
  group_arg(g, a);
  return a;
}

// No token can be had from logits that hold a NaN, or nothing but -infinity.
inline bool arg_void(Arg a) { return a.nan != 0 || a.value == -INFINITY; }

// What a step record asks of the sampler.
struct Plan {
  bool greedy;
  bool direct;  // drawn from all tokens but those that min-p drops
  bool sums;    // the sum of all weights is needed
  uint cands;   // candidates to sort: the first so many by value, ties to the lower id
  uint top_k;   // 0: off
  float top_p;  // 1 or more: off
  float inv;    // 1 / temperature
};

constant constexpr uint MAX_CANDS = 1024;     // Candidates
constant constexpr uint SAMPLE_CHUNK = 2048;  // sampleChunk: logits of a threadgroup of sample_process

inline Plan make_plan(device const StepParams& s, uint n) {
  Plan p;
  p.greedy = s.greedy != 0 || !(s.temp >= 1e-6f);
  p.top_k = p.greedy ? 0 : s.top_k;
  p.top_p = p.greedy ? 1.0f : s.top_p;
  p.inv = p.greedy ? 1.0f : 1.0f / s.temp;
  const bool narrow = p.top_k > 0 || p.top_p < 1.0f;
  p.direct = !p.greedy && !narrow;
  const uint alts = min(s.alts, MAX_ALTERNATIVES);
  p.sums = alts > 0 || s.logprobs != 0 || p.top_p < 1.0f;
  const uint want = !narrow ? 0 : (p.top_k > 0 ? min(p.top_k, MAX_CANDS) : MAX_CANDS);
  p.cands = min(max(want, alts), n);
  return p;
}

// exp(l - best), 1 at the best itself even when that is infinite. best is above -infinity.
inline float weight(float l, float best) { return l == best ? 1.0f : vexp(l - best); }

// Least logit that min-p keeps; the best is always kept.
inline float min_p_floor(device const StepParams& s, float best) {
  return s.min_p > 0.0f ? best + min(vlog(s.min_p), 0.0f) : -INFINITY;
}

// Score of a token in the draw: the greatest of all kept tokens' scores is a draw from the softmax of logit / temp.
inline float score(float l, float inv, uint bits) { return fma(l, inv, gumbel(bits)); }

// Random words of tokens 4 quad to 4 quad + 3 in this step.
inline uint4 token_bits(device const StepParams& s, uint quad) {
  return philox(uint4(quad, s.step, 0, 0), uint2(s.seed_lo, s.seed_hi));
}

// Logits i to i + 7 of n; -infinity beyond the last.
inline void load_octet(device const float* l, uint i, uint n, thread float (&v)[8]) {
  if (i + 8 <= n) {
    VEC_LOOP
    for (uint j = 0; j < 8; j++) v[j] = l[i + j];
  } else {
    for (uint j = 0; j < 8; j++) v[j] = i + j < n ? l[i + j] : -INFINITY;
  }
}

// Scores of tokens id to id + 7, id a multiple of 4, from their logits.
inline void score_octet(device const StepParams& s, uint id, float inv, thread const float (&v)[8],
                        thread float (&out)[8]) {
  uint bits[8];
  for (uint h = 0; h < 2; h++) {
    const uint4 w = token_bits(s, id / 4 + h);
    for (uint j = 0; j < 4; j++) bits[4 * h + j] = w[j];
  }
  VEC_LOOP
  for (uint j = 0; j < 8; j++) out[j] = score(v[j], inv, bits[j]);
}
