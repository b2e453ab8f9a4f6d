// by: parse
#include <metal_stdlib>
using namespace metal;
kernel void f(device float* y [[buffer(0)]]) {
  asm("");  // refused: asm: inline assembly
  y[0] = 1.0f;
}
