// msl.h: the part of Metal Shading Language 3.1 that the kernels use, for clang on x86-64, NVPTX and, to check address
// spaces, C++ for OpenCL. It is included in front of every unit that the generator writes: attributes are gone there,
// a kernel has a context parameter, its threadgroup variables are members of one frame (MSL_FRAME).
//
//   MSL_WIDTH   lanes a simdgroup: 32, or 1 in the fast host build
//   MSL_PTX     compiling for NVIDIA;  MSL_STRICT  address-space check;  neither: host
//   MSL_CHECK   host: lanes that wait at different places are an error
#pragma once

#if defined(__CUDA__)
#define MSL_PTX 1
#pragma clang force_cuda_host_device begin
#endif
#ifndef MSL_WIDTH
#define MSL_WIDTH 32
#endif
#define MSL_FN __attribute__((always_inline)) inline
#define METAL_FUNC MSL_FN

// Address spaces and other words of MSL.
#ifdef MSL_STRICT
#undef device
#define device __global
#define constant __constant
#define threadgroup __local
#define thread __private
#define MSL_CONSTANT __constant
#define kernel
#else
#define device
#define constant const
#define threadgroup
#define thread
#ifdef MSL_PTX
#define MSL_CONSTANT __attribute__((constant)) const
#else
#define MSL_CONSTANT static const
#endif
#define kernel static MSL_FN
#endif

// Each uses what stands before it.
// clang-format off
#include "msl_types.h"
#include "msl_vec.h"
#include "msl_limits.h"
#include "msl_libm.h"
#include "msl_math.h"
#include "msl_integer.h"
#include "msl_atomic.h"
// clang-format on
#if defined(MSL_STRICT)
#include "msl_strict.h"
#elif defined(MSL_PTX)
#include "msl_ptx.h"
#else
#include "msl_host.h"
#endif
#include "msl_simd.h"
#ifndef MSL_STRICT
#include "msl_entry.h"
#endif
