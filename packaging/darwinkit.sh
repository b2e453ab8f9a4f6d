#!/usr/bin/env bash
# darwinkit.sh: what every build with windows needs of darwinkit, under build/: a copy of the version that go.mod names
# with one mend, and darwinkit.mod, a go.mod that uses the copy (go build -modfile=build/darwinkit.mod). Nothing is
# written when it is there already.
#
# The mends: the argument types of a closure's call description lie on a dead stack unless the description keeps them
# (darwinkit issue 286; Go 1.25 and later crash in the first delegate without it). And a result is received in a whole
# register's room on the heap: libffi writes eight bytes for a BOOL, which Go keeps in one beside other small things, and
# a result's place on the stack moves when the callee calls back into Go.
set -eu
cd "$(dirname "$0")/.."
copy=build/darwinkit
source=$(go list -m -f '{{.Dir}}' github.com/progrium/darwinkit)
if [ -z "$source" ]; then
  go mod download github.com/progrium/darwinkit
  source=$(go list -m -f '{{.Dir}}' github.com/progrium/darwinkit)
fi
stamp=$source:$(cksum < "packaging/darwinkit.sh")
if [ "$(cat "$copy/.stamp" 2>/dev/null)" != "$stamp" ]; then
  mkdir -p build
  new=$(mktemp -d build/darwinkit.XXXXXX)
  trap 'rm -rf "$new"' EXIT
  cp -R "$source"/{go.mod,go.sum,LICENSE,dispatch,helper,kernel,macos,objc,internal} "$new"
  chmod -R u+w "$new"
  rm -rf "$new"/macos/_*
  awk '/^\truntime\.KeepAlive\(rtype\)$/ { print "\tcif.rtype, cif.arg_types = rtype, &argtypes[0]"; n++ } { print }
    END { exit n != 1 }' "$source/objc/ffi/ffi.go" > "$new/objc/ffi/ffi.go" ||
    { echo "darwinkit.sh: the line to mend is not there in $source" >&2; exit 1; }
  awk '/^\tvar retPtr unsafe\.Pointer$/ && !n { n = 1; drop = 1; next }
    drop && /^\tif directPointer\(rt\) \{$/ { print "\tretPtr := resultRoom(unsafe.Sizeof(ret))"; n = 2; block = 1; next }
    block { if (/^\t\}$/) block = drop = 0; next }
    { print }
    END {
      print "\n// resultRoom returns room for a result on the heap, never less than what a callee may write."
      print "//\n//go:noinline\nfunc resultRoom(size uintptr) unsafe.Pointer { return unsafe.Pointer(&make([]uint64, size/8+2)[0]) }"
      exit n != 2
    }' "$source/objc/call.go" > "$new/objc/call.go" ||
    { echo "darwinkit.sh: the lines to mend are not there in $source/objc/call.go" >&2; exit 1; }
  echo "$stamp" > "$new/.stamp"
  chmod 755 "$new"
  rm -rf "$copy"
  mv "$new" "$copy"
fi
write() { # write FILE: what is on standard input, if it is another
  cat > "$1.new"
  if cmp -s "$1.new" "$1"; then rm "$1.new"; else mv "$1.new" "$1"; fi
}
{ cat go.mod; echo 'replace github.com/progrium/darwinkit => ./build/darwinkit'; } | write build/darwinkit.mod
write build/darwinkit.sum < go.sum
