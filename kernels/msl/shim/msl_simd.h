// msl_simd.h: metal_simdgroup. At width 1 shuffles, broadcasts from a lane and ballots do not exist: a kernel that uses
// them would be silently wrong there. Quad functions are not in the subset.
#pragma once
namespace metal {
#define MSL_REDUCE(name, expr)                                                                                \
  template <class T, class = enable_if_t<is_arithmetic_v<T>>>                                                 \
  MSL_FN T simd_##name(T x MSL_SITE) {                                                                        \
    return msl_reduce(x, [](T a, T b) { return T(expr); }, MSL_AT);                                           \
  }                                                                                                           \
  template <class T, int N>                                                                                   \
  MSL_FN vec<T, N> simd_##name(vec<T, N> x MSL_SITE) {                                                        \
    return msl_reduce(                                                                                        \
        x, [](vec<T, N> p, vec<T, N> q) { return msl_map(p, q, [](T a, T b) { return T(expr); }); }, MSL_AT); \
  }
MSL_REDUCE(sum, a + b)
MSL_REDUCE(product, (a * b))
MSL_REDUCE(max, a < b ? b : a)
MSL_REDUCE(min, b < a ? b : a)
#undef MSL_REDUCE
#define MSL_REDUCE(name, op)                                          \
  template <class T, class = enable_if_t<is_integral_v<T>>>           \
  MSL_FN T simd_##name(T x MSL_SITE) {                                \
    return msl_reduce(x, [](T a, T b) { return T(a op b); }, MSL_AT); \
  }
MSL_REDUCE(or, |)
MSL_REDUCE(and, &)
MSL_REDUCE(xor, ^)
#undef MSL_REDUCE
MSL_FN bool simd_any(bool b MSL_SITE) {
  return msl_reduce(uint(b), [](uint x, uint y) { return x | y; }, MSL_AT) != 0;
}
MSL_FN bool simd_all(bool b MSL_SITE) {
  return msl_reduce(uint(b), [](uint x, uint y) { return x & y; }, MSL_AT) != 0;
}

// Prefix sums of integers only: the order of a float prefix sum is not specified.
template <class T, class = enable_if_t<is_integral_v<T>>>
MSL_FN T simd_prefix_exclusive_sum(T x MSL_SITE) {
  return msl_prefix(x, false, MSL_AT);
}
template <class T, class = enable_if_t<is_integral_v<T>>>
MSL_FN T simd_prefix_inclusive_sum(T x MSL_SITE) {
  return msl_prefix(x, true, MSL_AT);
}

#if MSL_WIDTH > 1
template <class T>
MSL_FN T simd_shuffle(T x, ushort lane MSL_SITE) {
  return msl_shuffle(x, lane, MSL_AT);
}
template <class T>
MSL_FN T simd_broadcast(T x, ushort lane MSL_SITE) {
  return msl_shuffle(x, lane, MSL_AT);
}
template <class T>
MSL_FN T simd_broadcast_first(T x MSL_SITE) {
  return msl_shuffle(x, 0u, MSL_AT);
}
template <class T>
MSL_FN T simd_shuffle_xor(T x, ushort mask MSL_SITE) {
  return msl_shuffle(x, msl_lane_index() ^ mask, MSL_AT);
}
template <class T>
MSL_FN T simd_shuffle_down(T x, ushort delta MSL_SITE) {
  const uint l = msl_lane_index();
  return msl_shuffle(x, l + delta < 32 ? l + delta : l, MSL_AT);
}
template <class T>
MSL_FN T simd_shuffle_up(T x, ushort delta MSL_SITE) {
  const uint l = msl_lane_index();
  return msl_shuffle(x, l >= delta ? l - delta : l, MSL_AT);
}
MSL_FN simd_vote simd_ballot(bool b MSL_SITE) { return simd_vote(msl_ballot(b, MSL_AT)); }
#else
template <class T>
MSL_FN T simd_broadcast_first(T x) {
  return x;
}
#endif
}  // namespace metal
