// by: parse
#include <metal_stdlib>
using namespace metal;
template <typename T>
kernel void f(device T* y [[buffer(0)]]) {  // refused: kernel f is never instantiated
  y[0] = T(1);
}
