import TalkCore
package import TalkFloor
package import TalkWire

extension FloorMachine {
  /// The tokens, grants and requests of a message.
  package static func note(of message: FloorMessage) -> ControlNote {
    var note = ControlNote(kind: kind(of: message))
    func take(_ chain: [Grant]) {
      guard let newest = chain.last else { return }
      note.grantFrom = newest.from
      note.grantTo = newest.to
      note.request = newest.request
    }
    switch message {
    case .request(let request):
      note.request = request.request
      note.requester = request.requester
    case .grant(let chain, _):
      take(chain)
      note.token = chain.last?.to
    case .taken(let token, let talking, let chain, _):
      take(chain)
      note.token = token
      note.talking = talking
    case .deny(let request, _, _): note.request = request
    case .queue(_, let token, _): note.token = token
    case .release(let token, _): note.token = token
    case .heartbeat(let token, let talking, _, _):
      note.token = token
      note.talking = talking
    case .cancel(let request, let requester, _):
      note.request = request
      note.requester = requester
    default: noteAnswer(message, &note)
    }
    return note
  }

  private static func noteAnswer(_ message: FloorMessage, _ note: inout ControlNote) {
    switch message {
    case .vacant(let request, _, let token):
      (note.answer, note.request, note.token) = (.vacant, request, token)
    case .alive(let request, let token, _):
      (note.answer, note.request, note.token) = (.alive, request, token)
    case .none(let request, _): (note.answer, note.request) = (.none, request)
    case .unreached(let request, _): (note.answer, note.request) = (.unreached, request)
    case .stale(let token, _, _, _): (note.answer, note.token) = (.stale, token)
    case .fence(let token): (note.answer, note.token) = (.fence, token)
    default: break
    }
  }

  /// A floor message that its sender has no right to send.
  package static func lie(_ lie: Lie) -> FloorMessage? {
    var forged = lie.token
    switch lie.kind {
    case .forgedGrant:
      forged.id = TokenID(turn: lie.token.id.turn + 1 + lie.number % 3, holder: lie.liar, seat: 0)
      let signature = Signature64(
        (0..<64).map { UInt8(truncatingIfNeeded: lie.number >> ($0 % 57)) })
      let grant = Grant(
        from: lie.token, to: forged, request: lie.number % 7, signature: signature!)
      return .grant(chain: [grant], queue: [])
    case .foreignRelease: return .release(token: lie.token, lastFrame: 0)
    case .foreignHeartbeat:
      return .heartbeat(
        token: lie.token, talking: true, previous: lie.token, queueDigest: 0)
    case .foreignTaken:
      return .taken(token: lie.token, talking: true, chain: [], queue: [])
    case .inflatedTaken:
      forged.id = TokenID(
        turn: lie.token.id.turn + 1 << (lie.number % 24), holder: lie.liar, seat: 0)
      forged.floorClass = FloorClass(rawValue: UInt8(lie.number % 4))!
      return .taken(token: forged, talking: true, chain: [], queue: [])
    case .falseStale:
      return .stale(
        token: lie.token, idle: lie.number % 2 == 0, age: 0,
        highestTurn: lie.token.id.turn + lie.number % 5)
    case .falseCancel:
      return .cancel(request: lie.number, requester: lie.token.id.holder, seat: 0)
    }
  }
}
