import TalkSession

/// The patterns of Noise rev 34, sections 7.4 and 7.5, that the vectors use. The program ships one
/// of them; the interpreter is tested with all.
enum NoisePatterns {
  /// initiator's pre-message, responder's pre-message, messages.
  private static let fundamental: [String: ([NoiseToken], [NoiseToken], [[NoiseToken]])] = [
    "N": ([], [.s], [[.e, .es]]),
    "K": ([.s], [.s], [[.e, .es, .ss]]),
    "X": ([], [.s], [[.e, .es, .s, .ss]]),
    "NN": ([], [], [[.e], [.e, .ee]]),
    "NK": ([], [.s], [[.e, .es], [.e, .ee]]),
    "NX": ([], [], [[.e], [.e, .ee, .s, .es]]),
    "KN": ([.s], [], [[.e], [.e, .ee, .se]]),
    "KK": ([.s], [.s], [[.e, .es, .ss], [.e, .ee, .se]]),
    "KX": ([.s], [], [[.e], [.e, .ee, .se, .s, .es]]),
    "XN": ([], [], [[.e], [.e, .ee], [.s, .se]]),
    "XK": ([], [.s], [[.e, .es], [.e, .ee], [.s, .se]]),
    "XX": ([], [], [[.e], [.e, .ee, .s, .es], [.s, .se]]),
    "IN": ([], [], [[.e, .s], [.e, .ee, .se]]),
    "IK": ([], [.s], [[.e, .es, .s, .ss], [.e, .ee, .se]]),
    "IX": ([], [], [[.e, .s], [.e, .ee, .se, .s, .es]]),
  ]

  /// The pattern of a name with its psk modifiers (section 9.4): psk0 begins the first message,
  /// pskN ends message N. Nil for a name that is not in the table.
  static func named(_ name: String) -> NoisePattern? {
    let base = String(name.prefix { $0.isUppercase })
    guard let (initiatorPre, responderPre, plain) = fundamental[base] else { return nil }
    var messages = plain
    for modifier in name.dropFirst(base.count).split(separator: "+") {
      guard modifier.hasPrefix("psk"), let place = Int(modifier.dropFirst(3)),
        place <= messages.count
      else { return nil }
      if place == 0 {
        messages[0].insert(.psk, at: 0)
      } else {
        messages[place - 1].append(.psk)
      }
    }
    return NoisePattern(
      name: name, initiatorPre: initiatorPre, responderPre: responderPre, messages: messages)
  }
}
