// by: parse
#include <metal_stdlib>
using namespace metal;
kernel void f(device float* y [[buffer(31)]]) {  // refused: buffer index is not in 0 to 30
  y[0] = 1.0f;
}
