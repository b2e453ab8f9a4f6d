// by: parse
#include <metal_stdlib>
using namespace metal;
kernel void f(device float* y [[buffer(0)]]) {
  y[0] = __builtin_sqrtf(y[0]);  // refused: __builtin_sqrtf: compiler built-ins
}
