// by: host-fast
#include <metal_stdlib>
using namespace metal;
kernel void f(device float* y [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {  // refused: more than 32 KiB of threadgroup memory
  threadgroup float part[8193];
  part[lane] = y[lane];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[lane] = part[0];
}
