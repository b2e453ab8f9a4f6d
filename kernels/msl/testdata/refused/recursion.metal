// by: strict
#include <metal_stdlib>
using namespace metal;
inline uint odd(uint n);
inline uint even(uint n) { return n == 0 ? 1u : odd(n - 1); }  // refused: recursion: even calls itself
inline uint odd(uint n) { return n == 0 ? 0u : even(n - 1); }
kernel void f(device uint* y [[buffer(0)]]) { y[0] = even(y[0]); }
