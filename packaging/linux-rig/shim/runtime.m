// What darwinkit needs of Apple's Objective-C runtime and gcc's lacks: associated objects, block classes, and messages to
// methods and classes that GNUstep does not have, which are told on standard error once and do nothing.
#define _GNU_SOURCE 1
#import <AppKit/AppKit.h>
#import <Block.h>
#import <objc/runtime.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// Associated objects go when their owner is deallocated. What is deallocated while the lock is held comes back to it.
static pthread_mutex_t owners_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static NSMapTable *owners; // owner, not retained -> NSMutableDictionary of key -> value
static void (*old_dealloc)(id, SEL);

static void new_dealloc(id o, SEL s) {
  pthread_mutex_lock(&owners_lock);
  NSMutableDictionary *d = owners ? NSMapGet(owners, o) : nil;
  if (d) {
    [d retain];
    NSMapRemove(owners, o);
  }
  pthread_mutex_unlock(&owners_lock);
  [d release];
  old_dealloc(o, s);
}

void objc_setAssociatedObject(id o, const void *key, id v, uintptr_t policy) {
  NSAutoreleasePool *pool = [NSAutoreleasePool new];
  if ((policy & 3) == 3) v = [[v copy] autorelease];
  NSValue *k = [NSValue valueWithPointer:key];
  pthread_mutex_lock(&owners_lock);
  if (!owners) {
    owners = NSCreateMapTable(NSNonOwnedPointerMapKeyCallBacks, NSObjectMapValueCallBacks, 16);
    Method m = class_getInstanceMethod([NSObject class], @selector(dealloc));
    old_dealloc = (void *)method_setImplementation(m, (IMP)new_dealloc);
  }
  NSMutableDictionary *d = NSMapGet(owners, o);
  if (!d) {
    d = [NSMutableDictionary dictionary];
    NSMapInsert(owners, o, d);
  }
  id old = [[d objectForKey:k] retain];
  if (v) [d setObject:v forKey:k];
  else [d removeObjectForKey:k];
  pthread_mutex_unlock(&owners_lock);
  [old release];
  [pool release];
}

id objc_getAssociatedObject(id o, const void *key) {
  pthread_mutex_lock(&owners_lock);
  NSMutableDictionary *d = owners ? NSMapGet(owners, o) : nil;
  id v = [d objectForKey:[NSValue valueWithPointer:key]];
  pthread_mutex_unlock(&owners_lock);
  return v;
}

void objc_removeAssociatedObjects(id o) {
  pthread_mutex_lock(&owners_lock);
  if (owners) NSMapRemove(owners, o);
  pthread_mutex_unlock(&owners_lock);
}

// darwinkit returns zero for a nil implementation.
IMP shim_class_getMethodImplementation(Class c, SEL s) {
  if (c && class_respondsToSelector(c, s)) return (class_getMethodImplementation)(c, s);
  static NSMutableSet *seen;
  NSAutoreleasePool *pool = [NSAutoreleasePool new];
  NSString *k = [NSString stringWithFormat:@"%c[%s %s]", class_isMetaClass(c) ? '+' : '-', class_getName(c), sel_getName(s)];
  @synchronized([NSMutableSet class]) {
    if (!seen) seen = [NSMutableSet new];
    if (![seen containsObject:k]) {
      [seen addObject:k];
      fprintf(stderr, "missing: %s\n", [k UTF8String]);
    }
  }
  [pool release];
  const char *n = sel_getName(s); // a missing initialiser still makes the object
  if (!strncmp(n, "initWithFrame:", 14) && class_respondsToSelector(c, @selector(initWithFrame:)))
    return (class_getMethodImplementation)(c, @selector(initWithFrame:));
  return strncmp(n, "init", 4) ? 0 : (class_getMethodImplementation)(c, @selector(init));
}

// A class that GNUstep lacks is made up.
static const struct {
  const char *name, *super;
} made[] = {{"NSStackView", "NSView"}, {"NSTableCellView", "NSView"}, {"NSTableRowView", "NSView"},
            {"NSTitlebarAccessoryViewController", "NSViewController"}, {"NSUserNotification", "NSObject"},
            {"NSImageSymbolConfiguration", "NSObject"}};

Class shim_objc_getClass(const char *name) {
  Class c = (objc_getClass)(name);
  for (size_t i = 0; !c && i < sizeof made / sizeof *made; i++)
    if (!strcmp(made[i].name, name) && (c = objc_allocateClassPair((objc_getClass)(made[i].super), name, 0)))
      objc_registerClassPair(c);
  return c;
}

// A GNUstep object has its retain count in front of it; gcc's class_createInstance would leave that out.
id class_createInstance(Class c, size_t n) {
  for (Class k = c; k; k = class_getSuperclass(k))
    if (k == [NSObject class]) return NSAllocateObject(c, n, NSDefaultMallocZone());
  id (*next)(Class, size_t) = dlsym(RTLD_NEXT, "class_createInstance");
  return next(c, n);
}

// A service's error argument is an NSString**. Go's unsafe.Pointer makes it ^v, which Distributed Objects cannot carry.
BOOL class_addMethod(Class c, SEL sel, IMP i, const char *types) {
  BOOL (*next)(Class, SEL, IMP, const char *) = dlsym(RTLD_NEXT, "class_addMethod");
  const char *n = sel_getName(sel), *e = strstr(n, ":userData:error:");
  return next(c, sel, i, e && !e[16] ? "v@:@@^@" : types);
}

// The classes of the blocks that darwinkit makes.
@interface __NSMallocBlock__ : NSObject
@end
@implementation __NSMallocBlock__
- (id)retain { return (id)_Block_copy(self); }
- (oneway void)release { _Block_release(self); }
- (id)copyWithZone:(NSZone *)z { return (id)_Block_copy(self); }
- (id)copy { return (id)_Block_copy(self); }
@end
@interface __NSGlobalBlock__ : NSObject
@end
@implementation __NSGlobalBlock__
- (id)retain { return self; }
- (oneway void)release {}
- (id)autorelease { return self; }
- (id)copy { return self; }
@end

// Not offered by gcc's runtime and not used by Sotto.
#define MISSING(f)                                                \
  do {                                                            \
    fprintf(stderr, "the Linux rig has no %s\n", f);              \
    abort();                                                      \
  } while (0)
IMP imp_implementationWithBlock(id b) { MISSING(__func__); }
id imp_getBlock(IMP i) { MISSING(__func__); }
BOOL imp_removeBlock(IMP i) { MISSING(__func__); }
char *property_copyAttributeValue(objc_property_t p, const char *n) { MISSING(__func__); }
objc_property_attribute_t *property_copyAttributeList(objc_property_t p, unsigned *n) { MISSING(__func__); }
BOOL class_addProperty(Class c, const char *n, const objc_property_attribute_t *a, unsigned k) { MISSING(__func__); }
void class_replaceProperty(Class c, const char *n, const objc_property_attribute_t *a, unsigned k) { MISSING(__func__); }
Protocol *objc_allocateProtocol(const char *n) { MISSING(__func__); }
