// by: host-fast
#include <metal_stdlib>
using namespace metal;
kernel void f(device uint* y [[buffer(0)]]) {
  y[0] = min(y[0], 1);  // refused: no matching function for call to 'min'
}
