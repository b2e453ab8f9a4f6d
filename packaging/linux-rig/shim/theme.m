// A look that is nearer to a Mac's than GNUstep's own: title bars with round buttons on the left, thin scroll bars, menus
// without bezels, quiet lines.
#import <AppKit/AppKit.h>
#import <GNUstepGUI/GSTheme.h>
#import <GNUstepGUI/GSWindowDecorationView.h>

static NSColor *gray(CGFloat w) { return [NSColor colorWithCalibratedWhite:w alpha:1]; }

@implementation GSTheme (Shim)
- (NSColor *)shimColorNamed:(NSString *)name state:(GSThemeControlState)state {
  if ([name isEqual:@"highlightedTableRowBackgroundColor"])
    return [NSColor colorWithCalibratedRed:0.80 green:0.88 blue:0.98 alpha:1];
  if ([name isEqual:@"windowBorderColor"]) return gray(0.62);
  if ([name isEqual:@"menuBarBorderColor"]) return gray(0.80);
  if ([name isEqual:@"menuBorderColor"]) return gray(0.75);
  if ([name isEqual:@"menuSeparatorColor"]) return gray(0.86);
  if ([name isEqual:@"menuBackgroundColor"] || [name isEqual:@"menuBarBackgroundColor"]) return gray(0.975);
  if ([name isEqual:@"menuItemBackgroundColor"] && state == GSThemeNormalState) return gray(0.975);
  return [self shimColorNamed:name state:state];
}
- (BOOL)shimDrawsBorderForMenuItemCell:(NSMenuItemCell *)cell state:(GSThemeControlState)s isHorizontal:(BOOL)h {
  return NO;
}
- (CGFloat)shimMenuSeparatorHeight { return 11; }
- (CGFloat)shimMenuItemHeight { return 23; }
- (float)shimResizebarHeight { return 5; }
- (void)shimDrawTitleBarRect:(NSRect)r forStyleMask:(unsigned)style state:(int)state andTitle:(NSString *)title {
  BOOL key = state == 0;
  [(key ? gray(0.925) : gray(0.965)) set];
  NSRectFill(r);
  [gray(0.80) set];
  NSRectFill(NSMakeRect(NSMinX(r), NSMinY(r), NSWidth(r), 1));
  NSDictionary *attributes = [NSDictionary
      dictionaryWithObjectsAndKeys:[NSFont titleBarFontOfSize:0], NSFontAttributeName, key ? gray(0.2) : gray(0.55),
                                   NSForegroundColorAttributeName, nil];
  NSSize size = [title sizeWithAttributes:attributes];
  CGFloat room = NSWidth(r) - 110, width = MIN(size.width + 2, room);
  [title drawInRect:NSMakeRect(NSMidX(r) - width / 2, NSMidY(r) - size.height / 2, width, size.height)
      withAttributes:attributes];
}
- (void)shimDrawResizeBarRect:(NSRect)r {
  [[NSColor windowBackgroundColor] set];
  NSRectFill(NSMakeRect(1, 1, NSWidth(r) - 2, [self resizebarHeight] - 1));
}
- (void)shimDrawScrollerRect:(NSRect)rect
                  inView:(NSView *)view
                 hitPart:(NSScrollerPart)part
            isHorizontal:(BOOL)horizontal {
  NSScroller *s = (NSScroller *)view;
  [[NSColor textBackgroundColor] set];
  NSRectFill([view bounds]);
  NSRect knob = [s rectForPart:NSScrollerKnob];
  if (NSIsEmptyRect(knob)) return;
  [gray(0.75) set];
  [[NSBezierPath bezierPathWithRoundedRect:NSInsetRect(knob, 3, 3) xRadius:3 yRadius:3] fill];
}
@end

static NSImage *dot(CGFloat red, CGFloat green, CGFloat blue) {
  NSImage *i = [[NSImage alloc] initWithSize:NSMakeSize(13, 13)];
  [i lockFocus];
  [[NSColor colorWithCalibratedRed:red green:green blue:blue alpha:1] set];
  [[NSBezierPath bezierPathWithOvalInRect:NSMakeRect(0.5, 0.5, 12, 12)] fill];
  [i unlockFocus];
  return i;
}

static void place(NSButton *b, NSRect *r, CGFloat x, CGFloat top, NSImage *image) {
  *r = NSMakeRect(x, top - 18, 13, 13);
  [b setFrame:*r];
  [b setBordered:NO];
  [b setImage:image];
  [b setAlternateImage:image];
}

@implementation GSStandardWindowDecorationView (Shim)
- (void)shimUpdateRects {
  static NSImage *red, *yellow;
  [self shimUpdateRects]; // the original
  if (!hasCloseButton && !hasMiniaturizeButton) return; // the picture of a button is drawn in such a window
  if (!red) {
    red = dot(1, 0.37, 0.34);
    yellow = dot(1, 0.74, 0.18);
  }
  CGFloat top = NSMaxY([self bounds]);
  if (hasCloseButton) place(closeButton, &closeButtonRect, 10, top, red);
  if (hasMiniaturizeButton) place(miniaturizeButton, &miniaturizeButtonRect, 30, top, yellow);
}
- (void)shimSetDocumentEdited:(BOOL)edited { // the original changes the close button's picture
}
@end

@implementation NSScroller (Shim)
- (id)shimInitWithFrame:(NSRect)f {
  self = [self shimInitWithFrame:f]; // the original
  [self setArrowsPosition:NSScrollerArrowsNone];
  return self;
}
@end

@implementation NSMenuView (Shim)
- (id)shimInitWithFrame:(NSRect)f {
  self = [self shimInitWithFrame:f]; // the original
  [self setHorizontalEdgePadding:9];
  return self;
}
@end

@implementation NSTableView (Shim)
- (void)shimDrawGridInClipRect:(NSRect)r { // none, whatever is asked for
}
@end

// The program's icon: a speech bubble with a voice that grows quiet.
static NSImage *icon(void) {
  NSImage *i = [[NSImage alloc] initWithSize:NSMakeSize(48, 48)];
  [i lockFocus];
  [[NSColor colorWithCalibratedRed:0.18 green:0.21 blue:0.47 alpha:1] set];
  [[NSBezierPath bezierPathWithRoundedRect:NSMakeRect(2, 2, 44, 44) xRadius:10 yRadius:10] fill];
  [[NSColor colorWithCalibratedRed:0.98 green:0.97 blue:0.95 alpha:1] set];
  [[NSBezierPath bezierPathWithRoundedRect:NSMakeRect(9, 15, 30, 22) xRadius:7 yRadius:7] fill];
  NSBezierPath *tail = [NSBezierPath bezierPath];
  [tail moveToPoint:NSMakePoint(14, 17)];
  [tail lineToPoint:NSMakePoint(22, 16)];
  [tail lineToPoint:NSMakePoint(13, 9)];
  [tail fill];
  static const CGFloat bars[] = {13, 9, 6, 4, 2};
  [[NSColor colorWithCalibratedRed:0.25 green:0.28 blue:0.58 alpha:1] set];
  for (int k = 0; k < 5; k++) NSRectFill(NSMakeRect(14 + 5 * k, 26 - bars[k] / 2, 2.5, bars[k]));
  NSBitmapImageRep *pixels = [[NSBitmapImageRep alloc] initWithFocusedViewRect:NSMakeRect(0, 0, 48, 48)];
  [i unlockFocus];
  NSImage *fixed = [[NSImage alloc] initWithSize:NSMakeSize(48, 48)]; // one that can be copied and scaled
  [fixed addRepresentation:pixels];
  return fixed;
}

// box draws a check box, with its mark where it is on.
static NSImage *box(BOOL on) {
  NSImage *i = [[NSImage alloc] initWithSize:NSMakeSize(18, 15)];
  [i lockFocus];
  NSBezierPath *p = [NSBezierPath bezierPathWithRoundedRect:NSMakeRect(0.5, 0.5, 14, 14) xRadius:3.5 yRadius:3.5];
  if (on) [[NSColor colorWithCalibratedRed:0.16 green:0.5 blue:0.96 alpha:1] set];
  else [[NSColor whiteColor] set];
  [p fill];
  if (!on) {
    [gray(0.65) set];
    [p stroke];
  } else {
    NSBezierPath *mark = [NSBezierPath bezierPath];
    [mark moveToPoint:NSMakePoint(3.5, 7.5)];
    [mark lineToPoint:NSMakePoint(6.5, 4.5)];
    [mark lineToPoint:NSMakePoint(11.5, 11)];
    [mark setLineWidth:1.8];
    [[NSColor whiteColor] set];
    [mark stroke];
  }
  [i unlockFocus];
  return i;
}

@implementation NSButtonCell (Shim)
- (void)shimSetButtonType:(NSButtonType)type {
  [self shimSetButtonType:type]; // the original
  if (type != NSSwitchButton) return;
  [self setImage:box(NO)];
  [self setAlternateImage:box(YES)];
}
@end

static void swap(Class c, SEL a, SEL b) {
  Method old = class_getInstanceMethod(c, a), own = class_getInstanceMethod(c, b);
  if (old && own) method_exchangeImplementations(old, own);
}

@interface ShimLook : NSObject
@end
@implementation ShimLook
+ (void)load {
  [[NSNotificationCenter defaultCenter] addObserver:self
                                           selector:@selector(launching:)
                                               name:NSApplicationWillFinishLaunchingNotification
                                             object:nil];
}
+ (void)launching:(NSNotification *)n {
  swap([GSStandardWindowDecorationView class], @selector(updateRects), @selector(shimUpdateRects));
  swap([GSStandardWindowDecorationView class], @selector(setDocumentEdited:), @selector(shimSetDocumentEdited:));
  swap([NSScroller class], @selector(initWithFrame:), @selector(shimInitWithFrame:));
  [NSApp setApplicationIconImage:icon()];
  swap([NSButtonCell class], @selector(setButtonType:), @selector(shimSetButtonType:));
  Class t = [GSTheme class];
  swap(t, @selector(colorNamed:state:), @selector(shimColorNamed:state:));
  swap(t, @selector(drawsBorderForMenuItemCell:state:isHorizontal:),
       @selector(shimDrawsBorderForMenuItemCell:state:isHorizontal:));
  swap(t, @selector(menuSeparatorHeight), @selector(shimMenuSeparatorHeight));
  swap(t, @selector(menuItemHeight), @selector(shimMenuItemHeight));
  swap([NSMenuView class], @selector(initWithFrame:), @selector(shimInitWithFrame:));
  swap([NSTableView class], @selector(drawGridInClipRect:), @selector(shimDrawGridInClipRect:));
  swap(t, @selector(resizebarHeight), @selector(shimResizebarHeight));
  swap(t, @selector(drawTitleBarRect:forStyleMask:state:andTitle:),
       @selector(shimDrawTitleBarRect:forStyleMask:state:andTitle:));
  swap(t, @selector(drawResizeBarRect:), @selector(shimDrawResizeBarRect:));
  swap(t, @selector(drawScrollerRect:inView:hitPart:isHorizontal:),
       @selector(shimDrawScrollerRect:inView:hitPart:isHorizontal:));
}
@end
