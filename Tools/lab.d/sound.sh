# What a host's microphone hears and its speaker plays. Sourced by Tools/lab.
#
# All times are CLOCK_MONOTONIC, one clock for all hosts: a delay from mouth to ear is a difference.

tell_microphone() { # HOST WORD…: to microphone.c, see its head
  local host=$1
  shift
  [ -p "$root/$host/run/microphone.ctl" ] || fail "$host has no microphone: its audio daemon is off"
  echo "$*" >"$root/$host/run/microphone.ctl"
}

# Speaks a file into the microphone and prints when its first sample was spoken, in seconds.
speak() { # HOST FILE [GAIN]
  local host=$1 file log=$root/$1/run/microphone.log before
  file=$(readlink -e "$2") || fail "no file $2"
  before=$(times_spoken "$log")
  tell_microphone "$host" play "$file" "${3-}"
  wait_until 2 "$host's microphone did not take $file" has_spoken "$log" "$before"
  awk '$1 == "play" { time = $2 } END { print time }' "$log"
}

times_spoken() { grep -c '^play ' "$1" 2>/dev/null || true; }

has_spoken() { [ "$(times_spoken "$1")" -gt "$2" ]; }

record() { # HOST OUT.raw [SECONDS [SOURCE]]
  local out
  out=$(readlink -f "$2")
  run_in "$1" "$helpers/recorder" "${4:-speaker.monitor}" "$out" "${3:-0}"
}
