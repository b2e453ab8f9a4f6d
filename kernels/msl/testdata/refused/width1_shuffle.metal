// by: host-fast
#include <metal_stdlib>
using namespace metal;
kernel void f(device uint* y [[buffer(0)]]) {
  y[0] = simd_shuffle_xor(y[0], 1);  // refused: use of undeclared identifier 'simd_shuffle_xor'
}
