// dequant.h: storage formats of weight matrices, as views with one set of functions.
//
// A matrix has rows of K weights (K a multiple of 64), each an output neuron. A view holds pointers to row 0:
//   Q4, Q8  codes u32, least significant element first; scales and biases bf16, one pair a group of 64 weights:
//           w = scale * code + bias
//   B16     w bf16
// A lane reads a row in chunks of CHUNK weights. At 32 lanes a chunk is 16 bytes, so that adjacent lanes read adjacent
// memory; at width 1 it is a whole group. No chunk spans two groups. A chunk is expanded a block at a time, into one
// octet of floats (two at width 1): the unit of eight partial sums.
//
// Functions of a view, k being the first weight of a chunk:
//   fetch(w, row, K, k)         the chunk as stored
//   expand(chunk, t, c)         codes of its block t (B16: the weights), exact in f32
//   affine(w, row, K, k, s, b)  scale and bias of its group (B16: 1 and 0)
//   octet(w, row, K, k, v)      eight weights from k on (a multiple of 8), each rounded to f32 once
#pragma once
#include "simd.h"

// UNROLL unrolls. OCT is a loop over the positions of an octet, all independent: unrolled where registers are scalar,
// one vector instruction where they are vectors.
#define UNROLL _Pragma("clang loop unroll(full)")
#if SIMD > 1
#define OCT UNROLL
#else
#define OCT _Pragma("clang loop vectorize(assume_safety) interleave(disable) unroll(disable)")
#endif

// Metal inlines every function; other compilers are told so where it matters.
#ifndef METAL_FUNC
#define METAL_FUNC inline __attribute__((always_inline))
#endif

constant constexpr uint GROUP = 64;
constant constexpr uint BLOCK = SIMD > 1 ? 8 : 16;  // weights of a block
constant constexpr uint OCTETS = BLOCK / 8;

#if SIMD > 1
struct Q4Chunk {
  uint4 q;
};
struct Q8Chunk {
  uint4 q;
};
struct B16Chunk {
  uint4 q;
};
#else
struct Q4Chunk {
  device const uchar* p;
};
struct Q8Chunk {
  device const ushort* p;
};
struct B16Chunk {
  device const uint* p;
};
#endif

struct Q4 {
  typedef Q4Chunk Chunk;
  static constant constexpr uint CHUNK = SIMD > 1 ? 32 : GROUP;
  static constant constexpr bool AFFINE = true;
  device const uint* codes;
  device const bfloat* scales;
  device const bfloat* biases;
};

struct Q8 {
  typedef Q8Chunk Chunk;
  static constant constexpr uint CHUNK = SIMD > 1 ? 16 : GROUP;
  static constant constexpr bool AFFINE = true;
  device const uint* codes;
  device const bfloat* scales;
  device const bfloat* biases;
};

struct B16 {
  typedef B16Chunk Chunk;
  static constant constexpr uint CHUNK = SIMD > 1 ? 8 : GROUP;
  static constant constexpr bool AFFINE = false;
  device const bfloat* codes;
};

inline float low_bf16(uint pair) { return as_type<float>(pair << 16); }
inline float high_bf16(uint pair) { return as_type<float>(pair & 0xffff0000u); }

#if SIMD > 1

inline Q4Chunk fetch(Q4 w, ulong row, uint K, uint k) {
  return {*(device const uint4*)(w.codes + row * (K / 8) + k / 8)};
}

inline Q8Chunk fetch(Q8 w, ulong row, uint K, uint k) {
  return {*(device const uint4*)(w.codes + row * (K / 4) + k / 4)};
}

inline B16Chunk fetch(B16 w, ulong row, uint K, uint k) { return {*(device const uint4*)(w.codes + row * K + k)}; }

inline void expand(Q4Chunk a, uint t, thread float (&c)[OCTETS][8]) {
  OCT for (uint i = 0; i < 8; i++) c[0][i] = float((a.q[t] >> (4 * i)) & 15u);
}

inline void expand(Q8Chunk a, uint t, thread float (&c)[OCTETS][8]) {
  OCT for (uint i = 0; i < 8; i++) c[0][i] = float((a.q[2 * t + i / 4] >> (8 * (i % 4))) & 255u);
}

inline void expand(B16Chunk a, uint, thread float (&c)[OCTETS][8]) {
  OCT for (uint i = 0; i < 8; i++) c[0][i] = i % 2 != 0 ? high_bf16(a.q[i / 2]) : low_bf16(a.q[i / 2]);
}

// A block of activations, in the order of expand; p is aligned to 16 bytes.
inline void activations(device const bfloat* p, thread float (&x)[OCTETS][8]) {
  expand(B16Chunk{*(device const uint4*)p}, 0, x);
}

inline void activations(device const float* p, thread float (&x)[OCTETS][8]) {
  UNROLL for (uint i = 0; i < 8; i += 4) {
    const float4 v = *(device const float4*)(p + i);
    x[0][i] = v.x;
    x[0][i + 1] = v.y;
    x[0][i + 2] = v.z;
    x[0][i + 3] = v.w;
  }
}

#else

// At width 1 the two octets of a block hold its even and its odd elements: neighbours lie in one byte (Q4), one
// half-word (Q8) or one word (B16, activations), which a vector unit takes apart with a mask and a shift.
inline Q4Chunk fetch(Q4 w, ulong row, uint K, uint k) { return {(device const uchar*)w.codes + row * (K / 2) + k / 2}; }

inline Q8Chunk fetch(Q8 w, ulong row, uint K, uint k) {
  return {(device const ushort*)w.codes + row * (K / 2) + k / 2};
}

inline B16Chunk fetch(B16 w, ulong row, uint K, uint k) {
  return {(device const uint*)w.codes + row * (K / 2) + k / 2};
}

inline void expand(Q4Chunk a, uint t, thread float (&c)[OCTETS][8]) {
  OCT for (uint i = 0; i < 8; i++) {
    const int q = int(a.p[8 * t + i]);
    c[0][i] = float(q & 15);
    c[1][i] = float(q >> 4);
  }
}

inline void expand(Q8Chunk a, uint t, thread float (&c)[OCTETS][8]) {
  OCT for (uint i = 0; i < 8; i++) {
    const int q = int(a.p[8 * t + i]);
    c[0][i] = float(q & 255);
    c[1][i] = float(q >> 8);
  }
}

inline void expand(B16Chunk a, uint t, thread float (&c)[OCTETS][8]) {
  OCT for (uint i = 0; i < 8; i++) {
    c[0][i] = low_bf16(a.p[8 * t + i]);
    c[1][i] = high_bf16(a.p[8 * t + i]);
  }
}

inline void activations(device const bfloat* p, thread float (&x)[OCTETS][8]) {
  expand(B16Chunk{(device const uint*)p}, 0, x);
}

inline void activations(device const float* p, thread float (&x)[OCTETS][8]) {
  OCT for (uint i = 0; i < 8; i++) {
    x[0][i] = p[2 * i];
    x[1][i] = p[2 * i + 1];
  }
}

#endif

inline void affine(Q4 w, ulong row, uint K, uint k, thread float& s, thread float& b) {
  const ulong g = row * (K / GROUP) + k / GROUP;
  s = float(w.scales[g]);
  b = float(w.biases[g]);
}

inline void affine(Q8 w, ulong row, uint K, uint k, thread float& s, thread float& b) {
  const ulong g = row * (K / GROUP) + k / GROUP;
  s = float(w.scales[g]);
  b = float(w.biases[g]);
}

inline void affine(B16, ulong, uint, uint, thread float& s, thread float& b) {
  s = 1.0f;
  b = 0.0f;
}

inline void octet(Q4 w, ulong row, uint K, uint k, thread float (&v)[8]) {
  float s, b;
  affine(w, row, K, k, s, b);
  const uint q = w.codes[row * (K / 8) + k / 8];
  UNROLL for (uint i = 0; i < 8; i++) v[i] = fma(s, float((q >> (4 * i)) & 15u), b);
}

inline void octet(Q8 w, ulong row, uint K, uint k, thread float (&v)[8]) {
  float s, b;
  affine(w, row, K, k, s, b);
  device const uint* p = w.codes + row * (K / 4) + k / 4;
  UNROLL for (uint i = 0; i < 8; i++) v[i] = fma(s, float((p[i / 4] >> (8 * (i % 4))) & 255u), b);
}

inline void octet(B16 w, ulong row, uint K, uint k, thread float (&v)[8]) {
  device const bfloat* p = w.codes + row * K + k;
  UNROLL for (uint i = 0; i < 8; i++) v[i] = float(p[i]);
}
