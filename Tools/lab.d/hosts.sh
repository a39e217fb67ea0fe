# Hosts: on, off, a program run in one, and their daemons. Sourced by Tools/lab.

# Starts the host without waiting for its daemons.
power_on() { # HOST
  local host=$1 directory
  directory=$(directory_of "$host")
  is_on "$host" && return 0
  mkdir -p "$directory"
  if ip netns list | grep -q "^$prefix-$host\b"; then
    set_cable "$host" up
  else
    plug_in "$host"
  fi
  rm -rf "$directory/run"
  LAB_HOST=$host LAB_DIRECTORY=$directory LAB_HELPERS=$helpers LAB_PARTS=$here/lab.d \
    LAB_DAEMONS=$daemons setsid ip netns exec "$prefix-$host" \
    unshare --mount --uts --ipc --pid --fork --kill-child "$here/lab.d/host-init" \
    >>"$directory/init.log" 2>&1 </dev/null &
  local outer=$!
  wait_until 10 "$host did not start" has_child "$outer"
  local child
  child=$(cat "/proc/$outer/task/$outer/children")
  echo "${child% }" >"$directory/pid"
}

has_child() { [ -n "$(cat "/proc/$1/task/$1/children")" ]; }

# Waits until every daemon of the host answers.
wait_until_ready() { # HOST
  local run=$root/$1/run daemon
  wait_until 30 "$1 did not come up" test -e "$run/up"
  for daemon in $daemons; do
    case $daemon in
    avahi) wait_until 30 "$1 has no avahi-daemon" test -S "$run/avahi-daemon/socket" ;;
    audio) wait_until 30 "$1 has no PulseAudio" test -S "$run/pulse/native" ;;
    esac
  done
}

hosts_up() { # HOST…
  local host
  for host; do power_on "$host"; done
  for host; do wait_until_ready "$host"; done
}

# A power cut: nobody says goodbye, the link is dead in the same instant.
power_cut() { # HOST
  set_cable "$1" down
  kill -9 "$(pid_of "$1")"
  rm -f "$root/$1/pid"
}

# An orderly end: daemons are told, so Avahi says goodbye.
shut_down() { # HOST
  local daemon
  for daemon in avahi audio dbus; do
    [ -e "$root/$1/run/$daemon.pid" ] && signal_daemon "$1" "$daemon" TERM
  done
  kill -9 "$(pid_of "$1")"
  rm -f "$root/$1/pid"
}

# Runs a program as if logged in on the host; takes the place of this shell. nsenter waits for the
# program without passing signals on, so the program is told when nsenter is ended.
run_in() { # HOST COMMAND…
  local host=$1 pid
  shift
  [ $# -gt 0 ] || fail "exec $host: say what to run"
  pid=$(pid_of "$host")
  exec nsenter --target "$pid" --net --mount --uts --ipc --pid -- \
    setpriv --pdeathsig TERM env -C "$PWD" \
    -u DBUS_SESSION_BUS_ADDRESS -u DISPLAY -u WAYLAND_DISPLAY \
    -u XDG_CONFIG_HOME -u XDG_DATA_HOME -u XDG_STATE_HOME \
    HOME="$root/$host/home" XDG_RUNTIME_DIR=/run/user/0 PULSE_RUNTIME_PATH=/run/pulse \
    PULSE_SERVER=unix:/run/pulse/native \
    DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/dbus/system_bus_socket LAB_HOST="$host" "$@"
}

# Runs a program with the host's network and this machine's files.
run_on_network_of() { # HOST COMMAND…
  local host=$1
  shift
  exec ip netns exec "$prefix-$host" "$@"
}

# The daemon's pid as this machine sees it: from inside, /run/NAME.pid has the host's own number.
daemon_pid() { # HOST DAEMON
  local inner outer
  inner=$(cat "$root/$1/run/$2.pid" 2>/dev/null) || fail "$1 runs no $2"
  for outer in $(cat "/proc/$(pid_of "$1")/task/"*/children); do
    [ "$(pid_inside "$outer")" = "$inner" ] && echo "$outer" && return
  done
}

pid_inside() { awk '/^NSpid:/ { print $NF }' "/proc/$1/status" 2>/dev/null || true; }

signal_daemon() { # HOST DAEMON SIGNAL: the daemon, and what it started
  local pid
  pid=$(daemon_pid "$1" "$2")
  [ -n "$pid" ] || return 0
  local children
  children=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null)
  # shellcheck disable=SC2086
  kill "-$3" $children "$pid" 2>/dev/null || true
}

daemon_is_gone() { [ -z "$(daemon_pid "$1" "$2")" ]; }

# PID 1 starts it, so that it stays a child of PID 1.
start_daemon() { # HOST DAEMON
  touch "$root/$1/run/start.$2"
  kill -USR1 "$(pid_of "$1")"
  wait_until 10 "$2 did not start on $1" test ! -e "$root/$1/run/start.$2"
}

control_daemon() { # HOST DAEMON kill|stop|cont|start|restart
  case $2 in
  dbus | avahi | audio | microphone) ;;
  *) fail "svc: dbus, avahi, audio or microphone, not '$2'" ;;
  esac
  case $3 in
  kill) signal_daemon "$1" "$2" KILL && wait_until 5 "$2 survived" daemon_is_gone "$1" "$2" ;;
  stop) signal_daemon "$1" "$2" STOP ;;
  cont) signal_daemon "$1" "$2" CONT ;;
  start) start_daemon "$1" "$2" ;;
  restart)
    signal_daemon "$1" "$2" TERM
    wait_until 5 "$2 did not end" daemon_is_gone "$1" "$2"
    start_daemon "$1" "$2"
    ;;
  *) fail "svc $1 $2: kill, stop (SIGSTOP), cont, start or restart, not '$3'" ;;
  esac
}

# Ends everything of this lab: by pid, then its namespaces, then its files.
tear_down() {
  local host namespace
  for host in $(all_hosts); do
    if is_impaired "$host"; then kill "$(cat "$root/$host/bump.pid")" || true; fi
    if is_on "$host"; then kill -9 "$(cat "$root/$host/pid")" || true; fi
  done
  for namespace in $(ip netns list | awk '{ print $1 }'); do
    case $namespace in "$switch" | "$prefix"-h*) ip netns del "$namespace" ;; esac
  done
  rm -rf "${root:?}"
}

# Ends labs whose owner died without tearing them down (LAB_OWNER is the owner's pid).
sweep() {
  local owner
  for owner in /tmp/talkaround-lab/*/owner; do
    [ -e "$owner" ] || continue
    kill -0 "$(cat "$owner")" 2>/dev/null && continue
    LAB_PREFIX=$(basename "$(dirname "$owner")") LAB_ROOT=$(dirname "$owner") "$here/lab" down
  done
}
