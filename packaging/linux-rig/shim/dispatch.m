// libdispatch: the main thread's run loop drains the main queue, a global queue is a new thread.
#define _GNU_SOURCE 1
#import <AppKit/AppKit.h>
#import <Block.h>
#import <dispatch/dispatch.h>
#include <pthread.h>

@interface ShimRun : NSObject {
@public
  dispatch_block_t block;
  BOOL done;
}
- (void)run;
@end

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static NSMutableArray *queue;
static char main_queue, global_queue;

@implementation ShimRun
+ (void)load {
  [NSAutoreleasePool new]; // GNUstep wants a pool on the main thread before the event loop's own
}
+ (void)drain {
  for (;;) {
    pthread_mutex_lock(&lock);
    ShimRun *r = [queue count] ? [[queue objectAtIndex:0] retain] : nil;
    if (r) [queue removeObjectAtIndex:0];
    pthread_mutex_unlock(&lock);
    if (!r) return;
    [r run];
    [r release];
  }
}
- (void)run {
  NSAutoreleasePool *pool = [NSAutoreleasePool new];
  block();
  [pool release];
  pthread_mutex_lock(&lock);
  done = YES;
  pthread_cond_broadcast(&finished);
  pthread_mutex_unlock(&lock);
}
- (void)dealloc {
  Block_release(block);
  [super dealloc];
}
@end

static void submit(dispatch_queue_t q, dispatch_block_t b, BOOL wait) {
  GSRegisterCurrentThread();
  NSAutoreleasePool *pool = [NSAutoreleasePool new];
  ShimRun *r = [ShimRun new];
  r->block = Block_copy(b);
  if (q == &main_queue && !(wait && [NSThread isMainThread])) {
    pthread_mutex_lock(&lock);
    if (!queue) queue = [NSMutableArray new];
    [queue addObject:r];
    pthread_mutex_unlock(&lock);
    NSArray *modes = [NSArray arrayWithObjects:NSDefaultRunLoopMode, NSModalPanelRunLoopMode, NSEventTrackingRunLoopMode, nil];
    [[ShimRun class] performSelectorOnMainThread:@selector(drain) withObject:nil waitUntilDone:NO modes:modes];
    pthread_mutex_lock(&lock);
    while (wait && !r->done) pthread_cond_wait(&finished, &lock);
    pthread_mutex_unlock(&lock);
  } else if (wait) {
    [r run];
  } else {
    [NSThread detachNewThreadSelector:@selector(run) toTarget:r withObject:nil];
  }
  [r release];
  [pool release];
}

dispatch_queue_t dispatch_get_main_queue(void) { return &main_queue; }
dispatch_queue_t dispatch_get_global_queue(intptr_t i, uintptr_t f) { return &global_queue; }
void dispatch_retain(void *q) {}
void dispatch_release(void *q) {}
void dispatch_async(dispatch_queue_t q, dispatch_block_t b) { submit(q, b, NO); }
void dispatch_sync(dispatch_queue_t q, dispatch_block_t b) { submit(q, b, YES); }
