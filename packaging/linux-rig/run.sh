#!/usr/bin/env bash
# run.sh HOME COMMAND...: runs a program over GNUstep with HOME as its home folder. The servers that GNUstep starts for the
# pasteboard and for notifications are started before it and ended after it.
set -eu
. "$(dirname "$0")/flags.sh"
home=$(mkdir -p "$1" && cd "$1" && pwd)
shift
"$rig/home.sh" "$home"
wrapper=$(ldconfig -p | awk '/libnss_wrapper\.so/ { print $NF; exit }')
export HOME=$home TMPDIR=$home/tmp NSS_WRAPPER_PASSWD=$home/passwd NSS_WRAPPER_GROUP=$home/group LD_PRELOAD=$wrapper
unset XDG_DATA_HOME XDG_CONFIG_HOME XDG_CACHE_HOME XDG_STATE_HOME GNUSTEP_CONFIG_FILE GNUSTEP_USER_ROOT
if [ ! -e "$home/servers" ] || ! kill -0 $(cat "$home/servers") 2>/dev/null; then
  servers=()
  for s in gdnc gpbs; do
    "$s" --no-fork >> "$home/servers.log" 2>&1 &
    servers+=($!)
  done
  echo "${servers[*]}" > "$home/servers"
  trap 'kill -KILL "${servers[@]}" 2>/dev/null; rm -f "$home/servers"' EXIT
  make_services > "$home/services.log" 2>&1 || true
fi
"$@"
