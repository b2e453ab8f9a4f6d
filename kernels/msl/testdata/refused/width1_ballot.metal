// by: host-fast
#include <metal_stdlib>
using namespace metal;
kernel void f(device uint* y [[buffer(0)]]) {
  y[0] = uint(static_cast<simd_vote::vote_t>(simd_ballot(y[0] > 0)));  // refused: use of undeclared identifier 'simd_ballot'
}
