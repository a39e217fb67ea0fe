package import TalkCore

/// A service that mDNS has shown: somebody to try, never proof that anybody is there.
package struct DiscoveredService: Hashable, Sendable {
  /// Sixteen lower-case hex digits; anything else was left out.
  package let instance: String
  /// Where it says it is; scope for a link-local address.
  package let endpoint: Endpoint
  /// The index of the interface that it was seen on.
  package let interface: UInt32
  /// The strings of its TXT record, as raw bytes, in no order; untrusted.
  package let text: [[UInt8]]
}

/// What the discovery can do at the moment.
package enum DiscoveryStatus: Hashable, Sendable, CustomStringConvertible {
  /// The daemon answers.
  case running
  /// The daemon is about to agree on its host's name; nothing is published until it has.
  case registering
  /// There is a system bus and no avahi-daemon on it: start it.
  case daemonAbsent
  /// There is no system bus: start dbus and avahi-daemon.
  case busAbsent
  /// The daemon or the bus does not answer.
  case notAnswering
  /// `stop` was called, and everything is withdrawn.
  case stopped

  /// A few words for a person.
  package var description: String {
    switch self {
    case .running: "Avahi is running"
    case .registering: "Avahi is settling its host name"
    case .daemonAbsent: "avahi-daemon is not running"
    case .busAbsent: "there is no system D-Bus"
    case .notAnswering: "avahi-daemon does not answer"
    case .stopped: "discovery is stopped"
    }
  }
}

/// What the discovery tells its loop.
package enum DiscoveryEvent: Hashable, Sendable {
  /// A service was resolved: once for each interface and IP version, and again at each refresh.
  case found(DiscoveredService)
  /// An instance is not seen on any interface any more.
  case lost(instance: String)
  /// Our own instance is registered, and its TXT record as last asked for.
  case published(instance: String)
  /// Somebody else has our instance: publish another one, with tags for it. Nothing is published
  /// until then.
  case collision(instance: String)
  /// Said once per change.
  case status(DiscoveryStatus)
}

/// Why something cannot be published: a mistake of the caller's.
package enum DiscoveryError: Error, Hashable, Sendable {
  /// An instance is sixteen lower-case hex digits.
  case badInstance
  /// The port is 0.
  case badPort
  /// A TXT string is empty or longer than 255 bytes, or all together exceed
  /// `Publication.textLimit`.
  case badText
}

/// What we tell others: one service.
struct Publication: Hashable, Sendable {
  /// The most bytes of a TXT record, with a length byte for each string (mesh.md).
  static let textLimit = 400

  let instance: String
  let port: UInt16
  let text: [[UInt8]]

  /// Checks that Avahi will take it.
  init(instance: String, port: UInt16, text: [[UInt8]]) throws(DiscoveryError) {
    guard Self.isInstance(instance.utf8) else { throw .badInstance }
    guard port > 0 else { throw .badPort }
    guard Self.isText(text) else { throw .badText }
    (self.instance, self.port, self.text) = (instance, port, text)
  }

  /// True for sixteen lower-case hex digits. Every other name is foreign: it is never shown, never
  /// handed back to libdbus (which aborts on invalid UTF-8), never kept.
  static func isInstance(_ name: some Collection<UInt8>) -> Bool {
    name.count == 16
      && name.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        default: false
        }
      }
  }

  /// True for strings of 1 to 255 bytes within the limit.
  static func isText(_ text: [[UInt8]]) -> Bool {
    text.allSatisfy { (1...255).contains($0.count) }
      && text.reduce(0) { $0 + 1 + $1.count } <= textLimit
  }
}
