package import TalkCore
import TalkCrypto
import TalkWire

/// What a member may do in its channel.
package enum Role: UInt8, Sendable, CaseIterable {
  /// Hears, and never speaks; admits nobody.
  case listenOnly = 0
  /// Speaks, and admits members.
  case member = 1
  /// Admits admins too, grants classes, and sets listen-only.
  case admin = 2
}

/// The classes of speech that a member may ask for, as bits by `FloorClass.rawValue`.
package struct FloorClasses: OptionSet, Hashable, Sendable {
  /// The bits on the wire.
  package let rawValue: UInt8
  /// Makes a set of its bits.
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  /// Everyone's, unless refused.
  package static let normal = FloorClasses(.normal)
  /// Granted by an admin.
  package static let priority = FloorClasses(.priority)
  /// Granted by an admin.
  package static let imminentPeril = FloorClasses(.imminentPeril)
  /// Everyone's, unless refused.
  package static let emergency = FloorClasses(.emergency)
  /// What every member has without being granted anything.
  package static let standard: FloorClasses = [.normal, .emergency]
  /// Every class that there is.
  package static let all: FloorClasses = [.normal, .priority, .imminentPeril, .emergency]

  private init(_ floorClass: FloorClass) { self.init(rawValue: 1 << floorClass.rawValue) }
}

/// Which of several records about one member a record is: one is kept of each author and grade, so
/// that what a record confers is never taken back by its successor, and the order in which records
/// arrive does not matter.
enum Grade: UInt8, Comparable, Sendable {
  /// A member with the standard classes: any member may write it.
  case plain
  /// Listen-only.
  case listenOnly
  /// A member with other classes than the standard ones.
  case special
  /// An admin.
  case admin

  static func < (left: Grade, right: Grade) -> Bool { left.rawValue < right.rawValue }

  init(role: Role, classes: FloorClasses) {
    switch role {
    case .admin: self = .admin
    case .listenOnly: self = .listenOnly
    case .member: self = classes == .standard ? .plain : .special
    }
  }

  /// Whether only an admin may write it.
  var needsAdmin: Bool { self != .plain }
}

/// Which record of a roster: at most one is kept under each key, that with the highest number.
package struct AdmitKey: Hashable, Comparable, Sendable {
  /// Whom the record admits.
  package var id: PeerID
  /// Who wrote it.
  package var by: PeerID
  var grade: Grade

  /// Orders by whom, by whom it is from, and by what it confers.
  package static func < (left: AdmitKey, right: AdmitKey) -> Bool {
    (left.id, left.by, left.grade) < (right.id, right.by, right.grade)
  }
}

/// One ADMIT, parsed: "`by` says that this identity is a member".
struct Admit: Equatable, Sendable {
  let identity: PublicIdentity
  /// The PeerID of `identity`, worked out once.
  let id: PeerID
  let channel: ChannelID
  let epoch: UInt64
  let by: PeerID
  let number: UInt64
  let role: Role
  let classes: FloorClasses
  /// The body as it goes over the wire and into the digest.
  let bytes: [UInt8]

  var key: AdmitKey {
    AdmitKey(id: id, by: by, grade: Grade(role: role, classes: classes))
  }

  private static let domain = Array("talkaround admit v1".utf8)

  /// Reads a body; nil when it is not one, or names a role or class that we do not know.
  init?(_ bytes: [UInt8]) {
    guard let body = unsafe AdmitBody(reading: bytes.span.bytes),
      let role = Role(rawValue: body.role), body.classes & ~FloorClasses.all.rawValue == 0,
      let signing = Key32(body.signingKey), let agreement = Key32(body.agreementKey)
    else { return nil }
    identity = PublicIdentity(signing: signing, agreement: agreement)
    id = identity.peerID
    channel = body.channel
    epoch = body.epoch
    by = body.by
    number = body.number
    self.role = role
    classes = FloorClasses(rawValue: body.classes)
    self.bytes = bytes
  }

  /// Writes and signs a record.
  init(
    _ identity: PublicIdentity, channel: ChannelID, epoch: UInt64, number: UInt64, role: Role,
    classes: FloorClasses, signedBy signer: Identity
  ) {
    self.identity = identity
    id = identity.peerID
    self.channel = channel
    self.epoch = epoch
    by = signer.publicIdentity.peerID
    self.number = number
    self.role = role
    self.classes = classes
    var body = AdmitBody(
      channel: channel, epoch: epoch, by: by, number: number,
      signingKey: identity.signing.bytes, agreementKey: identity.agreement.bytes,
      role: role.rawValue, classes: classes.rawValue, signature: [])
    body.signature = signer.sign(Self.domain + Self.encode(body)[AdmitBody.signedRange])
    bytes = Self.encode(body)
  }

  /// Takes another id than that of the keys: two identities with one PeerID can't be made for a
  /// test otherwise (that would be 2^64 hashes).
  init(_ other: Admit, collidingWith id: PeerID) {
    identity = other.identity
    self.id = id
    channel = other.channel
    epoch = other.epoch
    by = other.by
    number = other.number
    role = other.role
    classes = other.classes
    bytes = other.bytes
  }

  /// Whether the signature is one of `key`'s owner.
  func isSigned(by key: Key32) -> Bool {
    let signature = Array(bytes.suffix(AdmitBody.signatureSize))
    return Ed25519.verify(
      signature, of: Self.domain + bytes[AdmitBody.signedRange], by: key)
  }

  private static func encode(_ body: AdmitBody) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: AdmitBody.size)
    var span = bytes.mutableSpan
    var writer = ByteWriter(unsafe span.mutableBytes)
    body.write(to: &writer)
    return bytes
  }
}
