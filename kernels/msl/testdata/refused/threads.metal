// by: parse
#include <metal_stdlib>
using namespace metal;
[[max_total_threads_per_threadgroup(2048)]]  // refused: a threadgroup has 1 to 1024 threads
kernel void f(device float* y [[buffer(0)]]) {
  y[0] = 1.0f;
}
