# Where a lab lives, and what its parts are called. Sourced by Tools/lab.

# Several labs run side by side when each has its own prefix; their networks never meet.
prefix=${LAB_PREFIX:-lab}
root=${LAB_ROOT:-/tmp/talkaround-lab/$prefix}
helpers=${LAB_HELPERS:-$here/../.build/lab}
switch=$prefix-sw

v4=${LAB_V4:-10.77.0}
v6=${LAB_V6:-fd77::}
daemons=${LAB_DAEMONS-dbus avahi audio}

fail() {
  echo "lab: $*" >&2
  exit 1
}

# Hosts are named h1, h2 …; the number is also the last part of every address of theirs.
number_of() {
  [[ $1 =~ ^h([1-9][0-9]?|1[0-9][0-9]|2[0-4][0-9])$ ]] || fail "no host is called '$1': h1 to h249"
  echo "${1#h}"
}

directory_of() { echo "$root/$1"; }

# The host's PID 1, as this machine sees it.
pid_of() { cat "$root/$1/pid" 2>/dev/null || fail "$1 is off: Tools/lab start $1"; }

is_on() { [ -e "$root/$1/pid" ] && kill -0 "$(cat "$root/$1/pid")" 2>/dev/null; }

# Every host that was ever started in this lab, in order.
all_hosts() {
  local directory
  for directory in "$root"/h*/; do
    [ -d "$directory" ] && basename "$directory"
  done | sort -V
}

mac_of() { printf '02:4c:41:42:00:%02x' "$(number_of "$1")"; }

# wait_until SECONDS WHAT COMMAND…: polls until the command succeeds, else fails naming WHAT.
wait_until() {
  local tries=$(($1 * 50)) what=$2
  shift 2
  while ! "$@" 2>/dev/null; do
    ((tries-- > 0)) || fail "$what; see $root/*/*.log"
    sleep 0.02
  done
}

# Compiles each helper whose source is newer than it. Safe beside another lab that does the same.
compile_helpers() {
  mkdir -p "$helpers"
  compile bump bump.c bump-rules.c -lm
  compile microphone microphone.c
  compile recorder recorder.c -lpulse
  compile sniff sniff.c
  compile flood flood.c
  compile speech speech.c g722.c -lm
}

compile() { # PROGRAM SOURCE-OR-LIBRARY…
  local program=$helpers/$1 source newer=
  shift
  for source in "$here"/lab.d/*.h "${@/#/$here/lab.d/}"; do
    [ "$source" -nt "$program" ] && newer=yes
  done
  [ -z "$newer" ] && return 0
  local arguments=()
  for source; do
    case $source in -l*) arguments+=("$source") ;; *) arguments+=("$here/lab.d/$source") ;; esac
  done
  cc -std=gnu17 -O2 -Wall -Wextra -Werror -o "$program.$$" "${arguments[@]}" ||
    fail "cannot compile $(basename "$program"): run Tools/setup"
  mv "$program.$$" "$program"
}
