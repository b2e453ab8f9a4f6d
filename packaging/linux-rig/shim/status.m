// GNUstep's status bar is an empty shell: here each item is a button in a small window at the top right of the screen.
#import <AppKit/AppKit.h>

@interface ShimStatusItem : NSObject {
  NSWindow *window;
  NSButton *button;
  NSMenu *menu;
  CGFloat length;
  BOOL visible;
}
@end

static CGFloat taken; // width of all items

@implementation ShimStatusItem
- (id)initWithLength:(CGFloat)l {
  NSRect screen = [[NSScreen mainScreen] frame];
  length = l > 0 ? l : 96;
  taken += length;
  visible = YES;
  CGFloat height = [NSMenuView menuBarHeight] - 1; // the bar's lower line stays in sight
  window = [[NSWindow alloc] initWithContentRect:NSMakeRect(NSMaxX(screen) - taken, NSMaxY(screen) - height, length, height)
                                       styleMask:NSBorderlessWindowMask
                                         backing:NSBackingStoreBuffered
                                           defer:NO];
  button = [[NSButton alloc] initWithFrame:NSMakeRect(0, 0, length, height)];
  [button setTitle:@""];
  [button setBordered:NO];
  [window setTitle:@"Status item"];
  [window setBackgroundColor:[NSColor colorWithCalibratedWhite:0.975 alpha:1]]; // as the bar
  [window setContentView:button];
  [window setLevel:NSStatusWindowLevel];
  [window orderFrontRegardless];
  [[NSNotificationCenter defaultCenter] addObserver:self
                                           selector:@selector(toFront:)
                                               name:NSApplicationDidBecomeActiveNotification
                                             object:nil];
  return self;
}
- (void)toFront:(NSNotification *)n { // the menu bar came over it
  if (visible) [window orderFrontRegardless];
}
- (NSButton *)button { return button; }
- (CGFloat)length { return length; }
- (void)setLength:(CGFloat)l { length = l; }
- (BOOL)isVisible { return visible; }
- (void)setVisible:(BOOL)v {
  visible = v;
  if (v) [window orderFrontRegardless];
  else [window orderOut:nil];
}
- (NSMenu *)menu { return menu; }
- (void)pin:(NSNotification *)n { // below the button, also when the open menu's items change
  NSWindow *p = [[menu menuRepresentation] window];
  NSRect f = [window frame], r = [p frame];
  CGFloat right = NSMaxX([[window screen] frame]) - NSWidth(r);
  [p setFrameOrigin:NSMakePoint(MIN(NSMinX(f), right), NSMinY(f) - NSHeight(r))];
}
- (void)pop:(id)sender { // on press: drag and release on an item, or a click and then another one
  NSMenuView *v = [menu menuRepresentation];
  NSEvent *e = [NSApp currentEvent];
  NSNotificationCenter *c = [NSNotificationCenter defaultCenter];
  [menu retain];
  if ([[menu delegate] respondsToSelector:@selector(menuWillOpen:)]) [[menu delegate] menuWillOpen:menu];
  [menu update];
  [menu sizeToFit];
  [self pin:nil];
  [c addObserver:self selector:@selector(pin:) name:NSWindowDidResizeNotification object:[v window]];
  [[v window] setLevel:NSPopUpMenuWindowLevel];
  [[v window] orderFront:nil];
  [v mouseDown:e];
  if (NSMouseInRect([NSEvent mouseLocation], [window frame], NO)) [v mouseDown:e];
  [c removeObserver:self name:NSWindowDidResizeNotification object:nil];
  [[v window] orderOut:nil];
  if ([[menu delegate] respondsToSelector:@selector(menuDidClose:)]) [[menu delegate] menuDidClose:menu];
  [menu release];
}
- (void)setMenu:(NSMenu *)m {
  [m retain];
  [menu release];
  menu = m;
  [button setTarget:m ? self : nil];
  [button setAction:@selector(pop:)];
  [button sendActionOn:m ? NSLeftMouseDownMask : NSLeftMouseUpMask];
}
- (void)dealloc {
  [[NSNotificationCenter defaultCenter] removeObserver:self];
  [window close];
  [menu release];
  [button release];
  [super dealloc];
}
@end

@implementation NSStatusBar (Shim)
+ (id)systemStatusBar {
  static id bar;
  if (!bar) bar = [self new];
  return bar;
}
- (id)statusItemWithLength:(CGFloat)l { return [[[ShimStatusItem alloc] initWithLength:l] autorelease]; }
- (void)removeStatusItem:(id)i { [i setVisible:NO]; }
- (CGFloat)thickness { return 24; }
@end
