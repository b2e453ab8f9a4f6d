#!/usr/bin/env bash
# full-size.sh qwen|nemotron [FLAG...]: writes a checkpoint of a published model's size with made-up weights, packs it,
# has it answer in all ways that must come to the same, compares it with numpy (in an environment of its own under
# build/), and measures. Flags go to `fullsize check`. All else is under build/full-size/MODEL and deleted at the end,
# unless KEEP=1: then the next run goes on from there. It takes 40 GB of disk.
set -euo pipefail
cd "$(dirname "$0")/.."
model=${1:-}
case $model in
  qwen) like=qwen36_35b_a3b without=() ;;
  nemotron) like=nemotron35_lightning without=(--ablate sparse) ;;
  *) echo "full-size: MODEL=qwen or MODEL=nemotron" >&2; exit 2 ;;
esac
shift
home=$PWD/build/full-size/$model
dir=$home/$like
venv=build/bench/numpy
want="numpy==2.4.6"
command -v python3 >/dev/null && python3 -c 'import ensurepip, venv' 2>/dev/null ||
  packaging/apt.sh "The comparison at full size" python3 python3-venv
if [ "$(cat $venv/ready 2>/dev/null)" != "$want" ]; then
  rm -rf $venv
  mkdir -p build/bench
  python3 -m venv $venv
  packaging/pip.sh $venv/bin/python install "$want"
  echo "$want" >$venv/ready
fi
mkdir -p "$home"
clean() { [ "${KEEP:-}" = 1 ] || rm -rf "$home"; }
trap clean EXIT
go build -o "$home/fullsize" ./packaging/fullsize
export XDG_CACHE_HOME=$home/cache XDG_DATA_HOME=$home/data # Sotto's, from here on
if [ ! -e "$dir" ]; then
  "$home/fullsize" write -config engine/model/testdata/$like.json -tensors engine/model/testdata/$like.tensors.gz "$dir"
fi
"$home/fullsize" check "$@" "$dir"
$venv/bin/python packaging/full-size.py bin/sotto "$dir"
bin/sotto bench --model "$dir" --prompt 16 --tokens 8 --rounds 1 "${without[@]}"
if [ "$model" = nemotron ]; then
  bin/sotto bench --model "$dir" --table live --tokens 8 --rounds 1
fi
