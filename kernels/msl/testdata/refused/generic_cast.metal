// by: strict
#include <metal_stdlib>
using namespace metal;
kernel void f(device float* y [[buffer(0)]]) {
  y[0] = float(((uint*)y)[1]);  // refused: pointer or reference without an address space: uint *
}
