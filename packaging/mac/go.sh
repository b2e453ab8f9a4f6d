#!/usr/bin/env bash
# go.sh COMMAND ARGUMENT...: runs go build, vet or list for macOS on arm64, with cgo and the mended darwinkit: on a Mac
# with its own compiler, elsewhere with clang, ld64.lld and stubs. Always with the same flags, so that build and vet
# share Go's cache.
set -eu
cd "$(dirname "$0")/../.."
command=$1
shift
packaging/darwinkit.sh
export GOOS=darwin GOARCH=arm64 CGO_ENABLED=1 CGO_CFLAGS=-O2 MACOSX_DEPLOYMENT_TARGET=14.0
flags=(-trimpath -modfile=build/darwinkit.mod)
link=
if [ "$(uname)" != Darwin ]; then
  packaging/mac/setup.sh
  GOOS='' GOARCH='' CGO_ENABLED=0 CGO_CFLAGS='' \
    go run ./packaging/mac/cmd/macapp sdk build/mac/sdk build/darwinkit "$(go env GOROOT)"
  export CC=sotto-mac-cc PATH=$PWD/packaging/mac:$PATH
  # Go's cache sees neither headers nor stubs nor what is in the compiler's script: these definitions stand for them
  stamp() { cat "$@" | sed '/^#[ !]/d' | cksum | cut -d' ' -f1; } # comments of scripts do not count
  compiler=(packaging/mac/sotto-mac-cc build/mac/compiler build/mac/libc/version)
  headers=$(find packaging/mac/include build/mac/sdk/include -type f | LC_ALL=C sort)
  stubs=$(find build/mac/sdk/Frameworks build/mac/sdk/lib -type f | LC_ALL=C sort)
  CGO_CFLAGS="-O2 -DSOTTO_HEADERS=$(stamp "${compiler[@]}" $headers)"
  link=" -extldflags=-DSOTTO_STUBS=$(stamp "${compiler[@]}" $stubs)"
fi
[ "$command" != build ] || flags+=(-ldflags="-s -w$link")
exec nice go "$command" "${flags[@]}" "$@"
