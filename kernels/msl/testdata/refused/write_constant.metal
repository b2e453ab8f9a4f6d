// by: strict
#include <metal_stdlib>
using namespace metal;
kernel void f(constant float* y [[buffer(0)]]) {
  y[0] = 1.0f;  // refused: read-only variable is not assignable
}
