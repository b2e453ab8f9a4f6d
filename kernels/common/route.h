// route.h: what the choices of experts share. Lane l holds experts l, l + SIMD, ... in registers, as keys.
#pragma once
#include "simd.h"
#include "vmath.h"

constant constexpr uint MAX_EXPERTS = 512;
constant constexpr uint MAX_TOP_K = 16;
constant constexpr uint NONE = 0xffffffffu;

// Loops over the experts of a lane: unrolled where that keeps the array in registers, vectorised where one lane has
// them all.
#if SIMD > 1
#define EACH_HELD _Pragma("clang loop unroll(full)")
#else
#define EACH_HELD
#endif

// Key of a number: keys compare as the numbers do, with -0 == 0 and NaN below -infinity. No number has key 0.
inline uint route_key(float l) {
  if (isnan(l)) return 1u;
  const uint b = as_type<uint>(l == 0.0f ? 0.0f : l);
  return (b >> 31) != 0 ? ~b : b | 0x80000000u;
}

// The expert with the largest key, ties to the lower id, once the one chosen before is taken out (NONE: none was). A
// round takes the largest key and then the lowest id that has it, which vectorises where a lane holds all experts.
template <uint N>
inline uint route_next(thread uint (&key)[N], uint before, uint lane) {
  uint best = 0;
  EACH_HELD
  for (uint j = 0; j < N; j++) {
    key[j] = j * SIMD + lane == before ? 0u : key[j];
    best = max(best, key[j]);
  }
  best = simd_max(best);
  uint at = NONE;
  EACH_HELD
  for (uint j = 0; j < N; j++) at = min(at, key[j] == best ? j * SIMD + lane : NONE);
  return simd_min(at);
}
