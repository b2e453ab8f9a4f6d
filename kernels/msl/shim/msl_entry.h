// msl_entry.h: an entry point binds a kernel's parameters by their types and the attributes that the generator names.
#pragma once

template <int N>
struct msl_buffer {};
struct msl_position_in_grid {};
struct msl_group_in_grid {};
struct msl_position_in_group {};
struct msl_index_in_group {};
struct msl_lane {};
struct msl_simdgroup_index {};
struct msl_simdgroups {};
struct msl_group_size {};
struct msl_grid_size {};
struct msl_width {};
struct msl_no_frame {};

namespace msl {
using namespace metal;

// A value of three parts as the type that the kernel asks for: uint, uint2, uint3 or of ushort.
template <class P>
struct as {
  static MSL_FN P from(uint3 v) { return P(v.x); }
};
template <class T>
struct as<vec<T, 2>> {
  static MSL_FN vec<T, 2> from(uint3 v) { return vec<T, 2>(T(v.x), T(v.y)); }
};
template <class T>
struct as<vec<T, 3>> {
  static MSL_FN vec<T, 3> from(uint3 v) { return vec<T, 3>(T(v.x), T(v.y), T(v.z)); }
};

template <class P>
struct parameter {
  static MSL_FN P get(msl_ctx c, msl_position_in_grid) {
    uint3 v = msl_get_group_in_grid(c);
    v.x = v.x * msl_get_threads(c) + msl_get_index(c);
    return as<P>::from(v);
  }
  static MSL_FN P get(msl_ctx c, msl_group_in_grid) { return as<P>::from(msl_get_group_in_grid(c)); }
  static MSL_FN P get(msl_ctx c, msl_position_in_group) { return as<P>::from(uint3(msl_get_index(c), 0u, 0u)); }
  static MSL_FN P get(msl_ctx c, msl_group_size) { return as<P>::from(uint3(msl_get_threads(c), 1u, 1u)); }
  static MSL_FN P get(msl_ctx c, msl_grid_size) { return as<P>::from(msl_get_grid_size(c)); }
  static MSL_FN P get(msl_ctx c, msl_index_in_group) { return P(msl_get_index(c)); }
  static MSL_FN P get(msl_ctx c, msl_lane) { return P(msl_get_lane(c)); }
  static MSL_FN P get(msl_ctx c, msl_simdgroup_index) { return P(msl_get_simdgroup(c)); }
  static MSL_FN P get(msl_ctx c, msl_simdgroups) { return P(msl_get_simdgroups(c)); }
  static MSL_FN P get(msl_ctx, msl_width) { return P(MSL_WIDTH); }
};
template <class T>
struct parameter<T*> {
  template <int N>
  static MSL_FN T* get(msl_ctx c, msl_buffer<N>) {
    return (T*)msl_get_buffer(c, N);
  }
};
template <class T>
struct parameter<T&> {
  template <int N>
  static MSL_FN T& get(msl_ctx c, msl_buffer<N>) {
    return *(T*)msl_get_buffer(c, N);
  }
};
// Buffer 0 is the parameter struct, which nothing writes: a copy stays in registers where a reference may alias.
// Tables, which are indexed at run time, are left where they are.
template <class T, bool SMALL>
struct constant_parameter {
  template <int N>
  static MSL_FN const T& get(msl_ctx c, msl_buffer<N>) {
    return *(const T*)msl_get_buffer(c, N);
  }
};
template <class T>
struct constant_parameter<T, true> : constant_parameter<T, false> {
  using constant_parameter<T, false>::get;
  static MSL_FN T get(msl_ctx c, msl_buffer<0>) { return *(const T*)msl_get_buffer(c, 0); }
};
template <class T>
struct parameter<const T&> : constant_parameter<T, sizeof(T) <= 64> {};

template <class F>
struct signature;
template <class R, class... A>
struct signature<R (*)(msl_ctx, A...)> {
  template <auto Fn, class... D>
  static MSL_FN void call(msl_ctx c) {
    Fn(c, parameter<A>::get(c, D{})...);
  }
};

// Bytes of the frame type in parentheses.
template <class F>
struct frame;
template <class T>
struct frame<void(T)> {
  static constexpr unsigned bytes = __is_same(T, msl_no_frame) ? 0 : sizeof(T);
};
}  // namespace msl

// The entry point of a kernel. bound is the number of threads that its attribute allows, 0 without one: a GPU's
// compiler then knows how many registers a thread may have.
#ifdef MSL_PTX
#define MSL_ENTRY(name, fn, frame, bound, ...)                                         \
  extern "C" __attribute__((global, launch_bounds(bound))) void name(msl_args msl_a) { \
    msl::signature<decltype(&fn)>::call<&fn, ##__VA_ARGS__>(msl_ctx{&msl_a});          \
  }
#else
#define MSL_ENTRY(name, fn, frame_type, bound, ...)                                      \
  extern "C" __attribute__((visibility("hidden"))) void msl_e_##name(msl_fiber* msl_f) { \
    msl::signature<decltype(&fn)>::call<&fn, ##__VA_ARGS__>(msl_ctx{msl_f});             \
  }                                                                                      \
  extern "C" __attribute__((visibility("hidden"))) const unsigned msl_bytes_##name;      \
  const unsigned msl_bytes_##name = msl::frame<void frame_type>::bytes;
#endif
