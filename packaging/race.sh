#!/usr/bin/env bash
# race.sh PACKAGE...: tests under the race detector. It needs a C compiler: $CC, or gcc, or the clang that builds the
# kernels.
set -eu
if [ -z "${CC:-}" ]; then
  for CC in gcc clang-19 clang-20 clang-21 clang-18 clang-17 clang; do
    if command -v "$CC" >/dev/null 2>&1; then break; fi
  done
fi
CGO_ENABLED=1 CC=$CC exec go test -race "$@"
