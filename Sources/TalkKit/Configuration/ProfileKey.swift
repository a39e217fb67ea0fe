import TalkAudio
import TalkCore
import TalkNode

/// One key of a profile: everything that reading, checking, showing and the reference need to know
/// of it. A key is in the table once it acts, and not before.
package struct ProfileKey: Sendable {
  /// As it is written, with a dot before a key of an inner object: `tones.volume`.
  package let name: String
  /// The option of `run` that says the same, if there is one.
  package let option: String?
  /// What it is measured in; empty when it has no unit.
  package let unit: String
  /// What it is for, in whole sentences.
  package let meaning: String
  let type: ProfileType
  let pick: @Sendable (NodeOptions) -> ProfileValue
  let put: @Sendable (inout NodeOptions, ProfileValue) -> Void

  /// The values that it takes, in words.
  package var values: String { type.description }

  /// The value where no profile and no option says otherwise.
  package var initial: ProfileValue { pick(NodeOptions()) }

  /// The value that a node with these options uses.
  package func value(in options: NodeOptions) -> ProfileValue { pick(options) }

  /// The key of that name.
  package static func named(_ name: String) -> ProfileKey? { all.first { $0.name == name } }

  /// Every key there is, in the order of the reference.
  package static let all: [ProfileKey] = [
    ProfileKey(
      name: "nickname", option: "--name",
      meaning: "What others call you. Kept in the identity from then on; null keeps what is there.",
      type: .text(
        form: "a text with something visible, at most \(SafeText.nameLimit) bytes", orNull: true,
        check: Check.nickname), optionalText: \.nickname),
    ProfileKey(
      name: "port", option: "--port",
      meaning: "The UDP port for discovery and voice. null takes 41717, or the next one that is "
        + "free.",
      type: .integer(1...65_535, orNull: true),
      pick: { $0.port.map { .integer(Int($0)) } ?? .none },
      put: { options, value in
        if case .integer(let port) = value {
          options.port = UInt16(port)
        } else {
          options.port = nil
        }
      }),
    ProfileKey(
      name: "avahi", option: "--no-avahi", meaning: "Finds members over Avahi (mDNS).", type: .bool,
      bool: \.avahi),
    ProfileKey(
      name: "hello", option: "--no-hello", meaning: "Finds members by sealed hellos of our own.",
      type: .bool, bool: \.hello),
    ProfileKey(
      name: "peers", option: "--peer",
      meaning: "Nodes that are always tried, where neither Avahi nor hellos reach. Options add to "
        + "them.",
      type: .texts(
        form: "HOST:PORT, such as ben-laptop:41717 or [fe80::1]:41717", limit: Node.staticPeerLimit,
        check: Check.peer),
      pick: { .texts($0.staticPeers) },
      put: { options, value in if case .texts(let all) = value { options.staticPeers = all } }),
    ProfileKey(
      name: "capture", option: "--capture", meaning: "Where your voice comes from.",
      type: .text(form: Check.deviceForm, check: Check.device), text: \.capture),
    ProfileKey(
      name: "playback", option: "--playback", meaning: "Where others' voices go to.",
      type: .text(form: Check.deviceForm, check: Check.device), text: \.playback),
    ProfileKey(
      name: "headless", option: "--headless",
      meaning: "Shows no screen, even on a terminal, when the node runs in the foreground.",
      type: .bool, bool: \.headless),
    ProfileKey(
      name: "tones.volume", unit: "dB",
      meaning: "How loud tones are. 0 is a peak 12 dB below full scale.",
      type: .integer(NodeOptions.toneVolumes),
      pick: { .integer($0.toneVolume) },
      put: { options, value in if case .integer(let db) = value { options.toneVolume = db } }),
    ProfileKey(
      name: "tones.play",
      meaning: "Which tones sound. The others are told without a sound; came and left are then not "
        + "told at all.",
      type: .words(NodeTone.allCases.map(\.rawValue)),
      pick: { .texts($0.tones.map(\.rawValue)) },
      put: { options, value in
        if case .texts(let all) = value { options.tones = all.compactMap(NodeTone.init) }
      }),
    ProfileKey(
      name: "log.level", option: "--log-level",
      meaning: "What is logged: error is what is broken; info is also what changed; debug is also "
        + "who came and left.",
      type: .word(LogLevel.allCases.map(\.rawValue)),
      pick: { .text($0.logLevel.rawValue) },
      put: { options, value in
        if case .text(let word) = value, let level = LogLevel(rawValue: word) {
          options.logLevel = level
        }
      }),
  ]

  private init(
    name: String, option: String? = nil, unit: String = "", meaning: String, type: ProfileType,
    pick: @escaping @Sendable (NodeOptions) -> ProfileValue,
    put: @escaping @Sendable (inout NodeOptions, ProfileValue) -> Void
  ) {
    self.name = name
    self.option = option
    self.unit = unit
    self.meaning = meaning
    self.type = type
    self.pick = pick
    self.put = put
  }

  private init(
    name: String, option: String, meaning: String, type: ProfileType,
    bool path: any WritableKeyPath<NodeOptions, Bool> & Sendable
  ) {
    self.init(
      name: name, option: option, meaning: meaning, type: type,
      pick: { .bool($0[keyPath: path]) },
      put: { options, value in if case .bool(let yes) = value { options[keyPath: path] = yes } })
  }

  private init(
    name: String, option: String, meaning: String, type: ProfileType,
    text path: any WritableKeyPath<NodeOptions, String> & Sendable
  ) {
    self.init(
      name: name, option: option, meaning: meaning, type: type,
      pick: { .text($0[keyPath: path]) },
      put: { options, value in if case .text(let text) = value { options[keyPath: path] = text } })
  }

  private init(
    name: String, option: String, meaning: String, type: ProfileType,
    optionalText path: any WritableKeyPath<NodeOptions, String?> & Sendable
  ) {
    self.init(
      name: name, option: option, meaning: meaning, type: type,
      pick: { $0[keyPath: path].map { .text($0) } ?? .none },
      put: { options, value in
        if case .text(let text) = value {
          options[keyPath: path] = text
        } else {
          options[keyPath: path] = nil
        }
      })
  }
}

extension ProfileKey {
  /// What is wrong with a text, for the keys and the options alike; nil when nothing is. The answer
  /// follows the text in a message.
  package enum Check {
    /// A nickname: something visible, not too long, and nothing that would be taken out.
    package static func nickname(_ text: String) -> String? {
      guard let name = SafeText.name(text) else { return "has nothing visible in it; use letters" }
      guard text.utf8.count <= SafeText.nameLimit else {
        return "is longer than \(SafeText.nameLimit) bytes; it would be cut to \"\(name)\""
      }
      return name == text ? nil : "would become \"\(name)\"; write that"
    }

    /// `HOST:PORT`.
    package static func peer(_ text: String) -> String? {
      let wrong = "must be HOST:PORT, such as ben-laptop:41717 or [fe80::1]:41717"
      guard text.utf8.count <= 300, let colon = text.lastIndex(of: ":"),
        let port = UInt16(text[text.index(after: colon)...]), port > 0
      else { return wrong }
      let host = text[..<colon]
      if host.hasPrefix("[") { return host.hasSuffix("]") && host.count > 2 ? nil : wrong }
      let isHost =
        !host.isEmpty && !host.contains(":")
        && !host.unicodeScalars.contains { $0.properties.isWhitespace || $0.value < 0x20 }
      return isHost ? nil : wrong
    }

    /// The form of `device`.
    package static let deviceForm = "\"pulse\", \"pulse:NAME\", \"null\", or a path to a .wav file"

    /// A sound device.
    package static func device(_ text: String) -> String? {
      let isPulse = text == "pulse" || (text.hasPrefix("pulse:") && text.count > 6)
      let isFile = text.lowercased().hasSuffix(".wav") && !text.utf8.contains(0)
      guard !isPulse, text != "null", !isFile else { return nil }
      let hint = NearestName.hint(text, among: ["pulse", "null"])
      return "must be pulse, pulse:NAME, null, or FILE.wav\(hint)"
    }
  }
}
