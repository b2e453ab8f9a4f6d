// philox.h: counter-based random numbers, and the Gumbel noise that draws tokens.
#pragma once
#include <metal_stdlib>
using namespace metal;

// Philox4x32-10: ten rounds of counter c under key k. The same four words on every device.
// Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011).
inline uint4 philox(uint4 c, uint2 k) {
  for (uint round = 0; round < 10; round++) {
    const uint h0 = mulhi(0xd2511f53u, c.x), l0 = 0xd2511f53u * c.x;
    const uint h1 = mulhi(0xcd9e8d57u, c.z), l1 = 0xcd9e8d57u * c.z;
    c = uint4(h1 ^ c.y ^ k.x, l1, h0 ^ c.w ^ k.y, l0);
    k += uint2(0x9e3779b9u, 0xbb67ae85u);
  }
  return c;
}

// log(1 + x) for x in [sqrt(1/2) - 1, sqrt(2) - 1], to about 1 unit in the last place (S. Moshier, Cephes, logf).
inline float log_near_1(float x) {
  float p = 7.0376836292e-2f;
  p = fma(p, x, -1.1514610310e-1f);
  p = fma(p, x, 1.1676998740e-1f);
  p = fma(p, x, -1.2420140846e-1f);
  p = fma(p, x, 1.4249322787e-1f);
  p = fma(p, x, -1.6668057665e-1f);
  p = fma(p, x, 2.0000714765e-1f);
  p = fma(p, x, -2.4999993993e-1f);
  p = fma(p, x, 3.3333331174e-1f);
  const float z = x * x;
  return x + fma(p * x, z, -0.5f * z);
}

// log(x) for positive normal x, to about 1 unit in the last place.
inline float vlog(float x) {
  const uint b = as_type<uint>(x) - 0x3f3504f3u;  // exponent steps at sqrt(1/2)
  const float e = float(int(b) >> 23);
  const float m = as_type<float>((b & 0x7fffffu) + 0x3f3504f3u);
  return fma(e, 0.693359375f, fma(e, -2.12194440e-4f, log_near_1(m - 1.0f)));
}

// Gumbel noise from 32 random bits: -log(-log(1 - v)), v = (bits + 1/2) / 2^32. Small v, which makes the largest
// noise, keeps all its bits: where 1 - v is near 1, log(1 - v) is taken from v itself.
inline float gumbel(uint bits) {
  const float v = min(fma(float(bits), 2.3283064e-10f, 1.1641532e-10f), 0.99999994f);
  const float e = v < 0.25f ? log_near_1(-v) : vlog(1.0f - v);
  return -vlog(-e);
}
