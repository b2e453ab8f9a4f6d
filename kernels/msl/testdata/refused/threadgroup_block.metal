// by: parse
#include <metal_stdlib>
using namespace metal;
kernel void f(device float* y [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
  if (y[0] > 0.0f) {
    threadgroup float part[32];  // refused: threadgroup variables are declared without initialiser at the outermost
    part[lane] = y[lane];
    y[lane] = part[0];
  }
}
