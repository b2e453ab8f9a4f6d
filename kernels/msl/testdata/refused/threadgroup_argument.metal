// by: parse
#include <metal_stdlib>
using namespace metal;
kernel void f(device float* y [[buffer(0)]],
              threadgroup float* t [[threadgroup(0)]]) {  // refused: parameter t: threadgroup memory is declared in the
  y[0] = t[0];
}
