package import TalkCore
package import TalkCrypto

/// What is wrong with a line that should be an invite.
package enum InviteError: Error, Equatable, Sendable {
  /// It does not begin like one: the person pasted something else.
  case notAnInvite
  /// The end is missing: the person copied too little; copy the whole line.
  case cutShort
  /// A letter is wrong or there are too many: the checksum does not fit; copy it again.
  case mistyped
  /// A later Talkaround made it: this one must be updated.
  case newerVersion
  /// Memory for the secret can't be had: the machine's limit of locked memory is reached.
  case noSecretMemory
}

extension InviteError: CustomStringConvertible {
  /// One line that names the thing and the cure.
  package var description: String {
    switch self {
    case .notAnInvite:
      "this is no invite; one begins with talk1: paste the line of 'talkaround invite'"
    case .cutShort: "the end of the invite is missing; copy the whole line"
    case .mistyped: "the invite is damaged: a letter is wrong or too many; copy the line again"
    case .newerVersion: "a later Talkaround made this invite; update this one"
    case .noSecretMemory: "no memory for secrets; raise the limit with 'ulimit -l'"
    }
  }
}

/// What one member hands a newcomer, so that it finds and enters a channel (session.md, "Secrets
/// and names of a channel"). It holds the channel's secret: never log it, never take it from an
/// argument.
///
/// | field | bytes |
/// |---|---|
/// | version, 1 | 1 |
/// | creator's fingerprint | 20 |
/// | random | 16 |
/// | epoch | 8 |
/// | S_n, the secret of that epoch | 32 |
/// | inviter's PeerID | 16 |
/// | length of the name, 0 to 32; name in UTF-8 | 1, ≤ 32 |
/// | checksum: the first 4 of BLAKE2b-128("talkaround invite v1" ‖ all before) | 4 |
///
/// Written as `talk1` and base32. The first byte and the checksum keep their places in every
/// version, so that a mistyped line and a later version can be told apart.
package struct Invite: Sendable {
  /// What every invite begins with.
  package static let prefix = "talk1"
  /// The most letters that are looked at.
  package static let textLimit = 1_024
  private static let fixedSize = 94
  private static let checksumSize = 4

  /// The fingerprint of the channel's creator, the root of its roster.
  package let creator: Fingerprint
  /// What makes the channel different from the creator's others.
  package let random: Bytes16
  /// The epoch of `secret`.
  package let epoch: UInt64
  /// S_n.
  package let secret: Secret
  /// Who invites.
  package let inviter: PeerID
  /// The channel's name as the inviter calls it, at most 32 bytes; escape it before showing it.
  package let name: String

  /// Makes an invite; a longer name is cut at the end of a whole character.
  package init(
    creator: Fingerprint, random: Bytes16, epoch: UInt64, secret: Secret, inviter: PeerID,
    name: String
  ) {
    self.creator = creator
    self.random = random
    self.epoch = epoch
    self.secret = secret
    self.inviter = inviter
    self.name = SafeText.cut(name)
  }

  /// The channel that the invite is for: it follows from the creator, so nobody else can be named.
  package var channel: ChannelID { ChannelID(creator: creator, random: random) }

  // MARK: Text

  /// The line: lower case for reading and pasting, upper case for a QR code.
  package func text(upperCase: Bool = false) -> String {
    var bytes = encoded()
    defer { Secret.wipe(&bytes) }
    let prefix = upperCase ? Self.prefix.uppercased() : Self.prefix
    return prefix + Base32.encode(bytes, upperCase: upperCase)
  }

  /// Reads a line in any case, with blanks and line breaks around or within it.
  package init(text: String, memory: Secret.Memory = .guarded) throws(InviteError) {
    let letters = try Self.letters(of: text)
    var bytes = try Self.checkedBytes(of: letters)
    defer { Secret.wipe(&bytes) }
    guard let parsed = Self.parse(bytes) else { throw .mistyped }
    guard let secret = Secret(Array(bytes[45..<77]), memory: memory) else { throw .noSecretMemory }
    self.init(
      creator: parsed.creator, random: Bytes16(Array(bytes[21..<37])), epoch: parsed.epoch,
      secret: secret, inviter: PeerID(Bytes16(Array(bytes[77..<93]))), name: parsed.name)
  }

  // MARK: Bytes

  private func encoded() -> [UInt8] {
    let nameBytes = Array(name.utf8)
    var bytes: [UInt8] = [1]
    bytes += creator.bytes
    bytes += random.bytes
    bytes += (0..<8).map { UInt8(truncatingIfNeeded: epoch >> UInt64(8 * $0)) }
    secret.withBytes { bytes += $0 }
    bytes += inviter.value.bytes
    bytes.append(UInt8(nameBytes.count))
    bytes += nameBytes
    return bytes + Self.checksum(of: bytes)
  }

  private static func checksum(of bytes: [UInt8]) -> [UInt8] {
    var hash = Blake2b(size: 16)
    hash.update("talkaround invite v1")
    hash.update(bytes)
    return Array(hash.finalize().prefix(checksumSize))
  }

  /// The base32 letters behind the prefix, without blanks.
  private static func letters(of text: String) throws(InviteError) -> [UInt8] {
    let letters = text.utf8.prefix(textLimit + 1).filter { $0 > UInt8(ascii: " ") }
    guard letters.count <= textLimit, text.utf8.count <= 4 * textLimit else {
      throw .notAnInvite
    }
    let head = String(decoding: letters.prefix(prefix.utf8.count), as: UTF8.self).lowercased()
    guard head == prefix else {
      let isLater = head.hasPrefix("talk") && head.last.map { "23456789".contains($0) } ?? false
      throw isLater ? .newerVersion : .notAnInvite
    }
    return Array(letters.dropFirst(prefix.utf8.count))
  }

  /// The bytes of the letters, of this version and with a checksum that fits.
  private static func checkedBytes(of letters: [UInt8]) throws(InviteError) -> [UInt8] {
    // Filled up to whole groups, so that a cut line can be read as far as it goes.
    let filling = [UInt8](repeating: UInt8(ascii: "a"), count: (8 - letters.count % 8) % 8)
    let padded = String(decoding: letters + filling, as: UTF8.self)
    guard let start = Base32.decode(padded) else { throw .mistyped }
    let whole = Array(start.prefix(letters.count * 5 / 8))
    guard let version = whole.first else { throw .cutShort }
    let isSound =
      Base32.decode(String(decoding: letters, as: UTF8.self)) != nil
      && whole.count > checksumSize
      && checksum(of: whole.dropLast(checksumSize)) == Array(whole.suffix(checksumSize))
    guard version == 1 else { throw isSound && version > 1 ? .newerVersion : .mistyped }
    guard whole.count >= fixedSize else { throw .cutShort }
    let size = fixedSize + Int(whole[fixedSize - 1]) + checksumSize
    guard whole[fixedSize - 1] <= SafeText.nameLimit else { throw .mistyped }
    guard letters.count >= (size * 8 + 4) / 5 else { throw .cutShort }
    guard isSound, whole.count == size else { throw .mistyped }
    return whole
  }

  private static func parse(
    _ bytes: [UInt8]
  ) -> (creator: Fingerprint, epoch: UInt64, name: String)? {
    let epoch = bytes[37..<45].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    let nameBytes = bytes[fixedSize..<bytes.count - checksumSize]
    guard let creator = Fingerprint(Array(bytes[1..<21])),
      let name = String(validating: nameBytes, as: UTF8.self)
    else { return nil }
    return (creator, epoch, name)
  }
}

extension Invite {
  private static func checksum(of bytes: ArraySlice<UInt8>) -> [UInt8] {
    checksum(of: Array(bytes))
  }
}

extension ChannelID {
  /// The name of the channel that `creator` makes with 16 random bytes: the version-8 UUID
  /// (RFC 9562, section 5.8) of BLAKE2b-128("talkaround channel v1" ‖ fingerprint ‖ random).
  package init(creator: Fingerprint, random: Bytes16) {
    var hash = Blake2b(size: 16)
    hash.update("talkaround channel v1")
    hash.update(creator.bytes)
    hash.update(random)
    var value = hash.finalize16()
    value.high = value.high & ~0xf000 | 0x8000
    value.low = value.low & ~(0b11 << 62) | 0b10 << 62
    self.init(value)
  }
}
