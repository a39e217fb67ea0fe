# Delay, jitter, loss and the rest for one host's link. Sourced by Tools/lab.
#
# The kernel may lack sch_netem, so a program does it (bump.c). Its rules are a file that it reads
# again at SIGHUP, one line a rule, the first that fits counts: DIRECTION PEER KEY=VALUE…

is_impaired() { [ -e "$root/$1/bump.pid" ] && kill -0 "$(cat "$root/$1/bump.pid")" 2>/dev/null; }

impair() { # HOST off | HOST [out|in|both] [from=HOST|to=HOST|mcast] KEY=VALUE…
  local host=$1 direction=both peer='*'
  shift
  is_on "$host" || fail "$host is off"
  if [ "${1-}" = off ]; then
    bump_stop "$host"
    return
  fi
  case ${1-} in out | in | both) direction=$1 && shift ;; esac
  case ${1-} in
  from=* | to=*)
    peer=$(mac_of "${1#*=}")
    [[ $1 = from=* ]] && direction=in || direction=out
    shift
    ;;
  mcast)
    peer=mcast
    shift
    ;;
  esac
  [ $# -gt 0 ] || fail "impair $host: say how, for example delay=20 jitter=5 loss=1"
  local each
  for each in out in; do
    case $direction in both | "$each") replace_rule "$host" "$each" "$peer" "$*" ;; esac
  done
  if is_impaired "$host"; then
    kill -HUP "$(cat "$root/$host/bump.pid")"
  else
    bump_start "$host"
  fi
}

# Writes the rule in place of an older one for the same frames; rules for all frames stay last.
replace_rule() { # HOST DIRECTION PEER KEYS
  local rules=$root/$1/bump.rules
  touch "$rules"
  {
    grep -vF -- "$2 $3 " "$rules" | grep -vF ' * ' || true
    [ "$3" = '*' ] || echo "$2 $3 $4"
    grep -F ' * ' "$rules" | grep -vF -- "$2 $3 " || true
    [ "$3" != '*' ] || echo "$2 $3 $4"
  } >"$rules.new"
  mv "$rules.new" "$rules"
}

bump_start() { # HOST
  local directory number
  directory=$(directory_of "$1") number=$(number_of "$1")
  ip -n "$switch" link set "p$number" nomaster
  ip netns exec "$switch" "$helpers/bump" "p$number" "t$number" "$directory/bump.rules" \
    "$directory/bump.counts" >>"$directory/bump.log" 2>&1 </dev/null &
  echo $! >"$directory/bump.pid"
  wait_until 2 "the impairment of $1 did not start" ip -n "$switch" link show "t$number" >/dev/null
  ip -n "$switch" link set "t$number" master br0 up
}

bump_stop() { # HOST
  local directory number
  directory=$(directory_of "$1") number=$(number_of "$1")
  is_impaired "$1" && kill "$(cat "$directory/bump.pid")"
  rm -f "$directory/bump.pid" "$directory/bump.rules"
  wait_until 2 "the impairment of $1 did not end" tap_is_gone "$number"
  ip -n "$switch" link set "p$number" master br0
}

tap_is_gone() { ! ip -n "$switch" link show "t$1" >/dev/null 2>&1; }

# Counts of every rule of every impaired host.
impairment_counts() {
  local host
  for host in $(all_hosts); do
    is_impaired "$host" || continue
    rm -f "$root/$host/bump.counts"
    kill -USR1 "$(cat "$root/$host/bump.pid")"
    wait_until 2 "$host has no counts" test -e "$root/$host/bump.counts"
    sed "s/^/$host /" "$root/$host/bump.counts"
  done
}
