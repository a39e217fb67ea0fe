package import TalkCore

/// The keepalive between two nodes (kind presence): whom I hear, how well, and how far it is.
///
/// | field | bytes |
/// |---|---|
/// | flags | 1 |
/// | sequence of this session | 4 |
/// | sent at, microseconds of the sender's clock | 4 |
/// | echo: the newest "sent at" of the recipient's | 4 |
/// | echo delay: microseconds since that one came | 4 |
/// | received, expected: of the recipient's last presences | 1, 1 |
/// | uptime, seconds | 4 |
/// | roster digest | 16 |
package struct PresenceBody: Equatable, Sendable {
  /// Bytes on the wire.
  package static let size = 39

  /// What can be so or not so.
  package struct Flags: OptionSet, Sendable {
    /// The bits on the wire.
    package let rawValue: UInt8
    /// Makes flags of their bits.
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// The sender hears the recipient.
    package static let hearsYou = Flags(rawValue: 1)
    /// The sender plays nothing, by its person's wish.
    package static let deaf = Flags(rawValue: 2)
    /// The sender has something to speak into.
    package static let hasMicrophone = Flags(rawValue: 4)
    /// Echo and echo delay are set.
    package static let hasEcho = Flags(rawValue: 8)
    /// The sender wants a presence back at once.
    package static let answer = Flags(rawValue: 16)
    /// Every bit that has a meaning.
    package static let all: Flags = [.hearsYou, .deaf, .hasMicrophone, .hasEcho, .answer]
  }

  /// What is so.
  package var flags: Flags
  /// Rises by one with each presence to this peer in this session.
  package var sequence: UInt32
  /// The sender's clock in microseconds; wraps after 71 minutes.
  package var sentAt: UInt32
  /// The newest `sentAt` that the sender had from the recipient.
  package var echo: UInt32
  /// Microseconds between the arrival of that one and this sending.
  package var echoDelay: UInt32
  /// How many of the recipient's last `expected` presences came.
  package var received: UInt8
  /// How many of the recipient's presences were looked for, at most 32.
  package var expected: UInt8
  /// Seconds since the sender started; tells two machines with one identity which is the later.
  package var uptime: UInt32
  /// The digest of the sender's roster.
  package var rosterDigest: Bytes16

  /// Makes a body of its parts.
  package init(
    flags: Flags, sequence: UInt32, sentAt: UInt32, echo: UInt32, echoDelay: UInt32,
    received: UInt8, expected: UInt8, uptime: UInt32, rosterDigest: Bytes16
  ) {
    self.flags = flags
    self.sequence = sequence
    self.sentAt = sentAt
    self.echo = echo
    self.echoDelay = echoDelay
    self.received = received
    self.expected = expected
    self.uptime = uptime
    self.rosterDigest = rosterDigest
  }

  /// Reads a body; nil when the length, a flag or the counts are wrong.
  package init?(reading span: RawSpan) {
    guard span.byteCount == Self.size else { return nil }
    var reader = ByteReader(span)
    guard let bits = reader.u8(), bits & ~Flags.all.rawValue == 0,
      let sequence = reader.u32(), let sentAt = reader.u32(),
      let echo = reader.u32(), let echoDelay = reader.u32(),
      let received = reader.u8(), let expected = reader.u8(), received <= expected, expected <= 32,
      let uptime = reader.u32(), let rosterDigest = reader.bytes16()
    else { return nil }
    self.init(
      flags: Flags(rawValue: bits), sequence: sequence, sentAt: sentAt, echo: echo,
      echoDelay: echoDelay, received: received, expected: expected, uptime: uptime,
      rosterDigest: rosterDigest)
  }

  /// Appends the `size` bytes of the body.
  package func write(to writer: inout ByteWriter) {
    writer.u8(flags.rawValue)
    writer.u32(sequence)
    writer.u32(sentAt)
    writer.u32(echo)
    writer.u32(echoDelay)
    writer.u8(received)
    writer.u8(expected)
    writer.u32(uptime)
    writer.bytes16(rosterDigest)
  }
}
