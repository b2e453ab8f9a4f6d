// by: parse
#include <metal_stdlib>
using namespace metal;
template <typename T>
kernel void f(device T* y [[buffer(0)]]) { y[0] = T(1); }
template kernel void f<float>(device float*);  // refused: a kernel is instantiated without host_name
template [[host_name("f_uint")]] kernel void f<uint>(device uint*);
