// experts.h: arithmetic that the expert kernels of few rows and of many rows share, so that both give the same bits.
#pragma once
#include "gemv.h"
#include "vmath.h"

// A threadgroup is 2 simdgroups of 4 weight rows (expertGroups, expertRows). At width 1 its first simdgroup takes all
// 8, so that activations are converted half as often, and the other has nothing to do.
constant constexpr uint EXPERT_ROWS = SIMD > 1 ? 4 : 8;
constant constexpr uint EXPERT_TILE = 4;  // slots of a tile (ExpertTile)

// First weight row of a simdgroup; n or more when it has none.
inline uint expert_first(uint tg, uint sg, uint nsg, uint n) {
  if (SIMD == 1) return sg == 0 ? tg * EXPERT_ROWS : n;
  return (tg * nsg + sg) * EXPERT_ROWS;
}

// Rows first, first + 1, ... of an expert whose matrix has n rows; rows beyond the last repeat it.
inline RowIds<EXPERT_ROWS> expert_rows(uint expert, uint n, uint first) {
  RowIds<EXPERT_ROWS> ids;
  UNROLL for (uint r = 0; r < EXPERT_ROWS; r++) ids.row[r] = ulong(expert) * n + min(first + r, n - 1);
  return ids;
}

// What a slot adds to a row: its weight times its expert's output. Slots are added in their order, from 0.
inline float expert_add(float acc, float weight, float output) { return fma(weight, output, acc); }

// End of a row: the residual y, the routed sum and the shared expert's output behind its gate.
inline float expert_end(float acc, float gate, float shared, float y) { return y + fma(vsigmoid(gate), shared, acc); }
