// msl_ptx.h: a simdgroup is a warp, a threadgroup a block. No CUDA headers and no libdevice.
#pragma once

#define MSL_SITE
#define MSL_AT 0

struct msl_args {
  void* buf[31];
  unsigned tgoff[31];
  unsigned pad;
};

namespace metal {
MSL_FN void threadgroup_barrier(mem_flags) { __nvvm_barrier_sync(0); }
MSL_FN void simdgroup_barrier(mem_flags) { __nvvm_bar_warp_sync(0xffffffffu); }
MSL_FN uint msl_lane_index() { return __nvvm_read_ptx_sreg_laneid(); }

template <class T>
MSL_FN T msl_shuffle(T v, uint lane, int) {
  union {
    T value;
    int words[(sizeof(T) + 3) / 4];
  } u;
  u.words[0] = 0;
  u.value = v;
#pragma clang loop unroll(full)
  for (uint i = 0; i < (sizeof(T) + 3) / 4; i++) u.words[i] = __nvvm_shfl_sync_idx_i32(~0u, u.words[i], lane, 31);
  return u.value;
}
// Order of a butterfly: distances 16, 8, 4, 2, 1.
template <class T, class Op>
MSL_FN T msl_reduce(T v, Op op, int) {
#pragma clang loop unroll(full)
  for (uint d = 16; d > 0; d /= 2) v = op(v, msl_shuffle(v, msl_lane_index() ^ d, 0));
  return v;
}
template <class T>
MSL_FN T msl_prefix(T v, bool inclusive, int) {
  const uint l = msl_lane_index();
  T sum = v;
#pragma clang loop unroll(full)
  for (uint d = 1; d < 32; d *= 2) {
    const T o = msl_shuffle(sum, l >= d ? l - d : l, 0);
    if (l >= d) sum += o;
  }
  return inclusive ? sum : T(sum - v);
}
MSL_FN ulong msl_ballot(bool b, int) { return uint(__nvvm_vote_ballot_sync(~0u, b)); }
}  // namespace metal

struct msl_ctx {
  const msl_args* a;
};
MSL_FN metal::uint3 msl_get_group_in_grid(msl_ctx) {
  return metal::uint3(__nvvm_read_ptx_sreg_ctaid_x(), __nvvm_read_ptx_sreg_ctaid_y(), __nvvm_read_ptx_sreg_ctaid_z());
}
MSL_FN metal::uint3 msl_get_grid_size(msl_ctx) {
  return metal::uint3(__nvvm_read_ptx_sreg_nctaid_x(), __nvvm_read_ptx_sreg_nctaid_y(),
                      __nvvm_read_ptx_sreg_nctaid_z());
}
MSL_FN uint msl_get_threads(msl_ctx) { return __nvvm_read_ptx_sreg_ntid_x(); }
MSL_FN uint msl_get_simdgroups(msl_ctx) { return __nvvm_read_ptx_sreg_ntid_x() / 32; }
MSL_FN uint msl_get_index(msl_ctx) { return __nvvm_read_ptx_sreg_tid_x(); }
MSL_FN uint msl_get_simdgroup(msl_ctx) { return __nvvm_read_ptx_sreg_tid_x() / 32; }
MSL_FN uint msl_get_lane(msl_ctx) { return __nvvm_read_ptx_sreg_tid_x() & 31; }
MSL_FN void* msl_get_buffer(msl_ctx c, int i) { return c.a->buf[i]; }

#define MSL_FRAME(...)                                                                   \
  typedef __VA_ARGS__ msl_frame_t;                                                       \
  static_assert(sizeof(msl_frame_t) <= 32768, "more than 32 KiB of threadgroup memory"); \
  static __attribute__((shared)) msl_frame_t msl_frame;
