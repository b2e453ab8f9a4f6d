# 1 "kernels/sample.metal"
using namespace metal;

struct Params {
  uint n;
  float scale;
};

constant constexpr uint WIDTH = 4;
constant float table[3] = {1.0f, 2.0f, 4.0f};
enum Kind { first, second_kind };

namespace inner {
struct Pair {
  float a, b;
  float sum() const thread { return a + b; }
  thread Pair& operator=(thread const Pair& o) thread {
    a = o.a;
    return *this;
  }
  bool operator<(Pair o) const { return a < o.a; }
};
}

inline float head(device const float* p) { return p[0]; }
inline float head(threadgroup const float* p) { return p[0]; }
template <uint N, bool B = (N < 4)>
inline float head_of(thread const float (&v)[N]) {
  return B ? v[0] : v[N - 1];
}

kernel void plain(constant Params& p [[buffer(0)]], device const float* x [[buffer(1)]], device float* y [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
  if (i < p.n) y[i] = x[i] * float(1.5h) + table[i % 3] * float(0.5bf);
}

[[host_name("named_" "entry")]] [[max_total_threads_per_threadgroup(256)]]
kernel void second(device uint* y [[buffer(0)]], uint3 g [[threadgroup_position_in_grid]]) {
  y[g.x] = g.y;
}

template <typename T, int V = 4>
[[kernel]] void scale(constant Params& p [[buffer(0)]], device const T* x [[buffer(1)]], device T* y [[buffer(2)]],
                      uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]]) {
  constexpr uint N = V * WIDTH;
  threadgroup float part[32], rest[N][2];
  alignas(16) threadgroup T tile[N];
  threadgroup float* all = part;
  for (uint i = lane; i < N; i += 32) {
    tile[i] = x[i];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma clang loop unroll(full)
  for (uint i = 0; i < N; i++) rest[i][0] = float(tile[i]);
  all[sg] = p.scale;
  y[lane] = T(rest[lane % N][0] * all[0]);
}
template [[host_name("scale_bf16")]] kernel void scale<bfloat, 4>(constant Params&, device const bfloat*, device bfloat*,
                                                                  uint, uint);
template [[host_name("scale_f32")]] kernel void scale<float, 8 / 2>(constant Params&, device const float*, device float*,
                                                                    uint, uint);
