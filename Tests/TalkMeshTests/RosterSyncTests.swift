import TalkCore
import TalkCrypto
import TalkMesh
import TalkWire
import Testing

private let start = Instant(nanoseconds: 1_000_000_000_000)
private func at(_ seconds: Double) -> Instant { start + .nanoseconds(Int64(seconds * 1e9)) }

/// Nodes with a roster each, a presence a second, and a network that loses.
private struct Mesh {
  enum Message {
    case presence(Bytes16)
    case pull(RosterPullBody)
    case record([UInt8])
    case end(RosterDigestBody)
  }

  let crowd: Crowd
  var rosters: [Roster]
  var syncs: [RosterSync]
  var now = start
  var flying: [(at: Instant, from: Int, to: Int, message: Message)] = []
  var loss = 0.0
  var generator = SeededGenerator(seed: 4)
  var sent = 0
  var pulls = 0
  var mostInSecond = 0

  init(_ crowd: Crowd, rosters: [Roster]) {
    self.crowd = crowd
    self.rosters = rosters
    syncs = Array(repeating: RosterSync(), count: rosters.count)
  }

  var areEqual: Bool { rosters.allSatisfy { $0.digest == rosters[0].digest } }

  private mutating func send(_ message: Message, from: Int, to: Int) {
    guard generator.fraction() >= loss else { return }
    flying.append((now + .milliseconds(2), from, to, message))
  }

  private mutating func drain(_ node: Int) {
    while let effect = syncs[node].next(now: now, roster: rosters[node]) {
      sent += 1
      let own = rosters[node].digest
      switch effect {
      case .pull(let peer):
        pulls += 1
        send(.pull(RosterPullBody(digest: own)), from: node, to: number(peer))
      case .push(let peer, let cursor):
        guard let body = rosters[node].record(at: cursor) else { continue }
        send(.record(body), from: node, to: number(peer))
      case .end(let peer, let count):
        let end = RosterDigestBody(digest: own, count: count)
        send(.end(end), from: node, to: number(peer))
      }
    }
  }

  private func number(_ peer: PeerID) -> Int {
    rosters.indices.first { crowd.id($0) == peer }!
  }

  private mutating func receive(_ message: Message, from: Int, at node: Int) {
    let peer = crowd.id(from)
    switch message {
    case .presence(let digest):
      syncs[node].sawDigest(digest, of: peer, own: rosters[node].digest, now: now)
    case .pull(let body):
      syncs[node].receivedPull(body, from: peer, own: rosters[node].digest)
    case .record(let body):
      _ = rosters[node].merge([body])
      syncs[node].receivedRecord(from: peer, now: now)
    case .end(let body):
      syncs[node].receivedEnd(body, from: peer, own: rosters[node].digest, now: now)
    }
  }

  /// Runs for `seconds`, or until all are equal when `untilEqual`.
  mutating func run(seconds: Int, untilEqual: Bool = false) {
    let end = now + .seconds(seconds)
    var presence = now
    while now < end, !(untilEqual && areEqual) {
      if presence <= now {
        for node in rosters.indices {
          for other in rosters.indices where other != node {
            send(.presence(rosters[node].digest), from: node, to: other)
          }
        }
        presence = now + .seconds(1)
      }
      for node in rosters.indices { drain(node) }
      var next = Instant.earliest(presence, flying.map(\.at).min()) ?? end
      for sync in syncs {
        let deadline = sync.deadline ?? end
        precondition(deadline > now, "due at \(now) and nothing done")
        next = min(next, deadline)
      }
      now = next
      let arrived = flying.filter { $0.at <= now }
      flying.removeAll { $0.at <= now }
      for one in arrived { receive(one.message, from: one.from, at: one.to) }
    }
  }
}

@Suite("Roster sync")
struct RosterSyncTests {
  /// The creator's roster with the first `count` members.
  private func roster(_ crowd: Crowd, members: Range<Int>) throws -> Roster {
    var roster = crowd.founded()
    for number in members { _ = try roster.admit(crowd.identity(number), by: crowd.people[0]) }
    return roster
  }

  struct Case: Sendable {
    let first: Range<Int>
    let second: Range<Int>
    let loss: Double
    static let all = [
      Case(first: 1..<30, second: 1..<1, loss: 0), Case(first: 1..<20, second: 20..<40, loss: 0),
      Case(first: 1..<30, second: 10..<40, loss: 0.1),
      Case(first: 1..<20, second: 20..<40, loss: 0.3),
    ]
  }

  @Test("two rosters become equal over a network that loses", arguments: Case.all)
  func pair(_ sample: Case) throws {
    let crowd = Crowd(40)
    for seed in 0..<10 {
      var mesh = Mesh(
        crowd,
        rosters: [
          try roster(crowd, members: sample.first), try roster(crowd, members: sample.second),
        ])
      mesh.loss = sample.loss
      mesh.generator = SeededGenerator(seed: UInt64(seed))
      mesh.run(seconds: 300, untilEqual: true)
      #expect(mesh.areEqual, "seed \(seed)")
      #expect(mesh.now - start <= .seconds(sample.loss == 0 ? 8 : 60), "seed \(seed)")
    }
  }

  @Test("eight nodes that know different members become equal, and then are quiet")
  func group() throws {
    let crowd = Crowd(40)
    var mesh = Mesh(
      crowd,
      rosters: try (0..<8).map {
        try roster(crowd, members: (1 + $0 * 4)..<(1 + $0 * 4 + 5))
      })
    mesh.loss = 0.1
    mesh.run(seconds: 600, untilEqual: true)
    #expect(mesh.areEqual && mesh.rosters[0].memberCount == 34)
    mesh.loss = 0
    mesh.run(seconds: 30)
    mesh.sent = 0
    mesh.run(seconds: 100)
    #expect(mesh.sent == 0)
  }

  @Test("what agrees by itself within two seconds is not asked for")
  func grace() throws {
    let crowd = Crowd(5)
    var sync = RosterSync()
    let own = try roster(crowd, members: 1..<3)
    let other = try roster(crowd, members: 1..<4)
    sync.sawDigest(other.digest, of: crowd.id(1), own: own.digest, now: at(0))
    sync.sawDigest(own.digest, of: crowd.id(1), own: own.digest, now: at(1))
    #expect(sync.deadline == nil)
    sync.sawDigest(other.digest, of: crowd.id(1), own: own.digest, now: at(2))
    // We learned it from the newcomer's chain in the meantime.
    let effect = sync.next(now: at(5), roster: other)
    #expect(effect == nil && sync.deadline == nil)
  }

  @Test("one digest is pulled from one peer at a time, and four digests at most")
  func inFlight() throws {
    let crowd = Crowd(12)
    var sync = RosterSync()
    let own = try roster(crowd, members: 1..<3)
    for number in 1...4 {
      sync.sawDigest(Bytes16(high: 1, low: 1), of: crowd.id(number), own: own.digest, now: at(0))
    }
    for number in 5...10 {
      let digest = Bytes16(high: 2, low: UInt64(number))
      sync.sawDigest(digest, of: crowd.id(number), own: own.digest, now: at(0))
    }
    var pulled = 0
    for tick in 0..<20 {
      while let effect = sync.next(now: at(2 + Double(tick) * 0.05), roster: own) {
        guard case .pull = effect else { continue }
        pulled += 1
      }
    }
    #expect(pulled == 4)
    #expect((1...10).filter { sync.isPulling(from: crowd.id($0)) }.count == 4)
  }

  @Test("20 messages a second go out, in turn to at most four askers")
  func rate() throws {
    let crowd = Crowd(40)
    let own = try roster(crowd, members: 1..<40)
    var sync = RosterSync()
    for number in 1...5 {
      let pull = RosterPullBody(digest: .zero)
      sync.receivedPull(pull, from: crowd.id(number), own: own.digest)
      sync.receivedPull(pull, from: crowd.id(number), own: own.digest)
    }
    var count = 0
    var byPeer: [PeerID: Int] = [:]
    var ends = 0
    for millisecond in 0..<20_000 {
      let now = at(Double(millisecond) / 1_000)
      while let effect = sync.next(now: now, roster: own) {
        count += 1
        if millisecond < 1_000 { #expect(count <= 20) }
        if case .push(let peer, _) = effect { byPeer[peer, default: 0] += 1 }
        if case .end(_, let count) = effect {
          #expect(count == 40)
          ends += 1
        }
      }
    }
    #expect(byPeer.count == 4 && byPeer.values.allSatisfy { $0 == 40 })
    #expect(ends == 4 && count == 164 && sync.deadline == nil)
  }

  @Test("an asker whose digest is ours gets the end alone")
  func equal() throws {
    let crowd = Crowd(5)
    let own = try roster(crowd, members: 1..<3)
    var sync = RosterSync()
    sync.receivedPull(RosterPullBody(digest: own.digest), from: crowd.id(1), own: own.digest)
    let effect = sync.next(now: at(0), roster: own)
    #expect(effect == .end(crowd.id(1), count: 0))
  }

  @Test("a peer that does not answer is given up after five seconds and asked again")
  func silence() throws {
    let crowd = Crowd(5)
    let own = try roster(crowd, members: 1..<3)
    var sync = RosterSync()
    sync.sawDigest(.zero, of: crowd.id(1), own: own.digest, now: at(0))
    var pulls: [Instant] = []
    while let deadline = sync.deadline, deadline < at(20) {
      if case .pull = sync.next(now: deadline, roster: own) { pulls.append(deadline) }
    }
    #expect(pulls == [at(2), at(8), at(14)])
    sync.forget(crowd.id(1))
    #expect(sync.deadline == nil)
  }

  @Test("a peer that lies about its digest is asked once a minute, not for ever")
  func liar() throws {
    let crowd = Crowd(5)
    let own = try roster(crowd, members: 1..<3)
    var sync = RosterSync()
    let lie = Bytes16(high: 9, low: 9)
    var pulls = 0
    for second in 0..<300 {
      sync.sawDigest(lie, of: crowd.id(1), own: own.digest, now: at(Double(second)))
      while case .pull? = sync.next(now: at(Double(second)), roster: own) {
        pulls += 1
        sync.receivedEnd(
          RosterDigestBody(digest: lie, count: 0), from: crowd.id(1), own: own.digest,
          now: at(Double(second)))
      }
    }
    #expect(pulls >= 4 && pulls <= 6)
  }
}
