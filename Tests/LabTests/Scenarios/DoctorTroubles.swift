/// What can be wrong with a laptop, made on a host of the lab.
extension OnTheLab.DoctorScenarios.Trouble {
  static let all = files + network + sound

  /// A node's first start, so that there is state.
  private static let firstStart =
    "$T --state $S run --headless --no-avahi --no-hello >/dev/null 2>&1 & "
    + "until $T --state $S status >/dev/null 2>&1; do sleep 0.05; done; "
    + "$T --state $S stop; wait; "

  private static let files: [Self] = [
    Self(
      name: "state that others may read", commands: "mkdir -m 755 $S", ills: ["state": "failed"],
      found: "others may use it (mode 755)", cure: "chmod go="),
    Self(
      name: "a truncated identity", commands: firstStart + "truncate -s 40 $S/identity",
      ills: ["state": "failed"], found: "/identity: is cut short (ends at byte 40)",
      cure: "backup"),
    Self(
      name: "an identity of zeros",
      commands: firstStart + "n=$(stat -c %s $S/identity); head -c $n /dev/zero >$S/identity",
      ills: ["state": "failed"], found: "holds only zero bytes (bytes 0 to ", cure: "backup"),
    Self(
      name: "state behind a symbolic link", commands: "mkdir -m 700 $S.real; ln -s $S.real $S",
      ills: ["state": "failed"], found: "is a symbolic link", cure: "real thing"),
    Self(
      name: "a full disk",
      commands: "mkdir $S; mount -t tmpfs -o size=64k,mode=700 tmpfs $S; "
        + "head -c 1M /dev/zero >$S/filling 2>/dev/null || true",
      ills: ["disk": "failed"], found: "the disk is full", cure: "free some space"),
    Self(
      name: "a read-only disk", commands: "mkdir $S; mount -t tmpfs -o ro,mode=700 tmpfs $S",
      ills: ["disk": "failed"], found: "read-only", cure: "mount it writable"),
    Self(
      name: "an identity of another machine",
      commands: firstStart + "cat /proc/sys/kernel/random/uuid | tr -d - >/etc/machine-id",
      ills: ["identity": "warning"], found: "made on another machine", cure: "another --state DIR"),
    Self(
      name: "a clock that is far behind", commands: firstStart + "touch -d '+30 days' $S/boot",
      ills: ["clock": "warning"], found: "behind", cure: "timedatectl"),
    Self(
      name: "a node that hangs",
      holding: [
        "sh", "-c",
        "S=$HOME/talkaround; T=$1; $T --state $S run --headless --no-avahi 2>/dev/null & p=$!; "
          + "until $T --state $S status >/dev/null 2>&1; do sleep 0.05; done; "
          + "kill -STOP $p; echo ready; wait", "sh", program,
      ],
      ills: ["node": "failed"], found: "does not answer", cure: "kill "),
  ]

  private static let program = (try? Requirements.talkaround()) ?? "talkaround"

  /// A program, not ours, that has UDP ports.
  private static func binding(_ last: Int) -> [String] {
    [
      "perl", "-MSocket", "-e",
      "$| = 1; for (41717..\(last)) { my $s; socket($s, AF_INET, SOCK_DGRAM, 0);"
        + "bind($s, sockaddr_in($_, INADDR_ANY)) or die $!; push @all, $s } "
        + "print qq(ready\\n); sleep 60",
    ]
  }

  /// The firewall of many laptops: answers and mDNS come in, nothing else.
  private static let firewall =
    "nft 'add table inet filter'; "
    + "nft 'add chain inet filter input { type filter hook input priority 0; policy drop; }'; "
    + "for rule in 'iif lo accept' 'ct state established,related accept' "
    + "'udp dport 5353 accept' 'meta l4proto ipv6-icmp accept'; do "
    + "nft \"add rule inet filter input $rule\"; done"

  /// A tunnel device as a VPN's program holds it (Documentation/networking/tuntap in Linux).
  private static let tunnel = [
    "perl", "-e",
    "$| = 1; sysopen(my $t, '/dev/net/tun', 2) or die $!; "
      + "my $r = pack('a16 s x22', 'tun0', 0x1001); ioctl($t, 0x400454ca, $r) or die $!; "
      + "system('ip addr add 10.8.0.2 peer 10.8.0.1 dev tun0; ip link set tun0 up; "
      + "ip route replace default dev tun0'); print qq(ready\\n); sleep 60",
  ]

  private static let network: [Self] = [
    Self(
      name: "a port that another program has", holding: binding(41_717), ills: ["port": "warning"],
      found: "UDP port 41717 is taken by perl (process ", cure: "kill "),
    Self(
      name: "no port left", holding: binding(41_732), ills: ["port": "failed"],
      found: "41717 to 41732 are all taken, the first by perl", cure: "--port N"),
    Self(
      name: "no D-Bus", tool: ["svc", "dbus", "kill"], ills: ["dbus": "failed"],
      found: "/run/dbus/system_bus_socket", cure: "systemctl start dbus"),
    Self(
      name: "no Avahi", tool: ["svc", "avahi", "kill"], ills: ["avahi": "failed"],
      found: "not running", cure: "systemctl start avahi-daemon"),
    Self(
      name: "an Avahi that is stopped", tool: ["svc", "avahi", "stop"], ills: ["avahi": "failed"],
      found: "does not answer", cure: "systemctl restart avahi-daemon"),
    Self(
      name: "no cable", tool: ["cable", "down"], ills: ["network": "failed"],
      found: "eth0 has no carrier", cure: "plug in the cable"),
    Self(
      name: "no address", commands: "ip addr flush dev eth0; sleep 0.3; ip -6 addr flush dev eth0",
      ills: ["network": "failed"], found: "eth0 has no address", cure: "dhclient"),
    Self(
      name: "container bridges alone",
      commands: "ip link del eth0; ip link add docker0 type bridge; "
        + "ip addr add 172.17.0.1/16 dev docker0; ip link set docker0 up",
      ills: ["network": "failed"], found: "only docker0", cure: "cable"),
    Self(
      name: "a VPN that holds the way out", holding: tunnel, ills: ["vpn": "warning"],
      found: "tun0", cure: "local network access"),
    Self(
      name: "a firewall", commands: firewall, ills: ["multicast": "failed"],
      found: "firewall drops UDP port 41717", cure: "udp dport 41717 accept"),
  ]

  private static let sound: [Self] = [
    Self(
      name: "no sound server", tool: ["svc", "audio", "kill"], ills: ["sound-server": "failed"],
      found: "/run/pulse/native", cure: "systemctl --user"),
    Self(
      name: "a sound server that is stopped", tool: ["svc", "audio", "stop"],
      ills: ["sound-server": "failed"], found: "does not answer", cure: "systemctl --user"),
    Self(
      name: "no XDG_RUNTIME_DIR", tool: ["svc", "audio", "kill"],
      around: ["env", "-u", "XDG_RUNTIME_DIR", "-u", "PULSE_SERVER", "-u", "PULSE_RUNTIME_PATH"],
      ills: ["sound-server": "failed"], found: "XDG_RUNTIME_DIR is not set", cure: "export"),
    Self(
      name: "no microphone", commands: "pactl unload-module module-pipe-source",
      ills: ["microphone": "failed"], found: "no microphone", cure: "plug one in"),
    Self(
      name: "a monitor as microphone", commands: "pactl set-default-source speaker.monitor",
      ills: ["microphone": "failed"], found: "speaker.monitor",
      cure: "pactl set-default-source mic"),
    Self(
      name: "a muted microphone", commands: "pactl set-source-mute mic 1",
      ills: ["microphone-volume": "failed"], found: "muted", cure: "pactl set-source-mute mic 0"),
    Self(
      name: "a microphone turned down", commands: "pactl set-source-volume mic 0",
      ills: ["microphone-volume": "failed"], found: "volume is 0",
      cure: "pactl set-source-volume mic 80%"),
    Self(
      name: "a microphone switched off", isSpeaking: false,
      ills: ["microphone-signal": "warning"], found: "not the least noise", cure: "switch"),
    Self(
      name: "no loudspeaker", commands: "pactl unload-module module-null-sink",
      ills: ["loudspeaker": "failed"], found: "no loudspeaker", cure: "plug"),
    Self(
      name: "a muted loudspeaker", commands: "pactl set-sink-mute speaker 1",
      ills: ["loudspeaker-volume": "failed"], found: "muted",
      cure: "pactl set-sink-mute speaker 0"),
  ]
}
