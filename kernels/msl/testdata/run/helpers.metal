// What the width helpers and the shim compute, for the tests of package msl. Each thread writes what it got.
#include <metal_stdlib>
#include "common/simd.h"
using namespace metal;

// y: for each thread group, simdgroup, lane, index in group, position in grid, simdgroups, threads, width
kernel void places(device uint* y [[buffer(0)]], uint3 group [[threadgroup_position_in_grid]],
                   uint sg [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                   uint index [[thread_index_in_threadgroup]], uint at [[thread_position_in_grid]],
                   uint nsg [[simdgroups_per_threadgroup]], uint threads [[threads_per_threadgroup]],
                   uint width [[threads_per_simdgroup]], uint3 grid [[threadgroups_per_grid]]) {
  const uint flat = group.x + grid.x * (group.y + grid.y * group.z);
  device uint* out = y + (flat * threads + index) * 8;
  out[0] = flat;
  out[1] = sg;
  out[2] = lane;
  out[3] = index;
  out[4] = at;
  out[5] = nsg;
  out[6] = threads;
  out[7] = width;
}

// Sums over n floats by one threadgroup; y: tg_sum, tg_max, simd_sum_fixed of simdgroup 0's share
kernel void sums(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], constant uint& n [[buffer(2)]],
                 uint sg [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                 uint nsg [[simdgroups_per_threadgroup]]) {
  threadgroup float part[32];
  float s = 0.0f, m = -INFINITY;
  for (uint i = sg * SIMD + lane; i < n; i += nsg * SIMD) {
    s += x[i];
    m = max(m, x[i]);
  }
  const float fixed = simd_sum_fixed(s);
  s = tg_sum(s, part, lane, sg, nsg);
  m = tg_max(m, part, lane, sg, nsg);
  if (lane == 0) {
    y[4 * sg] = s;
    y[4 * sg + 1] = m;
    y[4 * sg + 2] = fixed;
  }
}

// Exclusive prefix sums of x over the threadgroup; y: prefix of each thread, then the total of each
kernel void scans(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]],
                  uint sg [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                  uint nsg [[simdgroups_per_threadgroup]]) {
  threadgroup uint part[32];
  const uint i = sg * SIMD + lane;
  uint total;
  const uint before = tg_scan(x[i], part, lane, sg, nsg, total);
  y[i] = before;
  y[nsg * SIMD + i] = total;
}

// Arg-max over n floats; y: id, and the value's bits, of each simdgroup's first lane
kernel void argmaxes(device const float* x [[buffer(0)]], device uint* y [[buffer(1)]], constant uint& n [[buffer(2)]],
                     uint sg [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                     uint nsg [[simdgroups_per_threadgroup]]) {
  threadgroup float vals[32];
  threadgroup uint ids[32];
  float v = -INFINITY;
  uint id = ~0u;
  for (uint i = sg * SIMD + lane; i < n; i += nsg * SIMD) {
    if (arg_better(x[i], i, v, id)) {
      v = x[i];
      id = i;
    }
  }
  tg_argmax(v, id, vals, ids, lane, sg, nsg);
  if (lane == 0) {
    y[2 * sg] = id;
    y[2 * sg + 1] = as_type<uint>(v);
  }
}

// One bitmap word for each threadgroup of 32 values
kernel void words(device const bfloat* x [[buffer(0)]], device uint* y [[buffer(1)]],
                  uint group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  bfloat v[32 / SIMD];
  for (uint i = 0; i < 32 / SIMD; i++) v[i] = x[group * 32 + i * SIMD + lane];
  const uint w = live_word(v);
  if (lane == 0) y[group] = w;
}

// Rounding and arithmetic: y: bits of bfloat(x), of bfloat(x) * bfloat(x), of x * x + x, of fma(x, x, x)
kernel void numbers(device const float* x [[buffer(0)]], device uint* y [[buffer(1)]],
                    uint i [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  if (lane == 0) {
    const bfloat b = bfloat(x[i]);
    y[4 * i] = as_type<ushort>(b);
    y[4 * i + 1] = as_type<ushort>(b * b);
    y[4 * i + 2] = as_type<uint>(x[i] * x[i] + x[i]);
    y[4 * i + 3] = as_type<uint>(fma(x[i], x[i], x[i]));
  }
}

// Vectors: constructors, swizzles, operators, packed forms
kernel void vectors(device float* y [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
  if (lane != 0) return;
  float4 v = float4(float2(1.0f, 2.0f), 3.0f, 4.0f);
  v.xy = v.zw;
  v += float4(0.5f);
  const uint4 u = uint4(v) << uint4(1u);
  const packed_float3 p = v.yzx;
  y[0] = v.x;
  y[1] = v.y;
  y[2] = v[2];
  y[3] = float(u.w);
  y[4] = dot(v.xy, float2(1.0f, 10.0f));
  y[5] = float3(p).z;
  y[6] = any(v > float4(4.0f)) ? 1.0f : 0.0f;
  y[7] = float(half(0.1h)) + float(bfloat4(v).w);
}
