// by: preprocess
#include <metal_stdlib>
#include <cmath>  // refused: 'cmath' file not found
using namespace metal;
kernel void f(device float* y [[buffer(0)]]) { y[0] = 1.0f; }
