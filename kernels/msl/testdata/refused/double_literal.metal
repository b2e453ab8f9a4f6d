// by: parse
#include <metal_stdlib>
using namespace metal;
kernel void f(device float* y [[buffer(0)]]) {
  y[0] = y[0] * 0.1;  // refused: 0.1: a floating literal without f
}
