#!/usr/bin/env bash
# vet.sh: vets as macOS sees them those packages that have other files there than on Linux; the rest is vetted on Linux.
set -eu
cd "$(dirname "$0")/../.."
packaging/darwinkit.sh
list() { # list SYSTEM ARCHITECTURE CGO: a line for each package, with its files
  GOOS=$1 GOARCH=$2 CGO_ENABLED=$3 go list -e -modfile=build/darwinkit.mod \
    -f '{{.ImportPath}} {{.GoFiles}}{{.CgoFiles}}{{.TestGoFiles}}{{.XTestGoFiles}}' ./... | LC_ALL=C sort
}
packages=$(LC_ALL=C comm -13 <(list linux amd64 0) <(list darwin arm64 1) | cut -d' ' -f1)
echo "vet for macOS:" $packages
# shellcheck disable=SC2086 # one word for each package
exec packaging/mac/go.sh vet $packages
