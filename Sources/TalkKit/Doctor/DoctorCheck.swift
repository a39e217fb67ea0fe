/// The checks of the doctor, each after those that it rests on. The words are in `--json`, and are
/// never used again for something else.
package enum DoctorCheck: String, CaseIterable, Sendable {
  /// Which program this is, and whether the running node is the same.
  case version
  /// The wall clock.
  case clock
  /// The state directory: whose it is, who may read it, whether its files are whole.
  case state
  /// Room to write there.
  case disk
  /// Who we are: the identity file and our name.
  case identity
  /// The node and its control socket; a second copy.
  case node
  /// The UDP port.
  case port
  /// The system D-Bus, which Avahi is asked over.
  case dbus
  /// avahi-daemon.
  case avahi
  /// A network at all: a link that is up, with an address.
  case network
  /// A VPN that holds the way to the wide world.
  case vpn
  /// Multicast: sent, and our own copy heard; a firewall shows here.
  case multicast
  /// Whether any other member is heard.
  case peers
  /// Whether others' answers to our port arrive; a firewall shows here too.
  case unicast
  /// PulseAudio, or PipeWire in its place.
  case soundServer = "sound-server"
  /// A microphone, and not a loudspeaker's monitor.
  case microphone
  /// Whether it is muted or turned down.
  case microphoneVolume = "microphone-volume"
  /// Whether any sound comes out of it.
  case microphoneSignal = "microphone-signal"
  /// A loudspeaker.
  case loudspeaker
  /// Whether it is muted or turned down.
  case loudspeakerVolume = "loudspeaker-volume"
  /// Whether a node without a screen goes on when nobody is logged in.
  case linger
  /// Whether more than one member of each channel may admit and grant.
  case admins
  /// Whether two members go by one name.
  case names
  /// The member that `--with` names.
  case peer

  /// Its name for people.
  package var title: String {
    switch self {
    case .version: "Version"
    case .clock: "Clock"
    case .state: "State files"
    case .disk: "Disk"
    case .identity: "Identity"
    case .node: "Node"
    case .port: "UDP port"
    case .dbus: "D-Bus"
    case .avahi: "Avahi"
    case .network: "Network"
    case .vpn: "VPN"
    case .multicast: "Multicast"
    case .peers: "Peers"
    case .unicast: "Unicast reply"
    case .soundServer: "Sound server"
    case .microphone: "Microphone"
    case .microphoneVolume: "Microphone volume"
    case .microphoneSignal: "Microphone signal"
    case .loudspeaker: "Loudspeaker"
    case .loudspeakerVolume: "Loudspeaker volume"
    case .linger: "Linger"
    case .admins: "Admins"
    case .names: "Names"
    case .peer: "Peer"
    }
  }

  /// What must be well before this check says anything.
  package var needs: DoctorCheck? {
    switch self {
    case .avahi: .dbus
    case .vpn, .multicast, .peers, .unicast: .network
    case .microphone, .loudspeaker: .soundServer
    case .microphoneVolume: .microphone
    case .microphoneSignal: .microphoneVolume
    case .loudspeakerVolume: .loudspeaker
    case .identity, .admins: .state
    case .peer: .node
    default: nil
    }
  }
}

/// What a check says, before it has a name.
package struct DoctorOpinion: Hashable, Sendable {
  var verdict: DoctorVerdict
  var found: String
  var cure: String?
  var facts: [String: String] = [:]

  /// All is well.
  static func ok(_ found: String, _ facts: [String: String] = [:]) -> DoctorOpinion {
    DoctorOpinion(verdict: .ok, found: found, facts: facts)
  }

  /// Something to look at.
  static func warning(
    _ found: String, cure: String, _ facts: [String: String] = [:]
  ) -> DoctorOpinion {
    DoctorOpinion(verdict: .warning, found: found, cure: cure, facts: facts)
  }

  /// Something that does not work.
  static func failed(
    _ found: String, cure: String, _ facts: [String: String] = [:]
  ) -> DoctorOpinion {
    DoctorOpinion(verdict: .failed, found: found, cure: cure, facts: facts)
  }

  /// Not looked at, and why.
  static func skipped(_ why: String) -> DoctorOpinion {
    DoctorOpinion(verdict: .skipped, found: why)
  }
}
