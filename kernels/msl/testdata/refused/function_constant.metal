// by: parse
#include <metal_stdlib>
using namespace metal;
constant bool residual [[function_constant(0)]];  // refused: function_constant: function constants are not
kernel void f(device float* y [[buffer(0)]]) { y[0] = residual ? 1.0f : 0.0f; }
