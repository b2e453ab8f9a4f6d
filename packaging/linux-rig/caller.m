// caller SERVICE TEXT: calls a service with text, as the Services menu of another program does, and prints what the text
// is afterwards.
#import <AppKit/AppKit.h>

int main(int argc, char **argv) {
  NSAutoreleasePool *pool = [NSAutoreleasePool new];
  if (argc != 3) return 2;
  NSArray *text = [NSArray arrayWithObject:NSStringPboardType];
  [[NSApplication sharedApplication] registerServicesMenuSendTypes:text returnTypes:text];
  NSPasteboard *board = [NSPasteboard pasteboardWithUniqueName];
  [board declareTypes:[NSArray arrayWithObject:NSStringPboardType] owner:nil];
  [board setString:[NSString stringWithUTF8String:argv[2]] forType:NSStringPboardType];
  if (!NSPerformService([NSString stringWithUTF8String:argv[1]], board)) {
    fprintf(stderr, "the service was not performed\n");
    return 1;
  }
  printf("%s\n", [[board stringForType:NSStringPboardType] UTF8String]);
  [pool release];
  return 0;
}
