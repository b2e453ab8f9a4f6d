// fast.cpp: a simdgroup has one lane. A threadgroup of one simdgroup is a plain call. With several, each runs on the
// stack of the one before it until one waits at a barrier: only then is another stack taken.
#include "runtime.h"

extern "C" void msl_lane_start();
extern "C" __attribute__((noreturn, used, visibility("hidden"))) void msl_lane_main(msl_fiber* f);
asm(".text\n.hidden msl_lane_start\nmsl_lane_start:\n\tpopq %rdi\n\tcall msl_lane_main\n");

static void put_start(msl_fiber* f) {
  void** sp = (void**)((unsigned long)f & ~63ul);
  sp[-1] = f;
  sp[-2] = (void*)msl_lane_start;
  f->sp = sp - 2;
}

// Runs simdgroups that have not begun, on f's stack.
static void run_units(worker* p, msl_fiber* f) {
  while (p->cursor < p->w.simdgroups) {
    f->simdgroup = p->order[p->cursor++];
    p->w.fn(f);
    p->w.unfinished--;
  }
}

// The fiber to run when the running one waits or has nothing left: a new one for simdgroups that have not begun, then
// those of this interval between barriers, then those of the next. nullptr when none is left.
static msl_fiber* pick(worker* p) {
  if (p->cursor < p->w.simdgroups) {
    msl_fiber* f = fiber(p, p->fresh++);
    put_start(f);
    return f;
  }
  if (p->nready == 0) {
    for (unsigned i = 0; i < p->nwaiting; i++) p->ready[i] = p->waiting[p->nwaiting - 1 - i];
    p->nready = p->nwaiting;
    p->nwaiting = 0;
    shuffle(p, p->ready, p->nready);
  }
  return p->nready > 0 ? p->ready[--p->nready] : nullptr;
}

extern "C" void msl_wait(msl_fiber* f) {
  worker* p = (worker*)f->worker;
  p->waiting[p->nwaiting++] = f;
  msl_fiber* to = pick(p);
  if (to != f) msl_switch(&f->sp, to->sp);
}

extern "C" void msl_lane_main(msl_fiber* f) {
  worker* p = (worker*)f->worker;
  run_units(p, f);
  msl_fiber* to = pick(p);
  void* nowhere;
  msl_switch(&nowhere, (to ? to : fiber(p, 0))->sp);
  __builtin_unreachable();
}

void prepare(worker* p) {
  for (unsigned i = 0; i < p->w.simdgroups; i++) fiber(p, i)->worker = &p->w;
}

void run_group(worker* p) {
  msl_fiber* f = fiber(p, 0);  // this function runs on its stack
  if (p->w.simdgroups == 1) {
    f->simdgroup = 0;
    p->w.fn(f);
    return;
  }
  for (unsigned i = 0; i < p->w.simdgroups; i++) p->order[i] = i;
  shuffle(p, p->order, p->w.simdgroups);
  p->cursor = p->nready = p->nwaiting = 0;
  p->fresh = 1;
  p->w.unfinished = p->w.simdgroups;
  run_units(p, f);
  while (p->w.unfinished > 0) msl_switch(&f->sp, pick(p)->sp);
}

// The body's frames lie on stack 0, so that the first fiber is the worker itself.
struct start {
  worker* p;
  void (*body)(worker*);
};
extern "C" __attribute__((noreturn, used, visibility("hidden"))) void msl_body_main(start* s) {
  worker* p = s->p;
  s->body(p);
  void* nowhere;
  msl_switch(&nowhere, p->main_sp);
  __builtin_unreachable();
}
extern "C" void msl_body_start();
asm(".text\n.hidden msl_body_start\nmsl_body_start:\n\tpopq %rdi\n\tcall msl_body_main\n");

void run_on_stack(worker* p, void (*body)(worker*)) {
  start s = {p, body};
  void** sp = (void**)((unsigned long)fiber(p, 0) & ~63ul);
  sp[-1] = &s;
  sp[-2] = (void*)msl_body_start;
  msl_switch(&p->main_sp, sp - 2);
}
