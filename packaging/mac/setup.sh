#!/usr/bin/env bash
# setup.sh: finds or installs what builds the macOS binary on Linux: a clang that cgo works with, and its linker for
# Mach-O; libc's headers and libSystem's stub, out of the wheel of ziglang (whose own linker is not used). Exits with 75
# if something is missing that only the network could bring.
set -eu
cd "$(dirname "$0")/../.."
mac=build/mac zig=0.14.1
mkdir -p "$mac"

install_packages() { packaging/apt.sh "The macOS binary" "$@"; }

compiler() { # prints the first clang that cgo works with (below 22) and that has a linker for Mach-O
  local cc
  for cc in clang-19 clang-20 clang-21 clang-18 clang-17; do
    if command -v "$cc" >/dev/null 2>&1 && [ -x "$("$cc" --print-prog-name=ld64.lld)" ]; then
      echo "$cc"
      return
    fi
  done
}

cc=$(compiler)
if [ -z "$cc" ]; then
  install_packages clang-19 lld-19
  cc=$(compiler)
  [ -n "$cc" ] || { echo "No clang with ld64.lld after installing clang-19 and lld-19." >&2; exit 1; }
fi
[ "$(cat "$mac/compiler" 2>/dev/null)" = "$cc" ] || echo "$cc" > "$mac/compiler"

if [ "$(cat "$mac/libc/version" 2>/dev/null)" != "$zig" ]; then
  python3 -m pip --version >/dev/null 2>&1 || install_packages python3-pip
  new=$(mktemp -d "$mac/libc.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  packaging/pip.sh python3 download --no-deps --only-binary :all: -d "$new" "ziglang==$zig"
  python3 - "$new" <<'PY'
import glob, os, shutil, sys, zipfile
out = sys.argv[1]
wheel, = glob.glob(out + "/*.whl")
root = "ziglang/lib/libc/"
with zipfile.ZipFile(wheel) as z:
    for name in z.namelist():
        if name.startswith((root + "include/any-macos-any/", root + "include/any-darwin-any/", root + "darwin/")):
            to = os.path.join(out, name[len(root):])
            os.makedirs(os.path.dirname(to), exist_ok=True)
            with z.open(name) as f, open(to, "wb") as g:
                shutil.copyfileobj(f, g)
os.remove(wheel)
PY
  echo "$zig" > "$new/version"
  chmod 755 "$new"
  rm -rf "$mac/libc"
  mv "$new" "$mac/libc"
fi
