// by: host-fast
#include <metal_stdlib>
using namespace metal;
kernel void f(device uint* y [[buffer(0)]]) {
  y[0] = simd_broadcast(y[0], 3);  // refused: use of undeclared identifier 'simd_broadcast'
}
