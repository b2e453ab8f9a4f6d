#!/usr/bin/env bash
# app.sh: builds build/Sotto.app for macOS on arm64 and checks it: on a Mac with Apple's compiler, codesign and plutil,
# elsewhere with clang, ld64.lld, our stubs and our own signing.
set -eu
cd "$(dirname "$0")/../.."
macapp() { CGO_ENABLED=0 go run ./packaging/mac/cmd/macapp "$@"; }
app=build/Sotto.app
mkdir -p build/mac
packaging/mac/go.sh build -o build/mac/Sotto ./cmd/sotto
macapp bundle "$app" build/mac/Sotto Info.plist
if [ "$(uname)" = Darwin ]; then
  plutil -lint -s "$app/Contents/Info.plist"
  codesign --force --sign "${SIGN_AS:--}" "$app"
  codesign --verify --strict "$app"
  macapp check-native "$app"
else
  macapp sign "$app"
  macapp check "$app"
fi
echo "$app: $(du -sh "$app" | cut -f1)"
