// Kernels that show which threadgroups ran and when, for the tests of package msl.
#include <metal_stdlib>
using namespace metal;

// Adds step[0] to the counter of this threadgroup.
kernel void visit(device atomic_uint* y [[buffer(0)]], device const uint* step [[buffer(1)]],
                  uint3 g [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  if (lane == 0) atomic_fetch_add_explicit(y + g.x + 16 * g.y, step[0], memory_order_relaxed);
}

// y[g] = x[g + 1 mod n] + 1: right only when all of x is written.
kernel void chain(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]], constant uint& n [[buffer(2)]],
                  uint g [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  if (lane == 0) y[g] = x[(g + 1) % n] + 1;
}

// Nothing but its dispatch.
kernel void nothing(device uint* y [[buffer(0)]]) {}

// y = a * b + c, as written.
kernel void product_sum(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                        device const float* c [[buffer(2)]], device float* y [[buffer(3)]],
                        uint i [[thread_position_in_grid]]) {
  y[i] = a[i] * b[i] + c[i] / sqrt(b[i]);
}
