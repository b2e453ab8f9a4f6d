// select.h: the first `want` of n values by value, ties to the lower index, by radix selection; and their sorting.
// Integers only, so nothing depends on the order of threads.
#pragma once
#include "sample.h"

constant constexpr uint DIGITS = 2048;  // 11 bits a pass: 11, 11 and 10

// Counters that a threadgroup shares. Where a simdgroup has one lane, the threads of a threadgroup take turns on one
// processor, and plain counters do.
#if SIMD > 1
typedef atomic_uint Counter;
inline void clear(threadgroup Counter* c) { atomic_store_explicit(c, 0u, memory_order_relaxed); }
inline void count(threadgroup Counter* c) { atomic_fetch_add_explicit(c, 1u, memory_order_relaxed); }
inline uint counted(threadgroup Counter* c) { return atomic_load_explicit(c, memory_order_relaxed); }
#else
typedef uint Counter;
inline void clear(threadgroup Counter* c) { *c = 0; }
inline void count(threadgroup Counter* c) { *c += 1; }
inline uint counted(threadgroup Counter* c) { return *c; }
#endif

// Key of a logit: keys compare as the logits do, with -0 == 0 and NaN below all. No logit but NaN has key 0.
inline uint order_key(float l) {
  if (isnan(l)) return 0u;
  const uint b = as_type<uint>(l == 0.0f ? 0.0f : l);
  return (b >> 31) != 0 ? ~b : b | 0x80000000u;
}

// The logit of a key; keys from LOWEST_KEY to that of infinity have one.
constant constexpr uint LOWEST_KEY = 0x007fffffu;  // of -infinity
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

// Keys of values i to i + 7 of n; 0 beyond the last.
template <typename Source>
inline void key_octet(Source src, uint i, uint n, thread uint (&keys)[8]) {
  if (i + 8 <= n) {
    VEC_LOOP
    for (uint j = 0; j < 8; j++) keys[j] = cand_at(src, 0, i + j).key;
  } else {
    for (uint j = 0; j < 8; j++) keys[j] = i + j < n ? cand_at(src, 0, i + j).key : 0u;
  }
}

// Where a selection cuts: all keys above key, and the first `ties` of those that equal it.
struct Cut {
  uint key;
  uint ties;
};

// Counts the values whose bits from `low` up are those of prefix, by the digit that starts at `shift`.
template <typename Source>
inline void count_digits(Group g, Source src, uint n, uint prefix, uint low, uint shift, threadgroup Counter* hist) {
  const uint mask = (1u << (low - shift)) - 1;
  const uint upper = low == 32 ? 0u : ~0u << low;
  for (uint i = 8 * group_thread(g); i < n; i += 8 * group_threads(g)) {
    uint keys[8], other[8];
    key_octet(src, i, n, keys);
    VEC_LOOP
    for (uint j = 0; j < 8; j++) other[j] = (keys[j] ^ prefix) & upper;
    for (uint j = 0; j < min(n - i, 8u); j++) {
      if (other[j] == 0) count(hist + ((keys[j] >> shift) & mask));
    }
  }
}

// The cut that leaves want of n values, 1 <= want <= n. hist has DIGITS elements, found 2.
template <typename Source>
inline Cut select_cut(Group g, Source src, uint n, uint want, threadgroup Counter* hist, threadgroup uint* found) {
  const uint t = group_thread(g), threads = group_threads(g), per = (DIGITS + threads - 1) / threads;
  Cut cut = {0, want};
  for (uint shift = 21, low = 32; low > 0; low = shift, shift = shift > 11 ? shift - 11 : 0) {
    for (uint i = 8 * t; i < DIGITS; i += 8 * threads) {
      VEC_LOOP
      for (uint j = 0; j < 8; j++) clear(hist + i + j);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);  // counters are zero
    count_digits(g, src, n, cut.key, low, shift, hist);
    threadgroup_barrier(mem_flags::mem_threadgroup);  // all are counted
    // Thread t owns the digits from DIGITS - 1 - t per downwards.
    const uint top = DIGITS - min(t * per, DIGITS), bottom = top - min(per, top);
    uint mine = 0, all;
    for (uint d = bottom; d < top; d++) mine += counted(hist + d);
    uint above = group_scan(g, mine, all);
    if (above < cut.ties && above + mine >= cut.ties) {
      uint d = top, more = 0;
      while (above + more < cut.ties) {
        above += more;
        more = counted(hist + --d);
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
  const uint t = group_thread(g), threads = group_threads(g), per = (n + 8 * threads - 1) / (8 * threads) * 8;
  const uint from = min(t * per, n), to = min(from + per, n);
  uint above = 0, equal = 0, all;
  for (uint i = from; i < to; i += 8) {
    uint keys[8], more[8], same[8];
    key_octet(src, i, to, keys);
    VEC_LOOP
    for (uint j = 0; j < 8; j++) {
      more[j] = keys[j] > cut.key ? 1 : 0;
      same[j] = keys[j] == cut.key && i + j < to ? 1 : 0;
    }
    for (uint j = 0; j < 8; j++) {
      above += more[j];
      equal += same[j];
    }
  }
  const uint last = above + equal;
  above = group_scan(g, above, all);
  equal = group_scan(g, equal, all);
  if (last == 0) return;
  for (uint i = from; i < to; i++) {
    const Cand c = cand_at(src, base, i);
    if (c.key < cut.key) continue;
    const uint at = above + min(equal, cut.ties);
    if (c.key > cut.key) {
      out[at] = c;
      above++;
    } else {
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
