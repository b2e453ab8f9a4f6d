// msl_libm.h: msl_exp and its like on floats. The host takes the C library's; PTX has no library here, so its functions
// are built from correctly rounded steps and the approximate units, without flushing denormals. Errors are a few units
// in the last place over the ranges that kernels use; drivers agree by tolerance, never bit for bit.
#pragma once
namespace metal {
#ifdef MSL_PTX
MSL_FN float msl_sqrt(float x) { return __nvvm_sqrt_rn_f(x); }
MSL_FN float msl_rsqrt(float x) { return __nvvm_div_rn_f(1.0f, __nvvm_sqrt_rn_f(x)); }
MSL_FN float msl_exp2(float x) { return __nvvm_ex2_approx_f(x); }
MSL_FN float msl_exp(float x) {  // 2^n * e^r, |r| <= ln 2 / 2
  const float n = __builtin_rintf(__nvvm_fmax_f(__nvvm_fmin_f(x, 128.0f), -128.0f) * 1.44269504f);
  const float r = __builtin_fmaf(n, -1.42860677e-6f, __builtin_fmaf(n, -0.693145752f, x));
  const float half_n = __builtin_truncf(n * 0.5f);  // two factors: 2^n itself may be denormal or infinite
  return __nvvm_ex2_approx_f(r * 1.44269504f) * __nvvm_ex2_approx_f(half_n) * __nvvm_ex2_approx_f(n - half_n);
}
MSL_FN float msl_log2(float x) { return __nvvm_lg2_approx_f(x); }
MSL_FN float msl_log(float x) { return __nvvm_lg2_approx_f(x) * 0.693147181f; }
MSL_FN float msl_pow(float x, float y) { return msl_exp2(y * msl_log2(x)); }
MSL_FN float msl_tanh(float x) {
  const float e = msl_exp(-2.0f * __builtin_fabsf(x));
  return __builtin_copysignf((1.0f - e) / (1.0f + e), x);
}
// sin (shift 0) or cos (shift 1): reduction by pi/2 in three steps, then minimax polynomials on [-pi/4, pi/4]
MSL_FN float msl_sincos(float x, int shift) {
  const float q = __builtin_rintf(x * 0.636619772f);
  float r = __builtin_fmaf(q, -1.57079625f, x);
  r = __builtin_fmaf(q, -7.54978942e-08f, r);
  r = __builtin_fmaf(q, -5.39030253e-15f, r);
  const float s = r * r;
  const float p = __builtin_fmaf(__builtin_fmaf(-1.9515296e-4f, s, 8.3321609e-3f), s, -1.6666655e-1f);
  const float c = __builtin_fmaf(__builtin_fmaf(2.4433157e-5f, s, -1.3887316e-3f), s, 4.1666646e-2f);
  const int i = int(q) + shift;
  const float v = (i & 1) ? __builtin_fmaf(s * s, c, __builtin_fmaf(s, -0.5f, 1.0f)) : __builtin_fmaf(s * r, p, r);
  return (i & 2) ? -v : v;
}
MSL_FN float msl_sin(float x) { return msl_sincos(x, 0); }
MSL_FN float msl_cos(float x) { return msl_sincos(x, 1); }
MSL_FN float msl_fmod(float x, float y) { return __builtin_fmaf(-y, __builtin_truncf(x / y), x); }
#else
MSL_FN float msl_sqrt(float x) { return __builtin_sqrtf(x); }
MSL_FN float msl_rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
MSL_FN float msl_exp2(float x) { return __builtin_exp2f(x); }
MSL_FN float msl_exp(float x) { return __builtin_expf(x); }
MSL_FN float msl_log2(float x) { return __builtin_log2f(x); }
MSL_FN float msl_log(float x) { return __builtin_logf(x); }
MSL_FN float msl_pow(float x, float y) { return __builtin_powf(x, y); }
MSL_FN float msl_tanh(float x) { return __builtin_tanhf(x); }
MSL_FN float msl_sin(float x) { return __builtin_sinf(x); }
MSL_FN float msl_cos(float x) { return __builtin_cosf(x); }
MSL_FN float msl_fmod(float x, float y) { return __builtin_fmodf(x, y); }
#endif
}  // namespace metal
