#!/usr/bin/env bash
# Installs what the rig needs of the system, where it may: GNUstep with its Objective-C runtime, a virtual screen, fonts.
# Exits with 75 if only the network is missing.
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
[ ${#missing[@]} = 0 ] || "$root/packaging/apt.sh" "The windows on Linux" "${missing[@]}"
