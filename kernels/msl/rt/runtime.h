// runtime.h: the run-time of the host libraries, shared by its parts.
//   pool.cpp   the list of ops, its stages, the worker threads
//   exact.cpp  a threadgroup as 32 fibers a simdgroup, with checks
//   fast.cpp   a threadgroup as plain calls, with fibers only where simdgroups wait for each other
#pragma once
#include <stdint.h>

#define MSL_FN __attribute__((always_inline)) inline
#include "../shim/msl_fiber.h"

struct msl_limit {
  uint32_t dim, offset, div, pad;
};
struct msl_op {
  void* fn;
  msl_args* args;
  void* pad0;
  uint32_t grid[3], tg[3];
  uint32_t stage, nlimits;
  msl_limit limits[2];
  int32_t step_index;
  uint32_t pad1;
};
static_assert(sizeof(msl_op) == 96 && sizeof(msl_args) == 376, "the layout is shared with the host driver");

enum { max_threads = 1024, max_simdgroups = 32, lanes = MSL_WIDTH, max_fibers = max_simdgroups * lanes };

// A worker thread's state. msl_worker comes first: fibers point to it.
struct worker {
  msl_worker w;
  void* mapping;  // of the stacks, not yet aligned
  unsigned char* stacks;
  void* main_sp;                        // where the worker goes on when a threadgroup has ended
  uint64_t shuffle;                     // state of the generator of orders; 0: natural order
  unsigned shape;                       // simdgroups for which the fibers are prepared; 0: none
  unsigned char order[max_simdgroups];  // of simdgroups in this interval between barriers
  unsigned cursor;                      // in order
  unsigned fresh;                       // fast: stacks in use
  unsigned nready, nwaiting;            // fast: fibers to resume in this interval, and in the next
  msl_fiber *ready[max_simdgroups], *waiting[max_simdgroups];
};

MSL_FN msl_fiber* fiber(worker* p, unsigned i) { return msl_control((unsigned long)p->stacks + i * MSL_STACK); }

// Next value of a splitmix64 generator.
MSL_FN uint64_t next_random(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15ul);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ul;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebul;
  return z ^ (z >> 31);
}

// Fisher-Yates, when the run is shuffled.
template <class T>
MSL_FN void shuffle(worker* p, T* v, unsigned n) {
  if (p->shuffle == 0) return;
  for (unsigned i = n; i > 1; i--) {
    const unsigned j = next_random(&p->shuffle) % i;
    const T t = v[i - 1];
    v[i - 1] = v[j];
    v[j] = t;
  }
}

// exact.cpp or fast.cpp
void prepare(worker* p);                              // after w.simdgroups has changed
void run_group(worker* p);                            // one threadgroup at w.position
void run_on_stack(worker* p, void (*body)(worker*));  // body may call run_group

// pool.cpp: keeps the first message of a run.
void report(const char* format, ...) __attribute__((format(printf, 1, 2)));
