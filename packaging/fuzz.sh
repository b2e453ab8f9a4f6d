#!/usr/bin/env bash
# Runs every fuzz target of the tree, one after another, for the given time each.
set -euo pipefail
time=${1:-5m}
grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' . | sort | while read -r file; do
  grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | sed 's/func //' | while read -r target; do
    echo "== $(dirname "$file") $target ($time)"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$(dirname "$file")" </dev/null
  done
done
