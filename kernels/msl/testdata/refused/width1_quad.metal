// by: host-fast
#include <metal_stdlib>
using namespace metal;
kernel void f(device uint* y [[buffer(0)]]) {
  y[0] = quad_sum(y[0]);  // refused: use of undeclared identifier 'quad_sum'
}
