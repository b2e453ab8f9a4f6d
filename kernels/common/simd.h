// simd.h: one source for 32 lanes a simdgroup (Metal, PTX, exact host build) and for 1 (fast host build).
//
// Kernels count simdgroups, never threads: lane strides are SIMD, arrays shared out over lanes have
// ceil(n / SIMD) elements, and "one value per lane of a word of 32" is an array of 32 / SIMD values.
// simd_sum, simd_max, simd_min, simd_or, simd_and and the simd_prefix_* sums are right at both widths;
// simd_shuffle*, simd_broadcast, simd_ballot and quad_* do not exist at width 1: use the helpers below.
//
// Every helper is to be called by all lanes of a simdgroup, tg_* by all threads of a threadgroup.
#pragma once
#include <metal_stdlib>
using namespace metal;

#ifndef SIMD
#define SIMD 32
#endif

// Sum over L adjacent lanes (L a power of two, 1 to 32), the same value in each lane of the group.
// Order: pairs at distance L/2, then L/4, ..., 1: for L = 4 (v0 + v2) + (v1 + v3). At width 1 the caller gives one
// lane the whole group, so the value is returned as it is.
template <uint L, typename T>
inline T group_sum(T v) {
  static_assert(L >= 1 && L <= 32 && (L & (L - 1)) == 0, "groups are powers of two");
#if SIMD > 1
#pragma clang loop unroll(full)
  for (ushort d = L / 2; d > 0; d /= 2) v += simd_shuffle_xor(v, d);
#endif
  return v;
}

// Largest of L adjacent lanes; as group_sum. A NaN in any lane leaves an unspecified lane's value.
template <uint L, typename T>
inline T group_max(T v) {
  static_assert(L >= 1 && L <= 32 && (L & (L - 1)) == 0, "groups are powers of two");
#if SIMD > 1
#pragma clang loop unroll(full)
  for (ushort d = L / 2; d > 0; d /= 2) v = max(v, simd_shuffle_xor(v, d));
#endif
  return v;
}

// Sum over the simdgroup in the order of group_sum<32> on every device. simd_sum is one instruction on Apple
// hardware, but its order is fixed only per device: take this one where two devices must agree.
template <typename T>
inline T simd_sum_fixed(T v) {
  return group_sum<32>(v);
}

// Sum over a threadgroup, returned to every thread. part has nsg elements and is free again on return.
// Order: simd_sum in each simdgroup; then lane l adds parts l, l + SIMD, ... upwards; then simd_sum over lanes.
template <typename T>
inline T tg_sum(T v, threadgroup T* part, uint lane, uint sg, uint nsg) {
  v = simd_sum(v);
  if (lane == 0) part[sg] = v;
  threadgroup_barrier(mem_flags::mem_threadgroup);  // all parts are written
  T s = T(0);
  for (uint i = lane; i < nsg; i += SIMD) s += part[i];
  s = simd_sum(s);
  threadgroup_barrier(mem_flags::mem_threadgroup);  // all parts are read
  return s;
}

// Largest value of a threadgroup, returned to every thread; part as in tg_sum.
template <typename T>
inline T tg_max(T v, threadgroup T* part, uint lane, uint sg, uint nsg) {
  v = simd_max(v);
  if (lane == 0) part[sg] = v;
  threadgroup_barrier(mem_flags::mem_threadgroup);  // all parts are written
  T m = part[lane < nsg ? lane : 0];
  for (uint i = lane + SIMD; i < nsg; i += SIMD) m = max(m, part[i]);
  m = simd_max(m);
  threadgroup_barrier(mem_flags::mem_threadgroup);  // all parts are read
  return m;
}

// Exclusive prefix sum of v over the threads of a threadgroup in the order of their index sg * SIMD + lane. total
// receives the sum over all. part as in tg_sum. Integers only: the result does not depend on any order.
inline uint tg_scan(uint v, threadgroup uint* part, uint lane, uint sg, uint nsg, thread uint& total) {
  const uint before = simd_prefix_exclusive_sum(v);
  const uint mine = simd_sum(v);
  if (lane == 0) part[sg] = mine;
  threadgroup_barrier(mem_flags::mem_threadgroup);  // all parts are written
  uint lower = 0, all = 0;
  for (uint i = lane; i < nsg; i += SIMD) {
    const uint p = part[i];
    all += p;
    lower += i < sg ? p : 0u;
  }
  total = simd_sum(all);
  lower = simd_sum(lower);
  threadgroup_barrier(mem_flags::mem_threadgroup);  // all parts are read
  return lower + before;
}

// Word of 32 flags over 32 values shared out over a simdgroup: value i is v[i / SIMD] of lane i % SIMD. Bit i is set
// when value i is not zero; NaN counts as live. The same word is returned to each lane.
template <typename T>
inline uint live_word(thread const T (&v)[32 / SIMD]) {
#if SIMD > 1
  return uint(static_cast<simd_vote::vote_t>(simd_ballot(!(v[0] == T(0)))));
#else
  uint w = 0;
#pragma clang loop unroll(full)
  for (uint i = 0; i < 32; i++) w |= !(v[i] == T(0)) ? 1u << i : 0u;
  return w;
#endif
}

// True when candidate (v, id) comes before (w, at): larger value, ties to the lower id. A NaN value is never better.
inline bool arg_better(float v, uint id, float w, uint at) { return v > w || (v == w && id < at); }

// Arg-max over the simdgroup: v and id become the best pair in each lane. Ids are distinct, so no order matters as
// long as no value is NaN.
inline void simd_argmax(thread float& v, thread uint& id) {
#if SIMD > 1
#pragma clang loop unroll(full)
  for (ushort d = 16; d > 0; d /= 2) {
    const float w = simd_shuffle_xor(v, d);
    const uint at = simd_shuffle_xor(id, d);
    if (arg_better(w, at, v, id)) {
      v = w;
      id = at;
    }
  }
#endif
}

// Arg-max over a threadgroup, returned to every thread. vals and ids have nsg elements and are free on return.
inline void tg_argmax(thread float& v, thread uint& id, threadgroup float* vals, threadgroup uint* ids, uint lane,
                      uint sg, uint nsg) {
  simd_argmax(v, id);
  if (lane == 0) {
    vals[sg] = v;
    ids[sg] = id;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);  // all parts are written
  const uint first = lane < nsg ? lane : 0;
  v = vals[first];
  id = ids[first];
  for (uint i = lane + SIMD; i < nsg; i += SIMD) {
    if (arg_better(vals[i], ids[i], v, id)) {
      v = vals[i];
      id = ids[i];
    }
  }
  simd_argmax(v, id);
  threadgroup_barrier(mem_flags::mem_threadgroup);  // all parts are read
}
