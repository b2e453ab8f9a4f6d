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
if ! command -v apt-get >/dev/null 2>&1; then
  echo "$why: install them with your package manager, then run this again." >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then sudo=(); elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then sudo=(sudo -n)
else
  echo "$why: run 'sudo apt-get install clang-19 lld-19', then run this again." >&2
  exit 1
fi
echo "Installing clang-19 and lld-19 ..."
export DEBIAN_FRONTEND=noninteractive
if ! { "${sudo[@]}" apt-get update -qq && "${sudo[@]}" apt-get install -y -qq --no-install-recommends clang-19 lld-19; } >/dev/null; then
  echo "$why: apt-get could not install clang-19 and lld-19 (see above)." >&2
  exit 1
fi
if ! probe clang-19; then
  echo "$why: the clang-19 that apt-get installed cannot build a shared library for x86-64-v3." >&2
  exit 1
fi
