// msl_strict.h: declarations only; nothing of a strict build is run.
#pragma once

#define MSL_SITE
#define MSL_AT 0

namespace metal {
void threadgroup_barrier(mem_flags);
void simdgroup_barrier(mem_flags);
uint msl_lane_index();
template <class T>
T msl_shuffle(T v, uint lane, int);
template <class T, class Op>
T msl_reduce(T v, Op op, int);
template <class T>
T msl_prefix(T v, bool inclusive, int);
ulong msl_ballot(bool b, int);
}  // namespace metal

#define MSL_FRAME(...)                                                                   \
  typedef __VA_ARGS__ msl_frame_t;                                                       \
  static_assert(sizeof(msl_frame_t) <= 32768, "more than 32 KiB of threadgroup memory"); \
  threadgroup msl_frame_t& msl_frame = *(threadgroup msl_frame_t*)nullptr;
