import TalkCore
import TalkFloor
import TalkWire

/// Folds observations into 64 bits, so that two runs of one seed can be told to be the same. No
/// more than that: it is fast, not strong.
package struct StreamHash: Hashable, Sendable {
  /// The fold so far.
  package private(set) var value: UInt64 = 0x7461_6c6b_6172_6f75

  private mutating func mix(_ number: UInt64) {
    value = (value ^ number) &* 0x9e37_79b9_7f4a_7c15
    value ^= value >> 29
  }

  private mutating func mix(_ id: TokenID) {
    mix(id.turn)
    mix(id.holder.value.low ^ UInt64(id.seat))
  }

  private mutating func mix(_ token: Token) {
    mix(token.id)
    mix(UInt64(token.floorClass.rawValue))
  }

  private mutating func mix(_ note: ControlNote) {
    mix(UInt64(note.kind.rawValue) << 8 | UInt64(note.answer.rawValue))
    mix(note.request)
    if let token = note.token { mix(token) }
    if let token = note.grantTo { mix(token) }
  }

  /// Folds one more observation.
  mutating func fold(_ seen: Observation) {
    mix(seen.at.nanoseconds)
    mix(UInt64(seen.node))
    switch seen.what {
    case .heard(let mark, let from, let rendered):
      mix(UInt64(mark.frame) << 32 | UInt64(from) << 1 | (rendered == nil ? 0 : 1))
      mix(mark.turn)
    case .frameSent(let token, let frame, let isLast, _):
      mix(token)
      mix(UInt64(frame) << 1 | (isLast ? 1 : 0))
    case .sent(let note, let toAll):
      mix(toAll ? 3 : 2)
      mix(note)
    case .received(let note, let from):
      mix(UInt64(from) << 8 | 4)
      mix(note)
    case .presence(let from, let hears): mix(UInt64(from) << 8 | (hears ? 6 : 5))
    case .view(let view):
      mix(view.isTalking ? 8 : 7)
      if let token = view.token { mix(token) }
    default: foldRare(seen.what)
    }
  }

  private mutating func foldRare(_ what: Observation.What) {
    switch what {
    case .keyDown(let floorClass, _), .pressed(let floorClass):
      mix(UInt64(floorClass.rawValue) | 16)
    case .keyUp: mix(32)
    case .released: mix(33)
    case .started(let token): foldToken(token, 34)
    case .renumbered(_, let token): foldToken(token, 35)
    case .stopped(let token, _): foldToken(token, 36)
    case .finishing(let token): foldToken(token, 37)
    case .talker(let token): foldToken(token, 38)
    case .talkerRenumbered(_, let token): foldToken(token, 57)
    case .talkerDone(let token, _): foldToken(token, 39)
    case .talkerCut(let token): foldToken(token, 40)
    case .queued(let place): mix(UInt64(place) << 8 | 41)
    case .denied(let reason): mix(UInt64(reason.rawValue) << 8 | 42)
    case .unheard: mix(43)
    case .member(let peer, let present): mix(UInt64(peer) << 8 | (present ? 45 : 44))
    case .restarted(let turn): mix(turn << 8 | 46)
    case .reserving(let turn): mix(turn << 8 | 47)
    case .reserved(let turn): mix(turn << 8 | 48)
    case .linkDown(let to): mix(UInt64(to) << 8 | 49)
    case .linkUp(let to): mix(UInt64(to) << 8 | 50)
    case .lied(let kind): mix(UInt64(kind) << 8 | 51)
    case .crashed: mix(52)
    case .stalled: mix(53)
    case .resumed: mix(54)
    case .limitWarning: mix(55)
    case .draining: mix(56)
    case .excused: mix(58)
    default: break
    }
  }

  private mutating func foldToken(_ token: Token, _ kind: UInt64) {
    mix(kind)
    mix(token)
  }
}
