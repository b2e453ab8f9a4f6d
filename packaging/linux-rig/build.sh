#!/usr/bin/env bash
# build.sh [OUT [PACKAGE]]: builds PACKAGE (cmd/sotto) with its windows over GNUstep, as OUT (build/linux-rig/Sotto.app/Sotto).
# What it needs is made once and again when it changes: the copy of darwinkit, headers, the shim library.
set -eu
. "$(dirname "$0")/flags.sh"
cd "$root"
out=${1:-build/linux-rig/Sotto.app/Sotto} package=${2:-./cmd/sotto}
mkdir -p "$work/lib"
changed() { # changed NAME FILE...: true once for every state of the files; then done NAME
  local name=$1
  shift
  sum=$(cat "$@" | sha256sum | cut -c1-16)
  [ "$(cat "$work/$name.stamp" 2>/dev/null)" != "$sum" ]
}
done_with() { echo "$sum" > "$work/$1.stamp"; }

packaging/darwinkit.sh
headers=("$rig/headers.sh" "$rig/flags.sh" "$rig/sotto-rig-cc" build/darwinkit/go.mod $(find "$rig/include" -type f | sort))
if changed headers "${headers[@]}"; then
  "$rig/headers.sh" build/darwinkit "$work/include"
  echo "0x${sum:0:8}" > "$work/headers.id"
  done_with headers
fi
if changed shim "$rig"/shim/* "$work/headers.id"; then
  nice "$CC" -shared -fPIC -O1 -g -x objective-c -I"$rig/include" -I"$work/include" "${OBJC[@]}" "$rig"/shim/*.m -x none \
    -o "$work/lib/libsottoshim.so" -lBlocksRuntime -lgnustep-gui -lgnustep-base -lobjc -lpthread -ldl
  done_with shim
fi
if changed caller "$rig/caller.m"; then
  "$CC" -O1 -x objective-c -I"$rig/include" "${OBJC[@]}" "$rig/caller.m" -x none -o "$work/caller" -lgnustep-gui -lgnustep-base -lobjc
  done_with caller
fi
if [ "$out" = build/linux-rig/Sotto.app/Sotto ]; then
  mkdir -p "$work/Sotto.app/Resources"
  cp "$rig/Info-gnustep.plist" "$work/Sotto.app/Resources/"
fi
# Go's cache sees neither changed headers nor what is in the compiler's script; the flag tells it
CGO_ENABLED=1 CC=sotto-rig-cc PATH=$rig:$PATH CGO_CFLAGS="-O2 -g -DSOTTO_RIG=$(cat "$work/headers.id")" \
  nice go build -trimpath -tags gnustep -modfile=build/darwinkit.mod -o "$out" "$package"
