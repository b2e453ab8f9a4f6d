// by: parse
#include <metal_stdlib>
using namespace metal;
kernel void f(device float* y [[buffer(0)]],
              uint q [[quadgroup_index_in_threadgroup]]) {  // refused: attribute quadgroup_index_in_threadgroup is not in
  y[q] = 1.0f;
}
