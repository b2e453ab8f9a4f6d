#!/usr/bin/env bash
# Installs what the rig needs of the system, where it may: GNUstep with its Objective-C runtime, a virtual screen, fonts.
set -eu
packages=(libgnustep-gui-dev libgnustep-base-dev gnustep-gui-runtime gnustep-base-runtime gnustep-back0.29-cairo gobjc
  libblocksruntime-dev libffi-dev libnss-wrapper xvfb xdotool x11-utils x11-xserver-utils imagemagick fonts-inter fonts-dejavu-core
  fonts-noto-cjk)
. "$(dirname "$0")/flags.sh"
command -v "$CC" >/dev/null 2>&1 || packages+=(clang-19)
missing=()
for p in "${packages[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
done
[ ${#missing[@]} = 0 ] && exit 0
if ! command -v apt-get >/dev/null 2>&1; then
  echo "The windows on Linux need these Debian packages or their like: ${missing[*]}" >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then sudo=(); elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then sudo=(sudo -n)
else
  echo "Run 'sudo apt-get install ${missing[*]}', then run this again." >&2
  exit 1
fi
echo "Installing ${missing[*]} ..."
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq >/dev/null
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
