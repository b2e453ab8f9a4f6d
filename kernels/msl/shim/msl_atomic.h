// msl_atomic.h: relaxed atomics on integers, in device and threadgroup memory. Float atomics are not in the subset.
#pragma once
#ifdef MSL_STRICT
#define atomic_uint msl_atomic_uint
#define atomic_int msl_atomic_int
#define memory_order msl_memory_order
#define memory_order_relaxed msl_memory_order_relaxed
#define atomic_load_explicit msl_atomic_load_explicit
#define atomic_store_explicit msl_atomic_store_explicit
#define atomic_exchange_explicit msl_atomic_exchange_explicit
#define atomic_compare_exchange_weak_explicit msl_atomic_compare_exchange_weak_explicit
#define atomic_fetch_add_explicit msl_atomic_fetch_add_explicit
#define atomic_fetch_sub_explicit msl_atomic_fetch_sub_explicit
#define atomic_fetch_or_explicit msl_atomic_fetch_or_explicit
#define atomic_fetch_and_explicit msl_atomic_fetch_and_explicit
#define atomic_fetch_xor_explicit msl_atomic_fetch_xor_explicit
#define atomic_fetch_max_explicit msl_atomic_fetch_max_explicit
#define atomic_fetch_min_explicit msl_atomic_fetch_min_explicit
#endif

namespace metal {
enum memory_order { memory_order_relaxed = 0 };
enum class mem_flags : uint { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
MSL_FN constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint(a) | uint(b)); }

template <class T>
struct msl_operand {
  typedef T type;
};  // takes part in no deduction, so literals convert
template <class T>
using msl_same = typename msl_operand<T>::type;

template <class T>
struct atomic {
  static_assert(is_same_v<T, int> || is_same_v<T, uint>, "atomics are of int and uint");
  T value;
};
typedef atomic<int> atomic_int;
typedef atomic<uint> atomic_uint;

#ifdef MSL_STRICT
#define MSL_ATOMIC(space)                                                                                     \
  template <class T>                                                                                          \
  T atomic_load_explicit(const volatile space atomic<T>*, memory_order);                                      \
  template <class T>                                                                                          \
  void atomic_store_explicit(volatile space atomic<T>*, msl_same<T>, memory_order);                           \
  template <class T>                                                                                          \
  T atomic_exchange_explicit(volatile space atomic<T>*, msl_same<T>, memory_order);                           \
  template <class T>                                                                                          \
  bool atomic_compare_exchange_weak_explicit(volatile space atomic<T>*, thread T*, msl_same<T>, memory_order, \
                                             memory_order);                                                   \
  template <class T>                                                                                          \
  T atomic_fetch_add_explicit(volatile space atomic<T>*, msl_same<T>, memory_order);                          \
  template <class T>                                                                                          \
  T atomic_fetch_sub_explicit(volatile space atomic<T>*, msl_same<T>, memory_order);                          \
  template <class T>                                                                                          \
  T atomic_fetch_or_explicit(volatile space atomic<T>*, msl_same<T>, memory_order);                           \
  template <class T>                                                                                          \
  T atomic_fetch_and_explicit(volatile space atomic<T>*, msl_same<T>, memory_order);                          \
  template <class T>                                                                                          \
  T atomic_fetch_xor_explicit(volatile space atomic<T>*, msl_same<T>, memory_order);                          \
  template <class T>                                                                                          \
  T atomic_fetch_max_explicit(volatile space atomic<T>*, msl_same<T>, memory_order);                          \
  template <class T>                                                                                          \
  T atomic_fetch_min_explicit(volatile space atomic<T>*, msl_same<T>, memory_order);
MSL_ATOMIC(device)
MSL_ATOMIC(threadgroup)
#undef MSL_ATOMIC
#else
template <class T>
MSL_FN T atomic_load_explicit(const volatile atomic<T>* p, memory_order) {
  return __atomic_load_n(&p->value, __ATOMIC_RELAXED);
}
template <class T>
MSL_FN void atomic_store_explicit(volatile atomic<T>* p, msl_same<T> x, memory_order) {
  __atomic_store_n(&p->value, x, __ATOMIC_RELAXED);
}
template <class T>
MSL_FN T atomic_exchange_explicit(volatile atomic<T>* p, msl_same<T> x, memory_order) {
  return __atomic_exchange_n(&p->value, x, __ATOMIC_RELAXED);
}
template <class T>
MSL_FN bool atomic_compare_exchange_weak_explicit(volatile atomic<T>* p, T* e, msl_same<T> x, memory_order,
                                                  memory_order) {
  return __atomic_compare_exchange_n(&p->value, e, x, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
#define MSL_FETCH(op)                                                                         \
  template <class T>                                                                          \
  MSL_FN T atomic_fetch_##op##_explicit(volatile atomic<T>* p, msl_same<T> x, memory_order) { \
    return __atomic_fetch_##op(&p->value, x, __ATOMIC_RELAXED);                               \
  }
MSL_FETCH(add)
MSL_FETCH(sub)
MSL_FETCH(or)
MSL_FETCH(and)
MSL_FETCH(xor)
MSL_FETCH(max)
MSL_FETCH(min)
#undef MSL_FETCH
#endif

// The result of simd_ballot.
struct simd_vote {
  typedef ulong vote_t;
  ulong bits;
  MSL_FN explicit constexpr simd_vote(ulong v = 0) : bits(v) {}
  MSL_FN explicit constexpr operator ulong() const { return bits; }
  MSL_FN bool all() const { return uint(bits) == ~0u; }
  MSL_FN bool any() const { return bits != 0; }
};
}  // namespace metal
