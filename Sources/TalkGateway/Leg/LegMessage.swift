import TalkCore
package import TalkWire

/// Where a phone's request for the floor stands.
package enum PhoneFloor: Hashable, Sendable {
  /// Refused, with the mesh's reason as a number (`DenyReason`; 0: nobody hears it).
  case refused(UInt8)
  /// Waits at this place, from 1.
  case queued(UInt8)
  /// It may speak; its voice carries this turn.
  case granted(turn: UInt64)
  /// Its turn is over: it let go, or the limit came.
  case ended
  /// Somebody more urgent speaks: stop at once.
  case preempted

  /// True when the phone must be silent now and know it before it hears others.
  package var mustBeTold: Bool { self == .ended || self == .preempted }
}

/// What a leg's DATA can carry besides voice. All numbers little-endian; a body of another size
/// than its row is refused.
///
/// | kind | from | body |
/// |---|---|---|
/// | 0x20 VOICE | both | `VoiceHeader` 16, then frames of the BURST of that turn and seat |
/// | 0x40 KEEPALIVE | both | empty |
/// | 0x41 BURST | gateway | burst 16, turn 6, seat 2, class 1, `FrameLength` 1, name 1 + ≤ 32 |
/// | 0x42 BURST_END | gateway | burst 16, last frame 4 (2^32−1: none) |
/// | 0x43 RECEIVED | phone | burst 16, first missing frame 4, bits of the next 64 8, end known 1 |
/// | 0x44 REQUEST | phone | number 4, class 1; again every 500 ms while it waits |
/// | 0x45 RELEASE | phone | number 4, last frame 4 |
/// | 0x46 FLOOR | gateway | number 4, state 1, detail 1, turn 6 |
/// | 0x47 TOLD | phone | number 4, state 1: that FLOOR came |
/// | 0x48 CHALLENGE, 0x49 RESPONSE | gateway, phone | 8 random bytes |
/// | 0x4a REGISTER | phone | kind 1, environment 1, token 1 to 1,024 |
/// | 0x4b REGISTERED | gateway | kind 1, environment 1, taken 1 |
/// | 0x4c STATE | phone | bit 0 in the foreground 1, allowed loudness 1 |
/// | 0x4d SLEEP | phone | empty: no keepalives from now on |
/// | 0x4e LEAVE | both | empty |
/// | 0x4f CALL_ENDED | gateway | call 16 |
package enum LegMessage: Hashable, Sendable {
  /// The number of VOICE, which has no case here.
  package static let voiceKind = Kind.voice.rawValue

  /// The sender is there.
  case keepalive
  /// A burst begins.
  case burst(
    BurstID, turn: UInt64, seat: UInt16, floorClass: FloorClass, length: FrameLength, name: String)
  /// A burst is over.
  case burstEnd(BurstID, lastFrame: UInt32)
  /// Which frames the phone has.
  case received(BurstID, next: UInt32, bits: UInt64, knowsEnd: Bool)
  /// The key is down.
  case request(PhoneRequest)
  /// The key is up.
  case release(number: UInt32, lastFrame: UInt32)
  /// Where a request stands.
  case floor(number: UInt32, PhoneFloor)
  /// The phone knows where its request stands.
  case told(number: UInt32, state: UInt8)
  /// Is the phone at this address?
  case challenge(UInt64)
  /// It is.
  case response(UInt64)
  /// A push token.
  case register(PhoneToken.Kind, Push.Environment, token: [UInt8])
  /// A push token was taken, or not.
  case registered(PhoneToken.Kind, Push.Environment, taken: Bool)
  /// The app came or went, or its person allows another loudness.
  case state(foreground: Bool, allowed: InterruptionLevel)
  /// The phone goes to sleep.
  case sleep
  /// The phone is no longer of this channel.
  case leave
  /// A call is over.
  case callEnded(BurstID)

  /// The number on the wire; never another's.
  package var kind: UInt8 {
    switch self {
    case .keepalive: 0x40
    case .burst: 0x41
    case .burstEnd: 0x42
    case .received: 0x43
    case .request: 0x44
    case .release: 0x45
    case .floor: 0x46
    case .told: 0x47
    case .challenge: 0x48
    case .response: 0x49
    case .register: 0x4a
    case .registered: 0x4b
    case .state: 0x4c
    case .sleep: 0x4d
    case .leave: 0x4e
    case .callEnded: 0x4f
    }
  }

  /// `size` bytes (as many as are written without one), zeros behind what `body` writes.
  static func write(size: Int? = nil, _ body: (inout ByteWriter) -> Void) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: size ?? 1_100)
    var used = 0
    do {
      var span = bytes.mutableSpan
      var writer = ByteWriter(unsafe span.mutableBytes)
      body(&writer)
      precondition(!writer.failed, "a leg message of more than \(bytes.count) bytes")
      used = writer.offset
    }
    if size == nil { bytes.removeLast(bytes.count - used) }
    return bytes
  }
}

extension PhoneFloor {
  /// The state's number on the wire.
  package var number: UInt8 {
    switch self {
    case .refused: 0
    case .queued: 1
    case .granted: 2
    case .ended: 3
    case .preempted: 4
    }
  }

  init?(number: UInt8, detail: UInt8, turn: UInt64) {
    switch number {
    case 0: self = .refused(detail)
    case 1: self = .queued(detail)
    case 2: self = .granted(turn: turn)
    case 3: self = .ended
    case 4: self = .preempted
    default: return nil
    }
    let detailed = number < 2
    guard detailed || detail == 0, number == 2 || turn == 0 else { return nil }
  }
}
