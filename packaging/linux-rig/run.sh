#!/usr/bin/env bash
# run.sh HOME COMMAND...: runs a program over GNUstep with HOME as its home folder. The servers that GNUstep starts for the
# pasteboard and for notifications are started before it and ended after it.
set -eu
[ -n "${DISPLAY:-}" ] || { echo "The windows need a desktop: DISPLAY is not set." >&2; exit 1; }
. "$(dirname "$0")/flags.sh"
home=$(mkdir -p "$1" && cd "$1" && pwd)
shift
"$rig/home.sh" "$home"
wrapper=$(ldconfig -p | awk '/libnss_wrapper\.so/ { print $NF; exit }')
export HOME=$home NSS_WRAPPER_PASSWD=$home/passwd NSS_WRAPPER_GROUP=$home/group
unset XDG_DATA_HOME XDG_CONFIG_HOME XDG_CACHE_HOME XDG_STATE_HOME GNUSTEP_CONFIG_FILE GNUSTEP_USER_ROOT
started=$home/servers # a folder for sockets, whose path has to be short, and the servers' process numbers
if [ -e "$started" ] && read -r temp pids < "$started" && kill -0 $pids 2>/dev/null; then
  export TMPDIR=$temp TEMP=$temp TMP=$temp LD_PRELOAD=$wrapper
else
  temp=$(mktemp -d /tmp/sotto.XXXXXX)
  export TMPDIR=$temp TEMP=$temp TMP=$temp LD_PRELOAD=$wrapper
  servers=()
  for s in gdnc gpbs; do
    setsid "$s" --no-fork >> "$home/servers.log" 2>&1 & # outlives a signal to the whole group
    servers+=($!)
  done
  echo "$temp ${servers[*]}" > "$started"
  trap 'kill -KILL "${servers[@]}" 2>/dev/null; wait 2>/dev/null; LD_PRELOAD= rm -rf "$temp" "$started"' EXIT
  make_services > "$home/services.log" 2>&1 || true
fi
trap : TERM INT # the program ends itself, and then this
status=0
"$@" || status=$?
exit $status
