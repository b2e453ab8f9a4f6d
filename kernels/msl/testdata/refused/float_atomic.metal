// by: parse
#include <metal_stdlib>
using namespace metal;
kernel void f(device atomic_float* y [[buffer(0)]]) {  // refused: atomic_float: float atomics make the order
  atomic_fetch_add_explicit(y, 1.0f, memory_order_relaxed);
}
