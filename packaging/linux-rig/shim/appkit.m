// Small methods of AppKit that GNUstep 0.29 has under another name, and its habits that would get in the way.
#define _GNU_SOURCE 1
#import <AppKit/AppKit.h>
#import <GNUstepGUI/GSDisplayServer.h>
#import <objc/runtime.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>

@implementation NSTextField (Shim)
- (void)setPlaceholderString:(NSString *)s { [[self cell] setPlaceholderString:s]; }
- (NSString *)placeholderString { return [[self cell] placeholderString]; }
@end
@implementation NSTableColumn (Shim)
- (void)setTitle:(NSString *)s { [[self headerCell] setStringValue:s]; }
- (NSString *)title { return [[self headerCell] stringValue]; }
@end
@implementation NSPasteboard (Shim)
- (NSInteger)clearContents { return [self declareTypes:[NSArray arrayWithObject:NSStringPboardType] owner:nil]; }
@end
// The key that deletes backwards is 8 in a Mac's menus and 127 here.
@implementation NSMenuItem (Shim)
- (id)shimInitWithTitle:(NSString *)title action:(SEL)action keyEquivalent:(NSString *)key {
  if ([key isEqual:@"\b"]) key = @"\x7f";
  return [self shimInitWithTitle:title action:action keyEquivalent:key]; // the original
}
@end
@implementation NSMenu (Shim)
- (void)removeAllItems {
  while ([self numberOfItems]) [self removeItemAtIndex:0];
}
@end

// NSBeep is an inline function of GNUstep's headers.
void shim_beep(void) __asm__("NSBeep");
void shim_beep(void) { [GSCurrentServer() beep]; }

// An uncaught exception ends the program instead of opening GNUstep's panel.
static void uncaught(NSException *e) {
  fprintf(stderr, "exception: %s: %s\n", [[e name] UTF8String], [[e reason] UTF8String]);
  abort();
}
@interface ShimLaunch : NSObject
@end
@implementation ShimLaunch
+ (void)load {
  [[NSNotificationCenter defaultCenter] addObserver:self
                                           selector:@selector(launching:)
                                               name:NSApplicationWillFinishLaunchingNotification
                                             object:nil];
}
+ (void)launching:(NSNotification *)n {
  NSSetUncaughtExceptionHandler(uncaught); // AppKit has set its own by now
  Class c = [NSMenuItem class];
  method_exchangeImplementations(class_getInstanceMethod(c, @selector(initWithTitle:action:keyEquivalent:)),
                                 class_getInstanceMethod(c, @selector(shimInitWithTitle:action:keyEquivalent:)));
}
@end

// GNUstep's back end would take SIGTERM and SIGINT from Go and run terminate: inside its handler.
void (*signal(int n, void (*h)(int)))(int) {
  void (*(*next)(int, void (*)(int)))(int) = dlsym(RTLD_NEXT, "signal");
  return n == SIGTERM || n == SIGINT ? SIG_DFL : next(n, h);
}
