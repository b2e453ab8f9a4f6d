#!/usr/bin/env bash
# Tests `sotto serve` with OpenAI's client for Python and with curl: see api-test.py. The client gets an environment
# of its own under build/, so nothing is installed for the user or the system. Skips only if PyPI cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/api/venv
want="openai==3.57.0"
reach() { python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=20)' "$1" 2>/dev/null; }
for program in python3 curl; do
  command -v $program >/dev/null 2>&1 || { echo "api-test needs $program: install it and run this again." >&2; exit 1; }
done
if [ "$(cat $venv/ready 2>/dev/null)" != "$want" ]; then
  rm -rf $venv
  mkdir -p build/api
  if ! python3 -m venv $venv >/dev/null 2>&1 || ! $venv/bin/python -m pip --version >/dev/null 2>&1; then
    echo "api-test needs pip and venv for python3: install them (on Debian: python3-venv) and run this again." >&2
    exit 1
  fi
  echo "Installing $want into $venv ..."
  if ! $venv/bin/python -m pip install --quiet --disable-pip-version-check "$want"; then
    index=$($venv/bin/python -m pip config get global.index-url 2>/dev/null || echo https://pypi.org/simple)
    index=${PIP_INDEX_URL:-$index}
    if reach "${index%/}/openai/"; then
      echo "api-test: pip could not install $want (see above)." >&2
      exit 1
    fi
    echo "api-test: SKIPPED, $index cannot be reached."
    exit 0
  fi
  echo "$want" >$venv/ready
fi
exec $venv/bin/python packaging/api-test.py "$@"
