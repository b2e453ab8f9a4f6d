// hello.gz is made of this: sotto-mac-cc -framework Foundation -lobjc -Wl,-S -Wl,-x -o hello hello.m; gzip -9n hello
#import <Foundation/Foundation.h>

@protocol Base <NSObject>
- (void)greet:(id)who;
@end

@protocol Greeting <Base>
- (int)count;
+ (void)reset;
@optional
- (id)greet:(id)who with:(id)what;
@end

int main(void) { return @protocol(Greeting) == nil; }
