#!/usr/bin/env bash
# pip.sh PYTHON ARGUMENT...: runs pip. Exits with 75 if it fails and its index cannot be reached, with 1 if it fails
# otherwise.
set -eu
python=$1
shift
"$python" -m pip --disable-pip-version-check --quiet "$@" && exit 0
index=${PIP_INDEX_URL:-$("$python" -m pip config get global.index-url 2>/dev/null || echo https://pypi.org/simple)}
"$python" - "${index%/}/pip/" <<'PY' 2>/dev/null || { echo "pip: $index cannot be reached: is there a network?" >&2; exit 75; }
import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=20)
PY
exit 1
