// by: parse
#include <metal_stdlib>
using namespace metal;
kernel void f(device float* y [[buffer(0)]],
              uint lane) {  // refused: parameter lane has no attribute
  y[lane] = 1.0f;
}
