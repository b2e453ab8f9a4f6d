// exact.cpp: a lane is a fiber. The lanes of a simdgroup run one after the other up to the next simd operation or
// barrier; simdgroups run one after the other up to the next barrier. When shuffled, lanes have a new order in each
// threadgroup and simdgroups in each interval between barriers.
#include <string.h>

#include "runtime.h"

extern "C" void msl_lane_start();
extern "C" __attribute__((noreturn, used, visibility("hidden"))) void msl_lane_main(msl_fiber* f);
asm(".text\n.hidden msl_lane_start\nmsl_lane_start:\n\tpopq %rdi\n\tcall msl_lane_main\n");

// Gives the running threadgroup up: its fibers are left where they are.
static __attribute__((noreturn)) void give_up(worker* p) {
  void* nowhere;
  msl_switch(&nowhere, p->main_sp);
  __builtin_unreachable();
}

static const char* waits_for(const msl_fiber* f) {
  if (f->waits == MSL_ENDED) return "has ended";
  return f->waits == MSL_AT_BARRIER ? "waits at a barrier" : "is in a simd operation";
}

static bool together(const msl_fiber* f, const msl_fiber* g) {
  return f->waits == g->waits && (f->line == g->line || f->waits == MSL_ENDED);
}

// All lanes of a simdgroup must wait for the same thing at the same place.
static void check_lanes(worker* p, const msl_fiber* last) {
  for (const msl_fiber* f = last->group->first; f != last; f = f->next) {
    if (together(f, last)) continue;
    const msl_fiber* at = f->waits == MSL_ENDED ? last : f;
    report("%s:%u: lanes of simdgroup %u part: lane %u %s, lane %u %s (line %u)", at->file, at->line, f->simdgroup,
           f->lane, waits_for(f), last->lane, waits_for(last), last->line);
    give_up(p);
  }
}

// All simdgroups of a threadgroup must wait at the same barrier. Returns false when all have ended.
static bool check_groups(worker* p) {
  const msl_fiber* one = p->w.groups[0].first;
  for (unsigned i = 1; i < p->w.simdgroups; i++) {
    const msl_fiber* f = p->w.groups[i].first;
    if (together(f, one)) continue;
    const msl_fiber* at = f->waits == MSL_ENDED ? one : f;
    report("%s:%u: simdgroups of a threadgroup part: simdgroup 0 %s, simdgroup %u %s (line %u)", at->file, at->line,
           waits_for(one), i, waits_for(f), f->line);
    give_up(p);
  }
  return one->waits != MSL_ENDED;
}

// Where to go on when the simdgroup at the cursor waits at a barrier or has ended.
static void* next_group(worker* p) {
  if (++p->cursor == p->w.simdgroups) {
    if (!check_groups(p)) return p->main_sp;
    shuffle(p, p->order, p->w.simdgroups);
    p->cursor = 0;
  }
  return p->w.groups[p->order[p->cursor]].first->sp;
}

extern "C" void msl_wait(msl_fiber* f) {
  worker* p = (worker*)f->worker;
  check_lanes(p, f);
  if (f->waits == MSL_AT_SIMD) {
    msl_switch(&f->sp, f->group->first->sp);
    return;
  }
  msl_switch(&f->sp, next_group(p));
}

extern "C" void msl_lane_main(msl_fiber* f) {
  f->worker->fn(f);
  worker* p = (worker*)f->worker;
  f->waits = MSL_ENDED;
  void* nowhere;
  if (f->next) msl_switch(&nowhere, f->next->sp);
  check_lanes(p, f);
  msl_switch(&nowhere, next_group(p));
  __builtin_unreachable();
}

// Chains the lanes of a simdgroup in the order in which they run, which is that of their numbers unless shuffled.
static void chain(worker* p, unsigned group) {
  unsigned char order[lanes];
  for (unsigned i = 0; i < lanes; i++) order[i] = i;
  shuffle(p, order, lanes);
  msl_fiber* next = nullptr;
  for (unsigned i = lanes; i-- > 0;) {
    msl_fiber* f = fiber(p, group * lanes + order[i]);
    f->next = next;
    next = f;
  }
  p->w.groups[group].first = next;
}

void prepare(worker* p) {
  for (unsigned i = 0; i < p->w.simdgroups * lanes; i++) {
    msl_fiber* f = fiber(p, i);
    f->worker = &p->w;
    f->lane = i % lanes;
    f->simdgroup = i / lanes;
    f->group = &p->w.groups[f->simdgroup];
  }
  if (p->shuffle) return;  // run_group chains the lanes
  for (unsigned i = 0; i < p->w.simdgroups; i++) chain(p, i);
}

void run_group(worker* p) {
  if (p->shuffle) {
    for (unsigned i = 0; i < p->w.simdgroups; i++) chain(p, i);
    p->shape = 0;  // the next threadgroup is prepared anew
  }
  memset(p->w.frame, 0xff, MSL_FRAME_BYTES);  // what a kernel reads before it writes is NaN
  for (unsigned i = 0; i < p->w.simdgroups * lanes; i++) {
    msl_fiber* f = fiber(p, i);
    void** sp = (void**)((unsigned long)f & ~63ul);
    sp[-1] = f;
    sp[-2] = (void*)msl_lane_start;
    f->sp = sp - 2;
    f->half = 0;
  }
  for (unsigned i = 0; i < p->w.simdgroups; i++) p->order[i] = i;
  shuffle(p, p->order, p->w.simdgroups);
  p->cursor = 0;
  msl_switch(&p->main_sp, p->w.groups[p->order[0]].first->sp);
}

void run_on_stack(worker* p, void (*body)(worker*)) { body(p); }
