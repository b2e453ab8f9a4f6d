// select.h: the first `want` of n values by value, ties to the lower index, by radix selection; and their sorting.
// Integers only, so nothing depends on the order of threads.
#pragma once
#include "sample.h"

constant constexpr uint DIGITS = 2048;  // 11 bits a pass: 11, 11 and 10

// Key of a logit: keys compare as the logits do, with -0 == 0 and NaN below all. No logit but NaN has key 0.
inline uint order_key(float l) {
  if (isnan(l)) return 0u;
  const uint b = as_type<uint>(l == 0.0f ? 0.0f : l);
  return (b >> 31) != 0 ? ~b : b | 0x80000000u;
}

// The logit of a key.
inline float key_logit(uint k) { return as_type<float>((k >> 31) != 0 ? k & 0x7fffffffu : ~k); }

// A candidate.
struct Cand {
  uint key;
  uint id;
};

inline bool cand_before(Cand a, Cand b) { return a.key > b.key || (a.key == b.key && a.id < b.id); }

// Values to select from, by index: logits, whose ids start at base, or lists of candidates.
inline Cand cand_at(device const float* logits, uint base, uint i) { return {order_key(logits[i]), base + i}; }
inline Cand cand_at(device const Cand* lists, uint, uint i) { return lists[i]; }

// Where a selection cuts: all keys above key, and the first `ties` of those that equal it.
struct Cut {
  uint key;
  uint ties;
};

// The cut that leaves want of n values, 1 <= want <= n. hist has DIGITS elements, found 2.
template <typename Source>
inline Cut select_cut(Group g, Source src, uint n, uint want, threadgroup atomic_uint* hist, threadgroup uint* found) {
  const uint t = group_thread(g), threads = group_threads(g), per = (DIGITS + threads - 1) / threads;
  Cut cut = {0, want};
  for (uint shift = 21, low = 32; low > 0; low = shift, shift = shift > 11 ? shift - 11 : 0) {
    for (uint i = t; i < DIGITS; i += threads) atomic_store_explicit(hist + i, 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);  // counters are zero
    const uint mask = (1u << (low - shift)) - 1;
    for (uint i = t; i < n; i += threads) {
      const uint key = cand_at(src, 0, i).key;
      const bool same = low == 32 || (key >> low) == (cut.key >> low);
      if (same) atomic_fetch_add_explicit(hist + ((key >> shift) & mask), 1u, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // all are counted
    // Thread t owns the digits from DIGITS - 1 - t per downwards.
    const uint top = DIGITS - min(t * per, DIGITS), bottom = top - min(per, top);
    uint mine = 0, all;
    for (uint d = bottom; d < top; d++) mine += atomic_load_explicit(hist + d, memory_order_relaxed);
    uint above = group_scan(g, mine, all);
    if (above < cut.ties && above + mine >= cut.ties) {
      uint d = top;
      uint count = 0;
      while (above + count < cut.ties) {
        above += count;
        count = atomic_load_explicit(hist + --d, memory_order_relaxed);
      }
      found[0] = d;
      found[1] = cut.ties - above;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // the digit is found
    cut.key |= found[0] << shift;
    cut.ties = found[1];
    threadgroup_barrier(mem_flags::mem_threadgroup);  // and read
  }
  return cut;
}

// Writes what the cut leaves, in the order of indices, to out.
template <typename Source, typename Out>
inline void select_write(Group g, Source src, uint base, uint n, Cut cut, Out out) {
  const uint t = group_thread(g), threads = group_threads(g), per = (n + threads - 1) / threads;
  const uint from = min(t * per, n), to = min(from + per, n);
  uint above = 0, equal = 0, all;
  for (uint i = from; i < to; i++) {
    const uint key = cand_at(src, base, i).key;
    above += key > cut.key ? 1 : 0;
    equal += key == cut.key ? 1 : 0;
  }
  above = group_scan(g, above, all);
  equal = group_scan(g, equal, all);
  for (uint i = from; i < to; i++) {
    const Cand c = cand_at(src, base, i);
    const uint at = above + min(equal, cut.ties);
    if (c.key > cut.key) {
      out[at] = c;
      above++;
    } else if (c.key == cut.key) {
      if (equal < cut.ties) out[at] = c;
      equal++;
    }
  }
}

// Sorts n candidates by value, ties to the lower id (bitonic). c has room for the next power of two.
inline void sort_cands(Group g, threadgroup Cand* c, uint n) {
  const uint t = group_thread(g), threads = group_threads(g);
  uint size = 1;
  while (size < n) size *= 2;
  for (uint i = n + t; i < size; i += threads) c[i] = {0, NO_ID};
  threadgroup_barrier(mem_flags::mem_threadgroup);  // c is complete
  for (uint run = 2; run <= size; run *= 2) {
    for (uint step = run / 2; step > 0; step /= 2) {
      for (uint i = t; i < size / 2; i += threads) {
        const uint a = 2 * i - (i & (step - 1)), b = a + step;
        const Cand x = c[a], y = c[b];
        if (cand_before(y, x) == ((a & run) == 0)) {
          c[a] = y;
          c[b] = x;
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);  // the step is done
    }
  }
}
