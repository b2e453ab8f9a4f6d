#!/usr/bin/env bash
# Finds a clang that can build the kernels, or installs clang-19 and lld-19 where it may.
set -u
probe() { # compiles and links a small shared library the way the kernels are built
  local cc=$1 dir
  dir=$(mktemp -d) || return 1
  printf 'extern "C" float probe(float a) { return __builtin_fmaf(a, a, a); }\n' >"$dir/p.cpp"
  "$cc" -x c++ -std=c++20 -O2 -march=x86-64-v3 -ffp-contract=off -fdeclspec -fPIC -shared -fuse-ld=lld \
    "$dir/p.cpp" -o "$dir/p.so" 2>/dev/null
  local ok=$?
  rm -rf "$dir"
  return $ok
}
for cc in clang-19 clang-20 clang-21 clang-18 clang-17 clang; do
  if command -v "$cc" >/dev/null 2>&1 && probe "$cc"; then exit 0; fi
done
why="Sotto's kernels need clang 17 or newer and lld"
"$(dirname "$0")/apt.sh" "$why" clang-19 lld-19 || exit
if ! probe clang-19; then
  echo "$why: the clang-19 that apt-get installed cannot build a shared library for x86-64-v3." >&2
  exit 1
fi
