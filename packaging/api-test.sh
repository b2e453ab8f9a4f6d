#!/usr/bin/env bash
# Tests `sotto serve` with OpenAI's client for Python and with curl: see api-test.py. The client gets an environment
# of its own under build/. Exits with 75 if something is missing that only the network could bring.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=build/api/venv
want="openai==3.57.0"
missing=()
command -v curl >/dev/null 2>&1 || missing+=(curl)
command -v python3 >/dev/null 2>&1 || missing+=(python3)
python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
[ ${#missing[@]} = 0 ] || packaging/apt.sh "The test of the API" "${missing[@]}"
if [ "$(cat $venv/ready 2>/dev/null)" != "$want" ]; then
  rm -rf $venv
  mkdir -p build/api
  python3 -m venv $venv
  echo "Installing $want into $venv ..."
  packaging/pip.sh $venv/bin/python install "$want"
  echo "$want" >$venv/ready
fi
exec $venv/bin/python packaging/api-test.py "$@"
