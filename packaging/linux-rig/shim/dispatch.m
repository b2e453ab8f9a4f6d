// libdispatch: the main thread's run loop drains the main queue, a global queue is a new thread. The run loop watches a pipe
// that can be read as long as anything is queued, so that no wake-up is lost.
#define _GNU_SOURCE 1
#import <AppKit/AppKit.h>
#import <Block.h>
#import <dispatch/dispatch.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

@interface ShimRun : NSObject <RunLoopEvents> {
@public
  dispatch_block_t block;
  BOOL done;
}
- (void)run;
@end

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER;
static NSMutableArray *queue;
static int bell[2]; // the pipe: one byte while the queue is not empty
static char main_queue, global_queue;

@implementation ShimRun
+ (void)load {
  [NSAutoreleasePool new]; // GNUstep wants a pool on the main thread before the event loop's own
  if (pipe2(bell, O_CLOEXEC | O_NONBLOCK)) abort();
  [[NSNotificationCenter defaultCenter] addObserver:self
                                           selector:@selector(launching:)
                                               name:NSApplicationWillFinishLaunchingNotification
                                             object:nil];
}
+ (void)launching:(NSNotification *)n {
  NSString *modes[] = {NSDefaultRunLoopMode, NSModalPanelRunLoopMode, NSEventTrackingRunLoopMode};
  for (int i = 0; i < 3; i++)
    [[NSRunLoop currentRunLoop] addEvent:(void *)(intptr_t)bell[0] type:ET_RDESC watcher:(id)self forMode:modes[i]];
}
+ (void)receivedEvent:(void *)data type:(RunLoopEventType)type extra:(void *)extra forMode:(NSString *)mode {
  for (;;) {
    pthread_mutex_lock(&lock);
    ShimRun *r = [queue count] ? [[queue objectAtIndex:0] retain] : nil;
    if (r) [queue removeObjectAtIndex:0];
    char byte;
    if (![queue count]) read(bell[0], &byte, 1); // or there was none
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
    if ([queue count] == 1) write(bell[1], "", 1);
    pthread_mutex_unlock(&lock);
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
