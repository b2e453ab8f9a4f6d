// The part of Foundation that darwinkit's Objective-C files use. Written for Sotto; protocols.h is generated.
#pragma once
#include <stdlib.h>
#import <objc/NSObject.h>
#import <protocols.h>
#ifndef IBAction
#define IBAction void
#endif
typedef unsigned char Byte;
@interface NSString : NSObject
+ (instancetype)stringWithUTF8String:(const char *)s;
- (const char *)UTF8String;
@end
@interface NSData : NSObject
@property(readonly) NSUInteger length;
@property(readonly) const void *bytes;
+ (instancetype)data;
+ (instancetype)dataWithBytes:(const void *)p length:(NSUInteger)n;
@end
@interface NSArray : NSObject
@property(readonly) NSUInteger count;
- (id)objectAtIndex:(NSUInteger)i;
@end
@interface NSMutableArray : NSArray
+ (instancetype)arrayWithCapacity:(NSUInteger)n;
- (void)addObject:(id)o;
@end
@interface NSDictionary : NSObject
@property(readonly, copy) NSArray *allKeys;
- (id)objectForKeyedSubscript:(id)key;
@end
@interface NSMutableDictionary : NSDictionary
+ (instancetype)dictionaryWithCapacity:(NSUInteger)n;
- (void)setObject:(id)o forKey:(id<NSCopying>)key;
@end
