// by: parse
#include <metal_stdlib>
using namespace metal;
kernel void f(device float* y [[buffer(0)]]) {
  const auto g = [](float x) { return 2.0f * x; };  // refused: lambda expressions are not in MSL 3.1
  y[0] = g(y[0]);
}
