// neuron.h: a neuron-major matrix times hidden rows, of whose neurons most are off. A matrix has n neurons (a multiple
// of 64) of d outputs (a multiple of 64). A view holds pointers to neuron 0:
//   NM    codes u32 [n][d / 8], least significant output first; scales and biases bf16 [n / 64][d]:
//         w[neuron][output] = scale * code + bias, one pair for 64 neighbouring neurons of an output
//   NM20  the same, but scales u32 [n / 64][d / 8], four bits q an output: scale = bf16(bias / -(q + 7))
//
// Groups of 64 neurons are cut into slices. For each output, with h and code over the live neurons of a group, upwards:
//   dot = fma(h, code, dot) and sum = sum + h, from 0;  slice += fma(bias, sum, scale * dot), from 0, groups upwards
// and the slices are added upwards. Nothing in this depends on the width, on the rows that go together or on how
// outputs are shared out, so every kernel gives a row the same bits. A dead neuron (h = 0) that is taken along adds an
// exact 0, and sums never are -0, so it does not matter either, as long as scales and biases are finite.
#pragma once
#include "gemv.h"

// Outputs of a threadgroup: neuronBand. At width 1 one in WIDE threadgroups makes those of its neighbours too, so that
// it reads longer runs of memory, and the others have nothing to do.
constant constexpr uint WIDE = SIMD > 1 ? 1 : 4;
constant constexpr uint BAND = 256 * WIDE;

struct NM {
  typedef bfloat Scale;
  device const uint* codes;
  device const bfloat* scales;
  device const bfloat* biases;
};

struct NM20 {
  typedef uint Scale;
  device const uint* codes;
  device const uint* scales;
  device const bfloat* biases;
};

// 1 / x for the whole numbers 7 to 22 to within 2^-18 of its value: a guess by the exponent, and two steps of Newton's
// method, of which the first shares out the error of the guess to both sides.
inline float small_reciprocal(float x) {
  const float guess = as_type<float>(0x7ef34000u - as_type<uint>(x));
  const float y = guess * fma(-x, guess, 2.001f);
  return fma(y, fma(-x, y, 1.0f), y);
}

// bf16(bias / -(q + 7)). A quotient of a number of 8 bits by 7 to 22 is at least 2^-14 of its value away from the
// middle between two numbers of 8 bits, since that times the divisor has an odd factor of 9 bits or more. So rounding
// needs no rule for ties, and any quotient that is that good gives the same scale.
inline float quotient_scale(float bias, uint q) {
  const float s = -bias * small_reciprocal(float(q + 7));
  return as_type<float>((as_type<uint>(s) + 0x8000u) & 0xffff0000u);
}

// The groups of slice s of a matrix.
struct SliceOf {
  uint first;
  uint count;
};

inline SliceOf slice_of(uint n, uint slices, uint s) {
  const uint groups = n / GROUP, each = groups / slices, more = groups % slices;
  return {s * each + min(s, more), each + (s < more ? 1u : 0u)};
}

// Bits of the 64 neurons of a group.
inline ulong group_bits(device const uint* words, uint group) {
  return ulong(words[2 * group + 1]) << 32 | words[2 * group];
}

#if SIMD > 1

// Outputs of a lane: the eight of one word of codes, so that a simdgroup reads 128 neighbouring bytes of a neuron.
constant constexpr uint LANE_OUTPUTS = 8;

// A lane's scales and biases as stored.
struct NMPairs {
  uint4 s;
  uint4 b;
};
struct NM20Pairs {
  uint s;
  uint4 b;
};

inline NMPairs pairs(NM w, ulong group, uint d, uint at) {
  return {*(device const uint4*)(w.scales + group * d + at), *(device const uint4*)(w.biases + group * d + at)};
}

inline NM20Pairs pairs(NM20 w, ulong group, uint d, uint at) {
  return {w.scales[(group * d + at) / 8], *(device const uint4*)(w.biases + group * d + at)};
}

inline float half_of(uint4 v, uint i) { return i % 2 != 0 ? high_bf16(v[i / 2]) : low_bf16(v[i / 2]); }
inline float bias_of(NMPairs a, uint i) { return half_of(a.b, i); }
inline float bias_of(NM20Pairs a, uint i) { return half_of(a.b, i); }
inline float scale_of(NMPairs a, uint i) { return half_of(a.s, i); }
inline float scale_of(NM20Pairs a, uint i) { return quotient_scale(half_of(a.b, i), (a.s >> (4 * i)) & 15u); }

// Neurons that are read at a time, so that their reads overlap.
template <uint M>
inline constexpr uint batch_of() {
  return M < 4 ? 8 : 4;
}

// The live neurons of a group, upwards: where their codes start, in words from neuron 0, and their hidden values in M
// rows. What fills the last batch repeats the first neuron with the hidden value 0.
template <uint M>
struct LiveList {
  uint offset[GROUP];
  float h[GROUP * M];
};

// Lists the neurons that bits names; h points to the group's first neuron. Returns the length in whole batches.
template <typename T, uint M>
inline uint list_group(threadgroup LiveList<M>& list, ulong bits, RowPtrs<T, M> h, uint pitch, uint lane) {
  constexpr uint BATCH = batch_of<M>();
  const uint count = uint(popcount(bits)), whole = (count + BATCH - 1) / BATCH * BATCH;
  float v[GROUP / SIMD][M];
  UNROLL for (uint j = 0; j < GROUP / SIMD; j++) {
    const uint n = j * SIMD + lane;
    UNROLL for (uint m = 0; m < M; m++) v[j][m] = (bits >> n & 1) != 0 ? float(h.row[m][n]) : 0.0f;
  }
  UNROLL for (uint j = 0; j < GROUP / SIMD; j++) {
    const uint n = j * SIMD + lane;
    if ((bits >> n & 1) != 0) {
      const uint at = uint(popcount(bits & ((1ul << n) - 1)));
      list.offset[at] = n * pitch;
      UNROLL for (uint m = 0; m < M; m++) list.h[at * M + m] = v[j][m];
    }
  }
  if (count + lane < whole) {
    list.offset[count + lane] = uint(ctz(bits)) * pitch;
    UNROLL for (uint m = 0; m < M; m++) list.h[(count + lane) * M + m] = 0.0f;
  }
  simdgroup_barrier(mem_flags::mem_threadgroup);  // the list is complete
  return whole;
}

// Code i of a word as a float, times a power of two, its unit: the bits of the code become those of a number 2^23 +
// code * unit. A power of two in a whole sum changes none of its bits but the exponent, so it is taken out at the end.
inline float code_of(uint word, uint i, uint exponent) {
  const uint w = i < 5 ? word & (15u << (4 * i)) : word >> 20 & (15u << (4 * i - 20));
  return as_type<float>(w | exponent) - 8388608.0f;
}

// 1 / unit of code i.
inline float code_unit(uint i) { return as_type<float>((127u - 4 * (i < 5 ? i : i - 5)) << 23); }

template <uint M>
inline void load_codes(thread uint (&q)[batch_of<M>()], device const uint* codes, threadgroup const LiveList<M>& list,
                       uint k) {
  UNROLL for (uint b = 0; b < batch_of<M>(); b++) q[b] = codes[list.offset[k + b]];
}

// slice[m][i] += what the listed neurons of a group add to outputs at + i of row m. `first` is the group's first neuron
// in the whole matrix. The codes of a batch are read while those of the batch before are used.
template <uint M, typename W>
METAL_FUNC void add_group(W w, threadgroup const LiveList<M>& list, uint whole, ulong first, uint d, uint at,
                          thread float (&slice)[M][LANE_OUTPUTS]) {
  constexpr uint BATCH = batch_of<M>();
  const auto meta = pairs(w, first / GROUP, d, at);
  device const uint* codes = w.codes + first * (d / 8) + at / 8;
  // The bits of 2^23, in a register: some processors then mask a code and set them by one instruction.
  const uint exponent = 0x4b000000u >> d % 64;  // d is a multiple of 64
  float dot[M][LANE_OUTPUTS], sum[M];
  UNROLL for (uint m = 0; m < M; m++) {
    sum[m] = 0.0f;
    UNROLL for (uint i = 0; i < LANE_OUTPUTS; i++) dot[m][i] = 0.0f;
  }
  uint next[BATCH];
  if (whole > 0) load_codes<M>(next, codes, list, 0);
  for (uint k = 0; k < whole; k += BATCH) {
    uint q[BATCH];
    UNROLL for (uint b = 0; b < BATCH; b++) q[b] = next[b];
    if (k + BATCH < whole) load_codes<M>(next, codes, list, k + BATCH);
    UNROLL for (uint b = 0; b < BATCH; b++) {
      float c[LANE_OUTPUTS];
      UNROLL for (uint i = 0; i < LANE_OUTPUTS; i++) c[i] = code_of(q[b], i, exponent);
      UNROLL for (uint m = 0; m < M; m++) {
        const float x = list.h[(k + b) * M + m];
        sum[m] += x;
        UNROLL for (uint i = 0; i < LANE_OUTPUTS; i++) dot[m][i] = fma(x, c[i], dot[m][i]);
      }
    }
  }
  UNROLL for (uint m = 0; m < M; m++) {
    UNROLL for (uint i = 0; i < LANE_OUTPUTS; i++) {
      slice[m][i] += fma(bias_of(meta, i), sum[m], scale_of(meta, i) * (dot[m][i] * code_unit(i)));
    }
  }
}

#else

// The live neurons of a group, upwards, and their hidden values in M rows.
template <uint M>
struct LiveGroup {
  uint count;
  uint neuron[GROUP];
  float h[M][GROUP];
  float sum[M];
};

template <typename T, uint M>
inline void list_group(thread LiveGroup<M>& g, ulong bits, RowPtrs<T, M> h, uint first) {
  g.count = 0;
  UNROLL for (uint m = 0; m < M; m++) g.sum[m] = 0.0f;
  for (; bits != 0; bits &= bits - 1) {
    const uint n = uint(ctz(bits));
    g.neuron[g.count] = n;
    UNROLL for (uint m = 0; m < M; m++) {
      const float x = float(h.row[m][first + n]);
      g.h[m][g.count] = x;
      g.sum[m] += x;
    }
    g.count++;
  }
}

// Asks for what the live neurons of a group will need of the outputs from at to end.
template <typename W>
inline void prefetch_group(W w, ulong bits, ulong first, uint d, uint at, uint end) {
  for (; bits != 0; bits &= bits - 1) {
    device const uint* p = w.codes + (first + uint(ctz(bits))) * (d / 8);
    for (uint i = at; i < end; i += 128) msl_prefetch(p + i / 8);
  }
}

// Scale and bias of outputs 2i and 2i + 1 of a block of 16.
inline void pair_of(NM w, ulong at, uint i, thread float (&s)[2], thread float (&b)[2]) {
  const uint sw = ((device const uint*)(w.scales + at))[i], bw = ((device const uint*)(w.biases + at))[i];
  s[0] = low_bf16(sw);
  s[1] = high_bf16(sw);
  b[0] = low_bf16(bw);
  b[1] = high_bf16(bw);
}

inline void pair_of(NM20 w, ulong at, uint i, thread float (&s)[2], thread float (&b)[2]) {
  const uint sw = ((device const uchar*)w.scales)[at / 2 + i], bw = ((device const uint*)(w.biases + at))[i];
  b[0] = low_bf16(bw);
  b[1] = high_bf16(bw);
  s[0] = quotient_scale(b[0], sw & 15u);
  s[1] = quotient_scale(b[1], sw >> 4);
}

// A band of the sums of M rows. Blocks of 16 outputs hold the eight even ones, then the odd ones: neighbours lie in one
// byte of codes.
template <uint M>
struct BandSums {
  float v[M][BAND];
};

template <uint M>
inline void clear_band(thread BandSums<M>& b) {
  for (uint i = 0; i < M * BAND; i++) b.v[i / BAND][i % BAND] = 0.0f;
}

// As add_group of the wider build, for the outputs from at to end of a band that starts at at.
template <uint M, typename W>
inline void add_group(W w, thread const LiveGroup<M>& g, ulong first, uint d, uint at, uint end,
                      thread BandSums<M>& slice) {
  constexpr uint BLOCKS = M == 1 ? 4 : (M == 2 ? 2 : 1);  // of 16 outputs: eight registers of sums, or a few more
  if (g.count == 0) return;
  const ulong pair = first / GROUP * d;
  device const uchar* codes = (device const uchar*)(w.codes + first * (d / 8));
  for (uint c = at; c < end; c += 16 * BLOCKS) {
    float dot[M][BLOCKS][2][8];
    UNROLL for (uint j = 0; j < M * BLOCKS * 2; j++) {
      OCT for (uint i = 0; i < 8; i++) dot[j / (2 * BLOCKS)][j / 2 % BLOCKS][j % 2][i] = 0.0f;
    }
    for (uint k = 0; k < g.count; k++) {
      device const uchar* p = codes + ulong(g.neuron[k]) * (d / 2) + c / 2;
      UNROLL for (uint t = 0; t < BLOCKS; t++) {
        float lo[8], hi[8];
        OCT for (uint i = 0; i < 8; i++) {
          const int q = int(p[8 * t + i]);
          lo[i] = float(q & 15);
          hi[i] = float(q >> 4);
        }
        UNROLL for (uint m = 0; m < M; m++) {
          const float x = g.h[m][k];
          OCT for (uint i = 0; i < 8; i++) {
            dot[m][t][0][i] = fma(x, lo[i], dot[m][t][0][i]);
            dot[m][t][1][i] = fma(x, hi[i], dot[m][t][1][i]);
          }
        }
      }
    }
    UNROLL for (uint t = 0; t < BLOCKS; t++) {
      const uint to = c - at + 16 * t;
      UNROLL for (uint m = 0; m < M; m++) {
        const float sum = g.sum[m];
        OCT for (uint i = 0; i < 8; i++) {
          float s[2], b[2];
          pair_of(w, pair + c + 16 * t, i, s, b);
          slice.v[m][to + i] += fma(b[0], sum, s[0] * dot[m][t][0][i]);
          slice.v[m][to + 8 + i] += fma(b[1], sum, s[1] * dot[m][t][1][i]);
        }
      }
    }
  }
}

// Writes a band in the order of outputs.
template <uint M>
inline void store_band(device float* to, thread const BandSums<M>& b, uint m, uint outputs) {
  for (uint c = 0; c < outputs; c += 16) {
    for (uint i = 0; i < 8; i++) {
      to[c + 2 * i] = b.v[m][c + i];
      to[c + 2 * i + 1] = b.v[m][c + 8 + i];
    }
  }
}

#endif
