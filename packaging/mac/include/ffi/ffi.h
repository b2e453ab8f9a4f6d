// The part of libffi's interface that darwinkit uses, as the libffi of macOS has it on arm64 and x86_64. Written for Sotto.
#pragma once
#include <stddef.h>
typedef unsigned long ffi_arg;
#if defined(__arm64__)
typedef enum { FFI_FIRST_ABI = 0, FFI_SYSV = 1, FFI_DEFAULT_ABI = FFI_SYSV } ffi_abi;
#elif defined(__x86_64__)
typedef enum { FFI_FIRST_ABI = 1, FFI_UNIX64 = 2, FFI_DEFAULT_ABI = FFI_UNIX64 } ffi_abi;
#endif
typedef enum { FFI_OK = 0, FFI_BAD_TYPEDEF, FFI_BAD_ABI, FFI_BAD_ARGTYPE } ffi_status;
#define FFI_TYPE_STRUCT 13
typedef struct _ffi_type {
  size_t size;
  unsigned short alignment, type;
  struct _ffi_type **elements;
} ffi_type;
extern ffi_type ffi_type_void, ffi_type_uint8, ffi_type_sint8, ffi_type_uint16, ffi_type_sint16,
    ffi_type_uint32, ffi_type_sint32, ffi_type_uint64, ffi_type_sint64, ffi_type_float,
    ffi_type_double, ffi_type_pointer;
typedef struct {
  ffi_abi abi;
  unsigned nargs;
  ffi_type **arg_types;
  ffi_type *rtype;
  unsigned bytes, flags;
#if defined(__arm64__)
  unsigned aarch64_nfixedargs;
#endif
} ffi_cif;
typedef struct {
#if defined(__arm64__)
  void *trampoline_table, *trampoline_table_entry;
#else
  char tramp[32];
#endif
  ffi_cif *cif;
  void (*fun)(ffi_cif *, void *, void **, void *);
  void *user_data;
} ffi_closure __attribute__((aligned(8)));
ffi_status ffi_prep_cif(ffi_cif *, ffi_abi, unsigned nargs, ffi_type *rtype, ffi_type **atypes);
void ffi_call(ffi_cif *, void (*fn)(void), void *rvalue, void **avalue);
void *ffi_closure_alloc(size_t, void **code);
void ffi_closure_free(void *);
ffi_status ffi_prep_closure_loc(ffi_closure *, ffi_cif *, void (*fun)(ffi_cif *, void *, void **, void *),
                                void *user_data, void *codeloc);
