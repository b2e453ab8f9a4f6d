// by: parse
#include <metal_stdlib>
using namespace metal;
kernel void f(device float* y [[buffer(0)]],
              device float* z [[buffer(0)]]) {  // refused: buffer 0 is both y and z
  y[0] = z[0];
}
