// by: parse
#include <metal_stdlib>
using namespace metal;
kernel void f(device float* y [[buffer(0)]]) {
  const double x = y[0];  // refused: double: double does not exist
  y[0] = float(x);
}
