// Kernels with faults that the exact host build is to find, for the tests of package msl.
#include <metal_stdlib>
using namespace metal;

// Reads a neighbour's value without a barrier in between.
kernel void race_simdgroups(device uint* y [[buffer(0)]], uint t [[thread_index_in_threadgroup]],
                            uint threads [[threads_per_threadgroup]]) {
  threadgroup uint s[1024];
  s[t] = 0;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  s[t] = t;  // a barrier is missing behind this line
  y[t] = s[(t + threads / 2) % threads];
}

// Reads another lane's value without a simdgroup_barrier in between.
kernel void race_lanes(device uint* y [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
  threadgroup uint s[32];
  s[lane] = 0;
  simdgroup_barrier(mem_flags::mem_threadgroup);
  s[lane] = lane;
  y[lane] = s[(lane + 16) % 32];
}

// Threadgroup i uses what threadgroup i-1 of the same dispatch writes.
kernel void race_threadgroups(device uint* y [[buffer(0)]], uint g [[threadgroup_position_in_grid]],
                              uint lane [[thread_index_in_simdgroup]]) {
  if (lane == 0) y[g] = g == 0 ? 1u : y[g - 1] + 1u;
}

// y = x + 1: two of them in one stage, one reading what the other writes, are a race of ops.
kernel void increment(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]],
                      uint g [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  if (lane == 0) y[g] = x[g] + 1u;
}

kernel void parted_lanes(device float* y [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
  if (lane < 16) y[lane] = simd_sum(1.0f);  // here
}

kernel void parted_sites(device float* y [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
  if (lane < 16) {
    y[lane] = simd_sum(1.0f);  // here
  } else {
    y[lane] = simd_max(1.0f);
  }
}

kernel void parted_simdgroups(device float* y [[buffer(0)]], uint sg [[simdgroup_index_in_threadgroup]]) {
  y[sg] = 1.0f;
  if (sg == 0) threadgroup_barrier(mem_flags::mem_threadgroup);  // here
}

// Reads threadgroup memory and a local variable that nothing has written.
kernel void uninitialised(device float* y [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
  threadgroup float s[32];
  float v;
  if (lane == 40) {
    s[0] = 1.0f;
    v = 1.0f;
  }
  y[2 * lane] = s[lane];
  y[2 * lane + 1] = v;
}

// Fine, however often the simdgroups meet: y gets the number of meetings.
kernel void meetings(device uint* y [[buffer(0)]], constant uint& n [[buffer(1)]],
                     uint sg [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
                     uint nsg [[simdgroups_per_threadgroup]]) {
  threadgroup uint count[32];
  if (lane == 0) count[sg] = 0;
  for (uint i = 0; i < n; i++) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint other = count[(sg + 1) % nsg];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0) count[sg] = other + 1;
  }
  if (lane == 0) y[sg] = count[sg];
}
