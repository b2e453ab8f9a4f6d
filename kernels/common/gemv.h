// gemv.h: the shared row-dot. One simdgroup multiplies R weight rows by M activation rows:
//
//   sum[r][m] = sum over k of w[row[r]][k] * x[m][k]
//
// Lanes split K: lane l takes chunks l, l + SIMD, ... (dequant.h). For each chunk and each pair (r, m):
//   d[i] = fma(x, code, d[i]) over the octets of the chunk, upwards, from 0: eight partial sums
//   width 32: acc    = fma(scale, tree(d), acc),   then acc    = fma(bias, tree(X), acc)
//   width 1:  acc[i] = fma(scale, d[i], acc[i]),   then acc[i] = fma(bias, X[i], acc[i]);   tree(acc) at the end
// with X[i] the sum of the activations that d[i] saw, and tree(v) = ((v0+v4) + (v2+v6)) + ((v1+v5) + (v3+v7)). Last,
// the sum over lanes. B16 has no bias step.
//
// Nothing in this depends on R, on M or on which rows go together: a row's result is the same bits in every kernel
// that calls row_dot at one width. Between widths it differs within f32 rounding.
#pragma once
#include "dequant.h"

// Activation rows of a tile. A row that is not live may repeat one that is.
template <typename T, uint M>
struct RowPtrs {
  device const T* row[M];
};

// Matrix rows of a simdgroup.
template <uint R>
struct RowIds {
  ulong row[R];
};

// Rows first, first + 1, ... of a matrix with n rows; rows beyond the last repeat it.
template <uint R>
inline RowIds<R> row_ids(uint first, uint n) {
  RowIds<R> ids;
  UNROLL for (uint r = 0; r < R; r++) ids.row[r] = min(first + r, n - 1);
  return ids;
}

inline float tree(thread const float (&v)[8]) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

// x = B blocks of activations from p on; sums[i] = their sum at position i of all octets, upwards.
template <typename T, uint B>
inline void load_chunk(device const T* p, thread float (&x)[B][OCTETS][8], thread float (&sums)[8]) {
  UNROLL for (uint t = 0; t < B; t++) activations(p + BLOCK * t, x[t]);
  OCT for (uint i = 0; i < 8; i++) {
    float v = x[0][0][i];
    UNROLL for (uint j = 1; j < B * OCTETS; j++) v += x[j / OCTETS][j % OCTETS][i];
    sums[i] = v;
  }
}

// d[i] += sum over octets of x * c.
inline void accumulate(thread const float (&x)[OCTETS][8], thread const float (&c)[OCTETS][8], thread float (&d)[8]) {
  OCT for (uint i = 0; i < 8; i++) {
    float v = d[i];
    UNROLL for (uint u = 0; u < OCTETS; u++) v = fma(x[u][i], c[u][i], v);
    d[i] = v;
  }
}

// The group step for one pair; acc is the sum (width 32) or its eight parts (width 1).
template <typename W, uint P>
inline void scale_add(float s, float b, thread const float (&d)[8], thread const float (&sums)[8],
                      thread float (&acc)[P]) {
  if (P == 1) {
    acc[0] = fma(s, tree(d), acc[0]);
    if (W::AFFINE) acc[0] = fma(b, tree(sums), acc[0]);
    return;
  }
  OCT for (uint i = 0; i < P; i++) {
    const float v = fma(s, d[i], acc[i]);
    acc[i] = W::AFFINE ? fma(b, sums[i], v) : v;
  }
}

inline float finish(thread const float (&acc)[1]) { return simd_sum(acc[0]); }
inline float finish(thread const float (&acc)[8]) { return simd_sum(tree(acc)); }

// One chunk of S rows and M activation rows: acc += scale * (x . code) + bias * (sum of x).
template <typename W, uint S, uint M, uint B, uint P>
METAL_FUNC void add_chunk(W w, thread const ulong* row, uint K, uint k, thread const float (&xs)[M][B][OCTETS][8],
                          thread const float (&sums)[M][8], thread float (*acc)[M][P]) {
  typename W::Chunk q[S];
  float d[S][M][8];
  UNROLL for (uint a = 0; a < S; a++) {
    q[a] = fetch(w, row[a], K, k);
#if SIMD == 1
    msl_prefetch(q[a].p + 4 * K);  // the same chunk eight rows on, the next threadgroup's: rows are short streams
#endif
    UNROLL for (uint m = 0; m < M; m++) { OCT for (uint i = 0; i < 8; i++) d[a][m][i] = 0.0f; }
  }
  UNROLL for (uint t = 0; t < B; t++) {
    UNROLL for (uint a = 0; a < S; a++) {
      float c[OCTETS][8];
      expand(q[a], t, c);
      UNROLL for (uint m = 0; m < M; m++) accumulate(xs[m][t], c, d[a][m]);
    }
  }
  UNROLL for (uint a = 0; a < S; a++) {
    float s, b;
    affine(w, row[a], K, k, s, b);
    UNROLL for (uint m = 0; m < M; m++) scale_add<W, P>(s, b, d[a][m], sums[m], acc[a][m]);
  }
}

template <typename W, typename T, uint R, uint M>
inline void row_dot(W w, RowIds<R> ids, uint K, RowPtrs<T, M> x, uint lane, thread float (&sum)[R][M]) {
  constexpr uint V = W::CHUNK;
  constexpr uint P = SIMD > 1 ? 1 : 8;
  // Rows at a time: four chains of fma, or at width 1, where a chain is one register, 2 M of them.
  constexpr uint S = M <= 2 && R % (4 / M) == 0 ? 4 / M : (SIMD == 1 && R % 2 == 0 ? 2 : 1);
  float acc[R][M][P];
  UNROLL for (uint j = 0; j < R * M; j++) { OCT for (uint i = 0; i < P; i++) acc[j / M][j % M][i] = 0.0f; }
  for (uint k = lane * V; k < K; k += SIMD * V) {
    float xs[M][V / BLOCK][OCTETS][8];
    float sums[M][8];
    UNROLL for (uint m = 0; m < M; m++) load_chunk(x.row[m] + k, xs[m], sums[m]);
    if (SIMD > 1 || M == 1) {
      UNROLL for (uint r = 0; r < R; r += S) add_chunk<W, S>(w, ids.row + r, K, k, xs, sums, acc + r);
    } else {
      // The sums of several rows do not fit into vector registers: a loop is as fast as its copies.
#pragma clang loop unroll(disable)
      for (uint r = 0; r < R; r += S) add_chunk<W, S>(w, ids.row + r, K, k, xs, sums, acc + r);
    }
  }
  UNROLL for (uint j = 0; j < R * M; j++) sum[j / M][j % M] = finish(acc[j / M][j % M]);
}
