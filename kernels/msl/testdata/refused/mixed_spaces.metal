// by: strict
#include <metal_stdlib>
using namespace metal;
inline float first(threadgroup const float* p) { return p[0]; }
kernel void f(device float* y [[buffer(0)]]) {
  y[0] = first(y);  // refused: no matching function for call to 'first'
}
