# Sourced by the scripts here. Sets CC (a clang that cgo works with), OBJC (its flags for Objective-C over GNUstep and gcc's
# libobjc), rig (this folder), root (of the module), work (where generated things lie).
rig=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
root=$(cd "$rig/../.." && pwd)
work=$root/build/linux-rig
for CC in clang-19 clang-20 clang-21 clang-18 clang-17 clang; do
  command -v "$CC" >/dev/null 2>&1 && break
done
objc_headers=$(ls -d /usr/lib/gcc/*-linux-gnu/*/include/objc 2>/dev/null | sort -V | tail -1)
OBJC=(-I/usr/include/GNUstep -idirafter "${objc_headers%/objc}" -fobjc-runtime=gcc -fblocks -fexceptions -fobjc-exceptions
  -fconstant-string-class=NSConstantString -DGNUSTEP -DGNUSTEP_BASE_LIBRARY=1 -DGNU_GUI_LIBRARY=1 -DGNU_RUNTIME=1
  -D_NATIVE_OBJC_EXCEPTIONS -w)
