// by: parse
#include <metal_stdlib>
using namespace metal;
template <typename T>
kernel void f(device T* y [[buffer(0)]]) { y[0] = T(1); }
template [[host_name("f_float")]] kernel void f<float>(device float*);
template [[host_name("f_f32")]] kernel void f<float>(device float*);  // refused: f<float> is instantiated at
