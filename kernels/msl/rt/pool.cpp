// pool.cpp: runs a list of ops stage by stage on a few threads. Threads take threadgroups of all ops of a stage from
// one ticket; the caller works too and starts the next stage when the last threadgroup has ended. Waiting spins for
// some microseconds, then sleeps in the kernel: cores may be shared.
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime.h"

enum { max_workers = 64, min_spin = 64, max_spin = 2048 };

// What the threads share. A stage's facts are written before its ticket and stand until its last threadgroup has ended.
static struct {
  pthread_mutex_t lock;  // one list at a time; a mutex of zeros is an unlocked one
  unsigned threads;      // the caller's included
  worker* workers[max_workers];
  pthread_t ids[max_workers];

  const msl_op* list;
  uint32_t length;
  unsigned char* step;
  uint64_t seed;

  const msl_op* ops;  // of the stage
  uint32_t nops, chunk;
  uint32_t* ends;  // running sums of the ops' threadgroups
  uint32_t (*grids)[3];
  uint32_t room;  // elements of ends and grids

  alignas(64) uint64_t ticket;  // stage number << 32 | threadgroups not yet taken
  alignas(64) uint32_t done;    // threadgroups that have ended
  uint32_t caller_sleeps;
  unsigned caller_spin;
  alignas(64) uint32_t sleepers;
  uint32_t stop;
  uint32_t failed;
  char message[512];
} pool;

static uint32_t* stage_word() { return (uint32_t*)&pool.ticket + 1; }

static void futex_wait(uint32_t* word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}
static void futex_wake(uint32_t* word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0); }

void report(const char* format, ...) {
  uint32_t none = 0;
  if (!__atomic_compare_exchange_n(&pool.failed, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
  va_list args;
  va_start(args, format);
  vsnprintf(pool.message, sizeof pool.message, format, args);
  va_end(args);
}

// Threadgroup i of the stage: which op, and where in its grid.
static void run_threadgroup(worker* p, uint32_t i) {
  uint32_t lo = 0, hi = pool.nops - 1;
  while (lo < hi) {  // the first op whose running sum exceeds i
    const uint32_t mid = (lo + hi) / 2;
    if (pool.ends[mid] > i)
      hi = mid;
    else
      lo = mid + 1;
  }
  const msl_op* op = &pool.ops[lo];
  const uint32_t* grid = pool.grids[lo];
  if (lo > 0) i -= pool.ends[lo - 1];
  p->w.args = op->args;
  p->w.fn = (void (*)(msl_fiber*))op->fn;
  memcpy(p->w.grid, grid, sizeof p->w.grid);
  p->w.position[0] = i % grid[0];
  p->w.position[1] = i / grid[0] % grid[1];
  p->w.position[2] = i / grid[0] / grid[1];
  p->w.threads = op->tg[0];
  p->w.simdgroups = op->tg[0] / lanes;
  if (p->shape != p->w.simdgroups) {
    p->shape = p->w.simdgroups;
    prepare(p);
  }
  run_group(p);
}

// Takes threadgroups until the stage has none left.
static void work(worker* p) {
  const uint32_t chunk = __atomic_load_n(&pool.chunk, __ATOMIC_RELAXED);
  uint64_t t = __atomic_load_n(&pool.ticket, __ATOMIC_ACQUIRE);
  while (uint32_t(t) != 0) {
    const uint32_t left = uint32_t(t), take = left < chunk ? left : chunk;
    if (!__atomic_compare_exchange_n(&pool.ticket, &t, t - take, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) continue;
    const uint32_t total = pool.ends[pool.nops - 1];
    for (uint32_t i = total - left; i < total - left + take; i++)
      if (!__atomic_load_n(&pool.failed, __ATOMIC_RELAXED)) run_threadgroup(p, i);
    if (__atomic_add_fetch(&pool.done, take, __ATOMIC_ACQ_REL) == total &&
        __atomic_load_n(&pool.caller_sleeps, __ATOMIC_SEQ_CST))
      futex_wake(&pool.done);
    t = __atomic_load_n(&pool.ticket, __ATOMIC_ACQUIRE);
  }
}

// Spins until the word differs from value; false when the spin was in vain. The limit follows success and failure.
static bool spin(const uint32_t* word, uint32_t value, unsigned* limit) {
  for (unsigned i = 0; i < *limit; i++) {
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value) {
      if (*limit < max_spin) *limit += *limit / 4;
      return true;
    }
    __builtin_ia32_pause();
  }
  if (*limit > min_spin) *limit /= 2;
  return false;
}

static void* thread_main(void* arg) {
  worker* p = (worker*)arg;
  unsigned limit = max_spin;
  uint32_t seen = 0;
  for (;;) {
    while (!spin(stage_word(), seen, &limit)) {
      __atomic_add_fetch(&pool.sleepers, 1, __ATOMIC_SEQ_CST);
      futex_wait(stage_word(), seen);
      __atomic_sub_fetch(&pool.sleepers, 1, __ATOMIC_SEQ_CST);
    }
    seen = __atomic_load_n(stage_word(), __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&pool.stop, __ATOMIC_ACQUIRE)) return nullptr;
    run_on_stack(p, work);
  }
}

static void wait_done(uint32_t total) {
  for (;;) {
    const uint32_t done = __atomic_load_n(&pool.done, __ATOMIC_ACQUIRE);
    if (done == total) return;
    if (spin(&pool.done, done, &pool.caller_spin)) continue;
    __atomic_store_n(&pool.caller_sleeps, 1, __ATOMIC_SEQ_CST);
    // The value slept on is the one that was compared: a second look might see total, whose wake-up has gone by.
    for (uint32_t now; (now = __atomic_load_n(&pool.done, __ATOMIC_SEQ_CST)) != total;) futex_wait(&pool.done, now);
    __atomic_store_n(&pool.caller_sleeps, 0, __ATOMIC_RELAXED);
    return;
  }
}

// Starts a stage of so many threadgroups on the threads that wait for one.
static void publish(uint32_t total) {
  const uint64_t next = (pool.ticket >> 32) + 1;
  __atomic_store_n(&pool.ticket, next << 32 | total, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&pool.sleepers, __ATOMIC_SEQ_CST)) futex_wake(stage_word());
}

// Hands the stage to all threads, works along, and returns when it is done.
static void run_parallel(worker* p, uint32_t total) {
  __atomic_store_n(&pool.done, 0, __ATOMIC_RELAXED);
  const uint32_t chunk = total / (pool.threads * 8);
  __atomic_store_n(&pool.chunk, chunk < 1 ? 1 : chunk > 64 ? 64 : chunk, __ATOMIC_RELAXED);
  publish(total);
  work(p);
  wait_done(total);
}

// A permutation of 0 to n-1: four rounds of a Feistel network over the next power of four, walked until in range.
static uint32_t permute(uint32_t i, uint32_t n, uint64_t key) {
  unsigned half = 1;
  while (half < 16 && (1ul << 2 * half) < n) half++;
  const uint32_t mask = (1u << half) - 1;
  do {
    uint32_t l = i >> half, r = i & mask;
    for (unsigned round = 0; round < 4; round++) {
      uint64_t state = key + (uint64_t(round) << 32) + r;
      const uint32_t t = l ^ (uint32_t(next_random(&state)) & mask);
      l = r;
      r = t;
    }
    i = l << half | r;
  } while (i >= n);
  return i;
}

// One thread runs all threadgroups of the stage's ops in an order that the seed gives.
static void run_shuffled(worker* p, uint32_t total, uint32_t stage) {
  uint64_t key = pool.seed + stage;
  key = next_random(&key);
  for (uint32_t i = 0; i < total && !pool.failed; i++) {
    const uint32_t j = permute(i, total, key);
    p->shuffle = (key ^ j) | 1;
    run_threadgroup(p, j);
  }
  p->shuffle = 0;
}

// Fills in the grids of a stage, with their limits applied, and returns the number of threadgroups.
static uint64_t stage_total() {
  uint64_t total = 0;
  for (uint32_t i = 0; i < pool.nops; i++) {
    const msl_op* op = &pool.ops[i];
    uint32_t* g = pool.grids[i];
    memcpy(g, op->grid, sizeof op->grid);
    for (uint32_t k = 0; k < op->nlimits; k++) {
      const msl_limit* l = &op->limits[k];
      uint32_t live;
      memcpy(&live, pool.step + l->offset, sizeof live);
      const uint32_t most = live / l->div + (live % l->div != 0);
      if (g[l->dim] > most) g[l->dim] = most;
    }
    total += uint64_t(g[0]) * g[1] * g[2];
    pool.ends[i] = uint32_t(total);
    if (total > INT_MAX) return total;
  }
  return total;
}

static void run_list(worker* p) {
  for (uint32_t begin = 0, end; begin < pool.length && !pool.failed; begin = end) {
    for (end = begin + 1; end < pool.length && pool.list[end].stage == pool.list[begin].stage;) end++;
    pool.ops = pool.list + begin;
    pool.nops = end - begin;
    const uint64_t total = stage_total();
    if (total > INT_MAX) {
      report("stage %u: more than %d threadgroups", pool.ops->stage, INT_MAX);
    } else if (pool.seed) {
      run_shuffled(p, total, pool.ops->stage);
    } else if (total == 1 || pool.threads == 1) {
      for (uint32_t i = 0; i < total && !pool.failed; i++) run_threadgroup(p, i);
    } else if (total > 0) {
      run_parallel(p, total);
    }
  }
}

// Refuses what would corrupt memory rather than fail.
static bool check(const msl_op* ops, uint32_t n, const void* step) {
  for (uint32_t i = 0; i < n; i++) {
    const msl_op* op = &ops[i];
    const uint32_t t = op->tg[0];
    if (!op->fn || !op->args)
      report("op %u: no kernel or no arguments", i);
    else if (t == 0 || t > max_simdgroups * lanes || t % lanes || op->tg[1] != 1 || op->tg[2] != 1)
      report("op %u: threadgroup of %u x %u x %u threads", i, t, op->tg[1], op->tg[2]);
    else if (op->nlimits > 2 || op->step_index > 30 || ((op->nlimits || op->step_index >= 0) && !step))
      report("op %u: bad limits or step index", i);
    else if (i > 0 && op->stage < op[-1].stage)
      report("op %u: stage %u comes after stage %u", i, op->stage, op[-1].stage);
    for (uint32_t k = 0; !pool.failed && k < op->nlimits; k++)
      if (op->limits[k].dim > 2 || op->limits[k].div == 0) report("op %u: bad limit", i);
    if (pool.failed) return false;
  }
  return true;
}

static size_t stack_bytes() { return (max_fibers + 1) * MSL_STACK; }

static void free_worker(worker* p) {
  if (!p) return;
  if (p->mapping) munmap(p->mapping, stack_bytes());
  free(p->w.groups);
  free(p->w.frame);
  free(p);
}

static worker* new_worker() {
  worker* p = (worker*)calloc(1, sizeof(worker));
  if (!p) return nullptr;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* m = mmap(nullptr, stack_bytes(), PROT_READ | PROT_WRITE, flags, -1, 0);
  p->mapping = m == MAP_FAILED ? nullptr : m;
  p->w.groups = (msl_simdgroup*)aligned_alloc(64, sizeof(msl_simdgroup) * max_simdgroups);
  p->w.frame = (unsigned char*)aligned_alloc(4096, MSL_FRAME_BYTES);
  if (!p->mapping || !p->w.groups || !p->w.frame) {
    free_worker(p);
    return nullptr;
  }
  memset(p->w.groups, 0, sizeof(msl_simdgroup) * max_simdgroups);
  memset(p->w.frame, 0, MSL_FRAME_BYTES);
  p->stacks = (unsigned char*)(((unsigned long)m + MSL_STACK - 1) & ~(MSL_STACK - 1));
  return p;
}

// Starts a thread that takes no signals: they are the business of the process.
static int start_thread(pthread_t* id, worker* p) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  const int err = pthread_create(id, nullptr, thread_main, p);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  if (!err) pthread_setname_np(*id, "sotto-worker");  // what top and debuggers show
  return err;
}

static int add_thread() {
  worker* p = new_worker();
  const int err = !p ? ENOMEM : pool.threads > 0 ? start_thread(&pool.ids[pool.threads], p) : 0;
  if (err) {
    free_worker(p);
    return err;
  }
  pool.workers[pool.threads++] = p;
  return 0;
}

// Room for the facts of n ops, kept for later lists.
static bool reserve(uint32_t n) {
  if (n <= pool.room) return true;
  free(pool.ends);
  free(pool.grids);
  pool.ends = (uint32_t*)malloc(n * sizeof *pool.ends);
  pool.grids = (uint32_t(*)[3])malloc(n * sizeof *pool.grids);
  pool.room = pool.ends && pool.grids ? n : 0;
  return pool.room > 0;
}

#define MSL_EXPORT __attribute__((visibility("default")))

extern "C" {
MSL_EXPORT extern const unsigned sotto_simd;
const unsigned sotto_simd = lanes;

// Message of the last run that did not return 0.
MSL_EXPORT const char* msl_error() { return pool.message; }

// Prepares for runs on that many threads, the caller's included. Returns 0 or an errno. May be called again for more.
MSL_EXPORT int msl_init(int threads) {
  if (threads < 1 || threads > max_workers) return EINVAL;
  int err = 0;
  pthread_mutex_lock(&pool.lock);
  pool.caller_spin = max_spin;
  while (pool.threads < unsigned(threads) && err == 0) err = add_thread();
  pthread_mutex_unlock(&pool.lock);
  return err;
}

// Ends the threads and frees all memory. The library may then be unloaded, or initialised again.
MSL_EXPORT void msl_exit() {
  pthread_mutex_lock(&pool.lock);
  __atomic_store_n(&pool.stop, 1, __ATOMIC_RELEASE);
  publish(0);
  for (unsigned i = 0; i < pool.threads; i++) {
    if (i > 0) pthread_join(pool.ids[i], nullptr);
    free_worker(pool.workers[i]);
  }
  free(pool.ends);
  free(pool.grids);
  pool.ends = nullptr;
  pool.grids = nullptr;
  pool.threads = pool.room = pool.stop = 0;
  pthread_mutex_unlock(&pool.lock);
}

// Runs the list. Returns 0, EINVAL for a bad list, or EDEADLK when lanes part: msl_error says which and where.
MSL_EXPORT int msl_run(msl_op* ops, uint32_t n, void* step, uint64_t seed) {
  pthread_mutex_lock(&pool.lock);
  int err = EINVAL;
  pool.failed = 0;
  if (pool.threads == 0)
    report("msl_init was not called");
  else if (!reserve(n))
    report("no memory for %u ops", n);
  else if (check(ops, n, step)) {
    for (uint32_t i = 0; i < n; i++)
      if (ops[i].step_index >= 0) ops[i].args->buf[ops[i].step_index] = step;
    pool.list = ops;
    pool.length = n;
    pool.step = (unsigned char*)step;
    pool.seed = seed;
    run_on_stack(pool.workers[0], run_list);
    err = pool.failed ? EDEADLK : 0;
  }
  pthread_mutex_unlock(&pool.lock);
  return err;
}
}
