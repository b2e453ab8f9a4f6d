// by: parse
#include <metal_stdlib>
using namespace metal;
kernel void f(device float* y [[buffer(0)]]) {
  static int n = 0;  // refused: static: variables with static storage
  y[0] = float(n++);
}
