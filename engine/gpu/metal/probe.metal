// A product of two small matrices by tensor operations, which shows whether this system and this GPU have them.
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

// probe_tensor: c[m][n] = sum over k of a[m][k] * b[k][n], for 64 x 64 times 64 x 32.
//
//   0 unused
//   1 a  bf16 [64][64]
//   2 b  bf16 [64][32]
//   3 c  f32  [64][32]  out
//
// Geometry: one threadgroup of 4 simdgroups.
// Numerics: a and b hold small whole numbers, so the result is exact.
[[host_name("probe_tensor")]] kernel void probe_tensor(device bfloat* a [[buffer(1)]], device bfloat* b [[buffer(2)]],
                                                       device float* c [[buffer(3)]]) {
  // Extents of a tensor go from the innermost to the outermost.
  auto left = tensor<device bfloat, dextents<int32_t, 2>, tensor_inline>(a, dextents<int32_t, 2>(64, 64));
  auto right = tensor<device bfloat, dextents<int32_t, 2>, tensor_inline>(b, dextents<int32_t, 2>(32, 64));
  auto product = tensor<device float, dextents<int32_t, 2>, tensor_inline>(c, dextents<int32_t, 2>(32, 64));
  constexpr auto shape = matmul2d_descriptor(64, 32, 64, false, false, false);
  matmul2d<shape, execution_simdgroups<4>> multiply;
  multiply.run(left, right, product);
}
