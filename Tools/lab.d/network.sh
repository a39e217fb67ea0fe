# The bridge that joins the hosts, and the ways to break it. Sourced by Tools/lab.
#
#   host: eth0 <-- veth --> pN, a port of bridge br0 in the switch's own network namespace
#
# An impaired host has a program between its port and the bridge:
#
#   host: eth0 <-- veth --> pN <-- bump --> tN, a port of bridge br0

in_switch() { ip netns exec "$switch" "$@"; }

switch_exists() { ip netns list | grep -q "^$switch\b"; }

switch_up() {
  switch_exists && return 0
  ip netns add "$switch"
  in_switch sysctl -qw net.ipv6.conf.default.disable_ipv6=1 net.ipv6.conf.all.disable_ipv6=1
  ip -n "$switch" link add br0 type bridge mcast_snooping 0 stp_state 0 forward_delay 0
  ip -n "$switch" link set br0 up
  in_switch nft -f - <<RULES
table bridge lab {
  set cut { type ifname . ifname; }
  chain forward { type filter hook forward priority 0; iifname . oifname @cut counter drop; }
}
RULES
}

# Makes the host's network: a namespace of its own with eth0 on the bridge.
plug_in() { # HOST
  local host=$1 number
  number=$(number_of "$host")
  ip netns add "$prefix-$host"
  ip -n "$prefix-$host" link set lo up
  ip -n "$prefix-$host" link add eth0 address "$(mac_of "$host")" type veth \
    peer name "p$number" netns "$switch"
  # Offloads would hand the recorder frames that no cable carries.
  ip netns exec "$prefix-$host" ethtool -K eth0 tx off tso off gso off gro off >/dev/null 2>&1 ||
    true
  ip -n "$switch" link set "p$number" master br0 up
  # Without duplicate detection an address can be used at once.
  ip netns exec "$prefix-$host" sysctl -qw net.ipv6.conf.eth0.accept_dad=0
  ip -n "$prefix-$host" link set eth0 up
  give_address "$host" "$number"
}

give_address() { # HOST NUMBER
  ip -n "$prefix-$1" addr add "$v4.$2/24" dev eth0
  ip -n "$prefix-$1" addr add "$v6$2/64" dev eth0 nodad
  ip -n "$prefix-$1" route replace 224.0.0.0/4 dev eth0
}

# What a new DHCP lease or another access point does: the old address goes, another comes.
change_address() { # HOST NUMBER
  ip -n "$prefix-$1" addr flush dev eth0 scope global
  give_address "$1" "$2"
}

# The cable: without it the host loses carrier, as it would.
set_cable() { # HOST up|down
  local number
  number=$(number_of "$1")
  case $2 in up | down) ;; *) fail "cable $1 up|down" ;; esac
  ip -n "$switch" link set "p$number" "$2"
  if is_impaired "$1"; then ip -n "$switch" link set "t$number" "$2"; fi
}

# Frames from A to B, as elements of the cut set. A host's port is pN or, impaired, tN.
frames_between() { # A B
  local a b from to
  a=$(number_of "$1") b=$(number_of "$2")
  for from in "p$a" "t$a"; do
    for to in "p$b" "t$b"; do printf '"%s" . "%s", ' "$from" "$to"; done
  done
}

both_ways() { # A B
  frames_between "$1" "$2"
  frames_between "$2" "$1"
}

add_cuts() { in_switch nft add element bridge lab cut "{ $1 }"; }

cut_between() { add_cuts "$(both_ways "$1" "$2")"; } # A B: silent, both keep their carrier

cut_one_way() { add_cuts "$(frames_between "$1" "$2")"; } # A B: what A sends never reaches B

split_into() { # "h1 h2" "h3" …: nothing passes from one group to another
  local groups=("$@") i j a b cuts=
  for ((i = 0; i < ${#groups[@]}; i++)); do
    for ((j = i + 1; j < ${#groups[@]}; j++)); do
      for a in ${groups[i]}; do
        for b in ${groups[j]}; do cuts+=$(both_ways "$a" "$b"); done
      done
    done
  done
  add_cuts "$cuts"
}

heal() { # [A B]: that pair, or everything
  if [ $# = 0 ]; then
    in_switch nft flush set bridge lab cut
  else
    # Added first, since only what is there can be deleted.
    in_switch nft -f - <<RULES
add element bridge lab cut { $(both_ways "$1" "$2") }
delete element bridge lab cut { $(both_ways "$1" "$2") }
RULES
  fi
}
