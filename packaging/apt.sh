#!/usr/bin/env bash
# apt.sh WHY PACKAGE...: installs Debian packages, or says who must. Exits with 75 if only the network is missing, with
# 1 if they cannot be installed for another reason.
set -eu
why=$1
shift
if ! command -v apt-get >/dev/null 2>&1; then
  echo "$why: install these Debian packages or their like, then run this again: $*" >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then sudo=()
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then sudo=(sudo -n)
else
  echo "$why: run 'sudo apt-get install $*', then run this again." >&2
  exit 1
fi
echo "Installing $* ..."
apt() { "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" >/dev/null; }
fresh=1
apt -o APT::Update::Error-Mode=any update || fresh=
apt install -y --no-install-recommends "$@" && exit 0
if [ -z "$fresh" ]; then
  echo "$why: apt-get could not install $*, because package lists cannot be reached: is there a network?" >&2
  exit 75
fi
echo "$why: apt-get could not install $* (see above)." >&2
exit 1
