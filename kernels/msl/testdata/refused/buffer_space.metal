// by: parse
#include <metal_stdlib>
using namespace metal;
kernel void f(float* y [[buffer(0)]]) {  // refused: parameter y is in neither device nor constant memory
  y[0] = 1.0f;
}
