#!/usr/bin/env bash
# headers.sh DARWINKIT OUT: writes into OUT the framework headers that GNUstep lacks, its missing protocols declared empty or
# made of its categories of NSObject, and protocols.inc, the table of protocols that have lists of methods.
set -eu
. "$(dirname "$0")/flags.sh"
darwinkit=$1 out=$2
rm -rf "$out"
mkdir -p "$out"
appkit=$(echo '#import <AppKit/AppKit.h>' | "$CC" -E -x objective-c -I"$rig/include" "${OBJC[@]}" -)
have=$(grep -E '^ *@protocol +[A-Za-z_]+' <<<"$appkit" | grep -v ';' | awk '{print $2}' | sed 's/<.*//' | sort -u)
informal=$(grep -oE '^ *@interface NSObject *\([A-Za-z_]+' <<<"$appkit" | sed 's/.*(//' | sort -u)
for source in "$darwinkit"/macos/*/protocols.gen.m; do
  header=$(sed -n 's/#import "\(.*\)"/\1/p' "$source")
  mkdir -p "$out/${header%/*}"
  {
    echo '#pragma once'
    if [ -e "/usr/include/GNUstep/$header" ]; then echo "#include_next <$header>"; else echo '#import <Foundation/Foundation.h>'; fi
    for p in $(sed -n 's/.*@protocol(\(.*\));/\1/p' "$source"); do
      if grep -qx "$p" <<<"$have"; then
        echo "P($p)" >> "$out/protocols.inc"
      elif grep -qx "$p" <<<"$informal"; then
        echo "P($p)" >> "$out/protocols.inc"
        echo "@protocol $p @optional"
        awk -v p="$p" '/@interface NSObject/ && index($0, "(" p ")") { on = 1; next } on && /^ *@end/ { exit } on && !/^#/' <<<"$appkit"
        echo "@end"
      else
        echo "@protocol $p @end"
      fi
    done
  } > "$out/$header"
done
sort -u -o "$out/protocols.inc" "$out/protocols.inc"
