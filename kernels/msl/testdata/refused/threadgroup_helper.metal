// by: parse
#include <metal_stdlib>
using namespace metal;
inline float helper(float v) {
  threadgroup float part[32];  // refused: threadgroup variables are declared without initialiser at the outermost
  part[0] = v;
  return part[0];
}
kernel void f(device float* y [[buffer(0)]]) { y[0] = helper(y[0]); }
