// msl_host.h: barriers and the exchange of values between lanes, on the host.
#pragma once
#include "msl_fiber.h"

#define MSL_SITE , const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()
#define MSL_AT file, line

namespace metal {
MSL_FN void threadgroup_barrier(mem_flags MSL_SITE) { msl_yield(MSL_AT_BARRIER, MSL_AT); }

#if MSL_WIDTH == 1
// One lane a simdgroup: simd operations cost nothing, and inner loops become vector code.
MSL_FN void simdgroup_barrier(mem_flags) {}
template <class T, class Op>
MSL_FN T msl_reduce(T v, Op, const char*, unsigned) {
  return v;
}
template <class T>
MSL_FN T msl_prefix(T v, bool inclusive, const char*, unsigned) {
  return inclusive ? v : T(0);
}
#else
MSL_FN void simdgroup_barrier(mem_flags MSL_SITE) { msl_yield(MSL_AT_SIMD, MSL_AT); }
MSL_FN uint msl_lane_index() { return msl_self()->lane; }

// Puts this lane's value up and returns the values of all lanes once they are there.
template <class T>
MSL_FN T* msl_exchange(T v, const char* file, unsigned line) {
  static_assert(sizeof(T) <= 16, "a lane exchanges at most 16 bytes");
  msl_fiber* f = msl_self();
  T* all = (T*)f->group->slot[f->half ^= 1];
  all[f->lane] = v;
  msl_yield(MSL_AT_SIMD, file, line);
  return all;
}
template <class T>
MSL_FN T msl_shuffle(T v, uint lane, const char* file, unsigned line) {
  return msl_exchange(v, file, line)[lane & 31];
}

// The last lane reduces, in the order of a butterfly: distances 16, 8, 4, 2, 1.
template <class T, class Op>
MSL_FN T msl_reduce(T v, Op op, const char* file, unsigned line) {
  static_assert(sizeof(T) <= 16, "a lane exchanges at most 16 bytes");
  msl_fiber* f = msl_self();
  T* all = (T*)f->group->slot[f->half ^= 1];
  T* result = (T*)f->group->result[f->half];
  all[f->lane] = v;
  if (!f->next) {
    T t[16];
    for (int i = 0; i < 16; i++) t[i] = op(all[i], all[i + 16]);
    for (int n = 8; n > 0; n /= 2)
      for (int i = 0; i < n; i++) t[i] = op(t[i], t[i + n]);
    *result = t[0];
  }
  msl_yield(MSL_AT_SIMD, file, line);
  return *result;
}
template <class T>
MSL_FN T msl_prefix(T v, bool inclusive, const char* file, unsigned line) {
  const T* all = msl_exchange(v, file, line);
  const uint end = msl_self()->lane + (inclusive ? 1 : 0);
  T sum = T(0);
  for (uint i = 0; i < end; i++) sum += all[i];
  return sum;
}
MSL_FN ulong msl_ballot(bool b, const char* file, unsigned line) {
  const uint* all = msl_exchange(uint(b), file, line);
  ulong bits = 0;
  for (int i = 0; i < 32; i++) bits |= ulong(all[i]) << i;
  return bits;
}
#endif
}  // namespace metal

// Asks for the cache line at an address that will be read soon. Any address will do.
MSL_FN void msl_prefetch(const void* p) { __builtin_prefetch(p); }

// What a kernel is told about its place.
struct msl_ctx {
  msl_fiber* f;
};
MSL_FN metal::uint3 msl_get_group_in_grid(msl_ctx c) {
  const unsigned* p = c.f->worker->position;
  return metal::uint3(p[0], p[1], p[2]);
}
MSL_FN metal::uint3 msl_get_grid_size(msl_ctx c) {
  const unsigned* g = c.f->worker->grid;
  return metal::uint3(g[0], g[1], g[2]);
}
MSL_FN uint msl_get_threads(msl_ctx c) { return c.f->worker->threads; }
MSL_FN uint msl_get_simdgroups(msl_ctx c) { return c.f->worker->simdgroups; }
MSL_FN uint msl_get_simdgroup(msl_ctx c) { return c.f->simdgroup; }
MSL_FN uint msl_get_lane(msl_ctx c) { return MSL_WIDTH == 1 ? 0 : c.f->lane; }
MSL_FN uint msl_get_index(msl_ctx c) { return c.f->simdgroup * MSL_WIDTH + msl_get_lane(c); }
MSL_FN void* msl_get_buffer(msl_ctx c, int i) { return c.f->worker->args->buf[i]; }

#define MSL_FRAME(...)                                                                             \
  typedef __VA_ARGS__ msl_frame_t;                                                                 \
  static_assert(sizeof(msl_frame_t) <= MSL_FRAME_BYTES, "more than 32 KiB of threadgroup memory"); \
  msl_frame_t& msl_frame = *(msl_frame_t*)msl_c.f->worker->frame;
