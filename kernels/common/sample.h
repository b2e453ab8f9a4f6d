// sample.h: the arg-max of logits in parts. A NaN never wins silently: it is carried as a flag of its own.
#pragma once
#include "simd.h"

// What a part of the logits leaves: its greatest with the lowest id. The value is NaN if the part held one.
struct Best {
  float value;
  uint id;
};

// An arg-max under way.
struct Arg {
  float value;
  uint id;
  uint nan;  // 1 when a NaN was seen
};

constant constexpr uint NO_ID = 0xffffffffu;

inline Arg no_arg() { return {-INFINITY, NO_ID, 0}; }

// Adds one value. At least one real value, -infinity included, gives an id below NO_ID.
inline void arg_take(thread Arg& a, float v, uint id) {
  if (isnan(v)) {
    a.nan = 1;
  } else if (arg_better(v, id, a.value, a.id)) {
    a.value = v;
    a.id = id;
  }
}

// Over a threadgroup, to every thread. vals and ids have nsg elements and are free on return.
inline void arg_reduce(thread Arg& a, threadgroup float* vals, threadgroup uint* ids, uint lane, uint sg, uint nsg) {
  tg_argmax(a.value, a.id, vals, ids, lane, sg, nsg);
  a.nan = tg_max(a.nan, ids, lane, sg, nsg);
}

inline Best arg_best(Arg a) { return {a.nan != 0 ? NAN : a.value, a.id}; }
