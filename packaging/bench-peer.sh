#!/usr/bin/env bash
# Compares Sotto with mlx-lm on this machine's processor: see bench-peer.py. mlx-lm gets an environment of its own
# under build/, so nothing is installed for the user or the system. Arguments go to bench-peer.py.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/bench/venv
want="mlx[cpu]==0.32.4 mlx-lm==0.32.2"
need() { # need PROGRAM WHY PACKAGE
  command -v "$1" >/dev/null 2>&1 || { echo "bench-peer needs $1 $2: install it (on Debian: $3) and run this again." >&2; exit 1; }
}
need python3 "for mlx-lm" python3-venv
need g++ "because mlx compiles its processor kernels when it runs" g++
if [ "$(cat $venv/ready 2>/dev/null)" != "$want" ]; then
  rm -rf $venv
  mkdir -p build/bench
  if ! python3 -m venv $venv >/dev/null 2>&1 || ! $venv/bin/python -m pip --version >/dev/null 2>&1; then
    echo "bench-peer needs pip and venv for python3: install them (on Debian: python3-venv) and run this again." >&2
    exit 1
  fi
  echo "Installing $want into $venv ..."
  # shellcheck disable=SC2086 # two requirements
  $venv/bin/python -m pip install --quiet --disable-pip-version-check $want || {
    echo "bench-peer: pip could not install $want (see above)." >&2
    exit 1
  }
  echo "$want" >$venv/ready
fi
exec $venv/bin/python packaging/bench-peer.py "$@"
