// by: parse
#include <metal_stdlib>
using namespace metal;
kernel void f(device float* y [[buffer(0)]]) {
again:
  y[0] += 1.0f;
  if (y[0] < 4.0f) goto again;  // refused: goto: goto is not in MSL
}
