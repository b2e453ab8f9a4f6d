#!/usr/bin/env bash
# lint.sh GOLANGCI-LINT: lints all Go code, and ui as it is built over GNUstep: half of it has the build tag and is what
# uses the other half. Where the rig has not been built (make ui-build) ui is left out, and this says so.
set -euo pipefail
cd "$(dirname "$0")/.."
lint=$(readlink -f "$1")
go list -f '{{.Dir}}' ./... | grep -v "^$PWD/ui$" | sed "s|^$PWD|.|" | xargs nice "$lint" run --allow-parallel-runners
go mod tidy -diff
if [ ! -e build/linux-rig/headers.id ]; then
  echo "lint: ui is left out, because GNUstep is not set up here (make ui-build)."
  exit 0
fi
packaging/darwinkit.sh
work=$PWD/build/linux-rig/lint.work # the linter takes no -modfile
cat >"$work" <<WORK
go $(go list -m -f '{{.GoVersion}}')

use $PWD

replace github.com/progrium/darwinkit => $PWD/build/darwinkit
WORK
# The flags are those of packaging/linux-rig/build.sh, so that what is built there is in Go's cache
GOWORK=$work GOFLAGS="${GOFLAGS:-} -trimpath" CGO_ENABLED=1 CC=sotto-rig-cc PATH=$PWD/packaging/linux-rig:$PATH \
  CGO_CFLAGS="-O2 -g -DSOTTO_RIG=$(cat build/linux-rig/headers.id)" \
  nice "$lint" run --allow-parallel-runners --build-tags gnustep ./ui/... ./cmd/sotto/
