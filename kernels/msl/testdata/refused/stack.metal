// by: host-fast
#include <metal_stdlib>
using namespace metal;
kernel void f(device float* y [[buffer(0)]], constant uint& n [[buffer(1)]]) {  // refused: stack frame size
  float v[12000];
  for (uint i = 0; i < n; i++) v[i] = y[i * i];
  for (uint i = 0; i < n; i++) y[i] = v[(i * 7) % n];
}
