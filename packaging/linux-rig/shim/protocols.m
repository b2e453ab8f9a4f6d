// Protocols with optional methods over gcc's runtime, which knows none. clang writes the lists of optional methods behind the
// required ones; a protocol of the table below was compiled here by clang and so has them.
#define _GNU_SOURCE 1
#import <AppKit/AppKit.h>
#import <objc/runtime.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct method_list {
  int n;
  struct objc_method_description m[];
};
struct clang_protocol {
  id isa;
  const char *name;
  void *protocols;
  struct method_list *instance, *class, *optional_instance, *optional_class;
};

static Protocol *table(const char *name) {
#define P(x) if (!strcmp(name, #x)) return @protocol(x);
#include "protocols.inc"
  return 0;
}

Protocol *shim_objc_getProtocol(const char *name) {
  Protocol *p = table(name);
  return p ? p : (objc_getProtocol)(name);
}

static struct method_list *list(Protocol *p, bool required, bool instance) {
  struct clang_protocol *c = (void *)p;
  Protocol *known = table(c->name); // another file's copy of the same protocol may have been built by gcc
  if (!known) return instance && required ? c->instance : 0;
  c = (void *)known;
  if (instance) return required ? c->instance : c->optional_instance;
  return required ? c->class : c->optional_class;
}

struct objc_method_description *shim_protocol_copyMethodDescriptionList(Protocol *p, bool required, bool instance,
                                                                        unsigned *n) {
  struct method_list *l = p ? list(p, required, instance) : 0;
  if (n) *n = l ? l->n : 0;
  if (!l || !l->n) return 0;
  struct objc_method_description *r = calloc(l->n + 1, sizeof *r);
  for (int i = 0; i < l->n; i++)
    r[i] = (struct objc_method_description){sel_registerTypedName((char *)l->m[i].name, l->m[i].types), l->m[i].types};
  return r;
}

struct objc_method_description shim_protocol_getMethodDescription(Protocol *p, SEL s, bool required, bool instance) {
  struct method_list *l = p ? list(p, required, instance) : 0;
  for (int i = 0; l && i < l->n; i++)
    if (!strcmp((char *)l->m[i].name, sel_getName(s))) return (struct objc_method_description){s, l->m[i].types};
  return (struct objc_method_description){0, 0};
}

// Protocols that are part of another one on macOS and stand alone here.
static const struct {
  const char *name, *parent;
} parents[] = {{"NSTextViewDelegate", "NSTextDelegate"},
               {"NSTextFieldDelegate", "NSControlTextEditingDelegate"},
               {"NSTableViewDelegate", "NSControlTextEditingDelegate"}};

Protocol **protocol_copyProtocolList(Protocol *p, unsigned *n) {
  Protocol **(*next)(Protocol *, unsigned *) = dlsym(RTLD_NEXT, "protocol_copyProtocolList");
  for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
    if (strcmp(((struct clang_protocol *)p)->name, parents[i].name)) continue;
    Protocol **r = malloc(sizeof *r);
    *r = shim_objc_getProtocol(parents[i].parent);
    if (n) *n = 1;
    return r;
  }
  return next(p, n);
}
