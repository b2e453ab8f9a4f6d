// by: strict
#include <metal_stdlib>
using namespace metal;
inline float first(const float* p) { return p[0]; }  // refused: pointer or reference without an address space: const float *
kernel void f(device float* y [[buffer(0)]]) { y[0] = first(y); }
