// Package msl is the tool chain that takes the Metal kernels to machines that are no Macs. Clang preprocesses a .metal
// source, this package parses it, refuses what is outside the subset of MSL that every target can take, and writes C++
// that clang compiles with the headers in shim/:
//
//   - a host library for x86-64, with the run-time in rt/: exact (32 lanes a simdgroup as fibers, lanes that part are
//     an error, memory that nothing has written is NaN) or fast (one lane a simdgroup, vector code);
//   - PTX for NVIDIA GPUs, a simdgroup being a warp;
//   - a strict check as C++ for OpenCL, which has real address spaces and neither double nor function pointers.
//
// Arithmetic is as written on each of them: nothing contracts, re-associates or flushes denormals. Objects are cached
// by the content of all they are made of. The package knows nothing of the catalogue; its tests hold the two together.
// The simdgroup and tensor matrix functions of Metal are not emulated.
package msl
