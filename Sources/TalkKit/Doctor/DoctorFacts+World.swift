package import TalkAudio
package import TalkNet

/// The facts of network, sound, login and channels.
extension DoctorFacts {
  /// Interfaces and the way out.
  package struct Network: Hashable, Sendable {
    /// All interfaces.
    package var interfaces: [Interface] = []
    /// The addresses of those that are up, by the interface's name, link-local ones left out.
    package var addresses: [String: [String]] = [:]
    /// The link-local addresses, likewise.
    package var linkLocal: [String: [String]] = [:]
    /// The interface that traffic to the wide world leaves by; nil where there is no way.
    package var defaultInterface: String?

    /// An empty network.
    package init() {}
  }

  /// What was sent and heard on the network.
  package struct Air: Hashable, Sendable {
    /// One link that a datagram was sent on to everybody.
    package struct LinkProbe: Hashable, Sendable {
      /// The interface.
      package var name: String
      /// What it is like.
      package var kind: Link.Kind
      /// The errno with which sending failed; nil when it did not.
      package var sendError: Int32?
      /// True when our own copy came back by IPv4 multicast or broadcast.
      package var heardIPv4 = false
      /// True when it came back by IPv6 multicast.
      package var heardIPv6 = false

      /// A probe of its parts.
      package init(
        name: String, kind: Link.Kind = .usual, sendError: Int32? = nil, heardIPv4: Bool = false,
        heardIPv6: Bool = false
      ) {
        self.name = name
        self.kind = kind
        self.sendError = sendError
        self.heardIPv4 = heardIPv4
        self.heardIPv6 = heardIPv6
      }

      /// True when our own copy came back.
      package var heard: Bool { heardIPv4 || heardIPv6 }
    }

    /// What the firewall of this machine is kept by, for the cure.
    package enum Firewall: String, Hashable, Sendable {
      /// ufw(8).
      case ufw
      /// firewalld(1).
      case firewalld
      /// Neither: rules of nft(8) or iptables(8).
      case rules
    }

    /// The links that were tried.
    package var links: [LinkProbe] = []
    /// Why nothing could be tried at all.
    package var fault: String?
    /// HELLOs heard of members of our channels, by address.
    package var members: [String] = []
    /// HELLOs of others' channels.
    package var foreign = 0
    /// Members that called us by unicast when they heard our HELLO, by address. Tried only while no
    /// node runs.
    package var callers: [String] = []
    /// What keeps the firewall.
    package var firewall = Firewall.rules

    /// Nothing tried yet.
    package init() {}
  }

  /// The sound server and its devices.
  package struct Sound: Hashable, Sendable {
    /// How the server took our connection.
    package enum Connection: Hashable, Sendable {
      /// It answers.
      case answering
      /// Neither XDG_RUNTIME_DIR nor PULSE_SERVER is set, so nobody knows where it is.
      case noRuntimeFolder
      /// There is no such socket.
      case noSocket
      /// The socket is there, and nobody listens.
      case refused
      /// We may not connect.
      case denied
      /// It does not answer.
      case silent
      /// Something else, in libpulse's words.
      case failed(String)
    }

    /// What a moment of the microphone was like.
    package enum Signal: Hashable, Sendable {
      /// Not listened to.
      case none
      /// This loud.
      case level(AudioLevel)
      /// It gave nothing, in libpulse's words.
      case failed(String)
    }

    /// Where the server is, as libpulse would look for it.
    package var server = ""
    /// How it took us.
    package var connection = Connection.answering
    /// Its sources and sinks.
    package var devices: [AudioDeviceInfo] = []
    /// What the node takes voice from, or would: `pulse`, `pulse:NAME`, `null`, or a file.
    package var capture = "pulse"
    /// What it plays on, or would.
    package var playback = "pulse"
    /// A moment of the microphone.
    package var signal = Signal.none

    /// Nothing looked at yet.
    package init() {}
  }

  /// How the node is started.
  package struct Login: Hashable, Sendable {
    /// True where systemd runs.
    package var hasSystemd = false
    /// True when the user's unit is started at login.
    package var isUnitEnabled = false
    /// True when the user's units go on without a login.
    package var lingers = false
    /// True when somebody sits before a screen.
    package var hasScreen = false
    /// The user's name.
    package var user = ""

    /// Nothing looked at yet.
    package init() {}
  }

  /// A channel, as the state directory has it.
  package struct Channel: Hashable, Sendable {
    /// Its name.
    package var name: String
    /// Its members, ourselves included.
    package var members: Int
    /// The identities of its admins, their first eight digits.
    package var admins: [String]
    /// True when we are an admin.
    package var isAdmin: Bool
    /// True when nobody has admitted us yet.
    package var isJoining: Bool

    /// A channel of its parts.
    package init(
      name: String, members: Int, admins: [String], isAdmin: Bool, isJoining: Bool = false
    ) {
      self.name = name
      self.members = members
      self.admins = admins
      self.isAdmin = isAdmin
      self.isJoining = isJoining
    }
  }
}
