// by: strict
#include <metal_stdlib>
using namespace metal;
inline float twice(float x) { return 2.0f * x; }
kernel void f(device float* y [[buffer(0)]]) {
  float (*g)(float) = twice;  // refused: pointers to functions are not allowed
  y[0] = g(y[0]);
}
