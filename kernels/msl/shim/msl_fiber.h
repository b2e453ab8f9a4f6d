// msl_fiber.h: what kernels and the run-time share. A lane runs as a fiber: a stack of 64 KiB, aligned to its size,
// with the lane's control block at the top, so that the running lane is found from the stack pointer alone.
#pragma once

#define MSL_STACK 65536ul
#define MSL_TOP 8192ul           // bytes above the first frame that hold the control block
#define MSL_FRAME_BYTES 32768ul  // threadgroup memory of a threadgroup

struct msl_args {
  void* buf[31];
  unsigned tgoff[31];
  unsigned pad;
};

enum { MSL_RUNNING, MSL_AT_SIMD, MSL_AT_BARRIER, MSL_ENDED };  // what a lane waits for

struct msl_fiber;
struct msl_worker;

// A simdgroup: slots through which its lanes exchange values. The two halves take turns, so that a fast lane may begin
// the next exchange while a slow one still reads the last.
struct alignas(64) msl_simdgroup {
  unsigned char slot[2][32 * 16];
  alignas(16) unsigned char result[2][16];
  msl_fiber* first;
  unsigned waits;  // what its lanes wait for, once the last lane has begun to wait
};

struct msl_fiber {
  void* sp;
  msl_fiber* next;  // lane to run when this one waits in a simd operation; nullptr for the last lane
  msl_simdgroup* group;
  msl_worker* worker;
  unsigned lane, simdgroup, half, waits, line;
  const char* file;
};

struct msl_worker {
  const msl_args* args;
  unsigned char* frame;  // threadgroup memory
  unsigned position[3];  // of the running threadgroup in the grid
  unsigned grid[3], threads, simdgroups;
  unsigned unfinished;  // simdgroups that have not ended
  void (*fn)(msl_fiber*);
  msl_simdgroup* groups;
};

// Control blocks are spread over cache sets by the number of their stack.
MSL_FN msl_fiber* msl_control(unsigned long base) {
  return (msl_fiber*)(base + MSL_STACK - MSL_TOP + ((base >> 16) & 63) * 128);
}
MSL_FN msl_fiber* msl_self() {
  unsigned long sp;
  asm("movq %%rsp, %0" : "=r"(sp));
  return msl_control(sp & ~(MSL_STACK - 1));
}

// Saves rsp and rbp and the place to resume; the compiler is told that every other register is lost.
MSL_FN void msl_switch(void** save, void* to) {
  asm volatile(
      "pushq %%rbp\n\t"
      "leaq 1f(%%rip), %%rax\n\t"
      "pushq %%rax\n\t"
      "movq %%rsp, (%%rdi)\n\t"
      "movq %%rsi, %%rsp\n\t"
      "popq %%rax\n\t"
      "jmpq *%%rax\n"
      "1:\n\t"
      "popq %%rbp"
      : "+D"(save), "+S"(to)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc", "xmm0",
        "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
        "xmm14", "xmm15");
}

// The last lane of a simdgroup reports that all of them wait, or that it is the only one to do so.
extern "C" __attribute__((visibility("hidden"))) void msl_wait(msl_fiber* f);

// One lane waits for the others of its simdgroup (MSL_AT_SIMD) or of its threadgroup (MSL_AT_BARRIER).
#if MSL_WIDTH > 1
MSL_FN void msl_yield(unsigned what, const char* file, unsigned line) {
  msl_fiber* f = msl_self();
  f->waits = what;
  f->file = file;
  f->line = line;
  if (f->next)
    msl_switch(&f->sp, f->next->sp);
  else
    msl_wait(f);
}
#else
MSL_FN void msl_yield(unsigned, const char*, unsigned) {
  msl_fiber* f = msl_self();
  if (f->worker->simdgroups > 1) msl_wait(f);
}
#endif
