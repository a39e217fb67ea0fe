/// The table of kinds: what a DATA datagram can carry once it is opened.
///
/// The plaintext is kind 1, flags 1, length 2, body of that length, zero padding. All numbers are
/// little-endian. This file is the one place where kinds get their numbers; each body's layout is
/// in the type that the case names. A number is never used again for something else.
///
/// | kind | body | size |
/// |---|---|---|
/// | auth | `AuthBody` | fixed, class 320 |
/// | admit | `AdmitBody`: one ADMIT of a chain | class 320 |
/// | bye | empty; the GRANT of an idle token goes before it | class 64 |
/// | presence | `PresenceBody`: who I hear | class by members |
/// | rosterDigest | digest 16, count 2 | class 64 |
/// | rosterPull | digest 16 of the asker | class 64 |
/// | request … report | `FloorMessage` | class by content |
/// | voice | `VoiceHeader` 16, then frames | not padded |
///
/// Numbers kept for later: 0x05 KICK, 0x08 channel settings, 0x16 REVOKE, 0x17 IDLE (a heartbeat
/// says both today), 0x21 loss report, 0x22 RELAY,
/// 0x23 SEAT, 0x24 MBURST key, 0x25 note.
package enum Kind: UInt8, Sendable, CaseIterable {
  /// Both public keys, nickname and signature: the first DATA each way (session.md).
  case auth = 0x01
  /// One signed ADMIT of the roster.
  case admit = 0x02
  /// The sender leaves.
  case bye = 0x03
  /// Keepalive: whom the sender hears, measured round trip, roster digest.
  case presence = 0x04
  /// The sender's roster digest.
  case rosterDigest = 0x06
  /// Asks for the ADMITs of the sender's roster.
  case rosterPull = 0x07

  /// Asks for the floor.
  case request = 0x10
  /// Gives the floor, signed by the granting holder.
  case grant = 0x11
  /// Says who has the floor, with its grant chain and queue.
  case taken = 0x12
  /// Refuses a request, with the reason.
  case deny = 0x13
  /// Tells a requester its place, or everyone the whole queue.
  case queue = 0x14
  /// The holder lets go of the floor.
  case release = 0x15
  /// Token, previous token and digest of the queue.
  case heartbeat = 0x18
  /// A requester no longer wants the floor.
  case cancel = 0x19
  /// "I have been up for a lease and heard no talker for a lease."
  case vacant = 0x1a
  /// "I hear this token's holder", with the age of the last first-hand packet.
  case alive = 0x1b
  /// "I have no token", "I am no longer keeper", or "you are the keeper".
  case none = 0x1c
  /// "I forwarded your request, and the keeper did not answer."
  case unreached = 0x1d
  /// "Your token is over", with its age and the highest turn.
  case stale = 0x1e
  /// A fenced holder asks whether its token stands.
  case fence = 0x1f

  /// Voice frames of a burst.
  case voice = 0x20
  /// A listener's report at the end of a burst: which frames it heard.
  case report = 0x26
}

/// How much of a DATA datagram's plaintext is what.
package enum Plaintext {
  /// Bytes before the body: kind 1, flags 1, length 2.
  package static let headerSize = 4

  /// The sizes that control messages are padded to, so that their length says little (session.md).
  package static let classes = [64, 128, 192, 320, 512, 1_024]

  /// The size that a control body of `bodyCount` bytes is padded to, header included; nil when it
  /// is too long for any.
  package static func paddedSize(bodyCount: Int) -> Int? {
    var index = 0
    while index < classes.count {
      if headerSize + bodyCount <= classes[index] { return classes[index] }
      index += 1
    }
    return nil
  }
}
