import CAllocationProbe
import TalkCore
import TalkMesh
import TalkWire
import Testing

private func peer(_ number: Int) -> PeerID { PeerID(Bytes16(high: 7, low: UInt64(number))) }
private let start = Instant(nanoseconds: 1_000_000_000_000)
private func at(_ seconds: Double) -> Instant { start + .nanoseconds(Int64(seconds * 1e9)) }
private let status = OwnStatus(
  rosterDigest: Bytes16(high: 1, low: 1), isDeaf: false, hasMicrophone: true)

extension Presence {
  fileprivate mutating func takeEvents() -> [PresenceEvent] {
    var events: [PresenceEvent] = []
    while let event = nextEvent() { events.append(event) }
    return events
  }
}

/// Two or more presences over a network that can lose: `lost` says which ones, by sender and
/// recipient. Everything happens at deadlines, so a deadline that comes late fails the test.
private struct Room {
  var nodes: [Presence]
  var now = start
  var delay: Duration = .milliseconds(2)
  var flying: [(at: Instant, from: Int, to: Int, body: PresenceBody)] = []
  var sent = 0
  var lost: (Int, Int) -> Bool = { _, _ in false }

  init(_ count: Int) {
    nodes = Array(repeating: Presence(started: start), count: count)
    for node in 0..<count {
      for other in 0..<count where other != node { nodes[node].sessionUp(peer(other), now: now) }
    }
  }

  mutating func run(until end: Instant) {
    while true {
      for node in nodes.indices where nodes[node].deadline.map({ $0 <= now }) ?? false {
        nodes[node].tick(now: now)
        while let next = nodes[node].nextKeepalive(now: now, status: status) {
          sent += 1
          let to = Int(next.peer.value.low)
          if !lost(node, to) { flying.append((now + delay, node, to, next.body)) }
        }
      }
      var next = flying.map(\.at).min()
      for node in nodes { next = Instant.earliest(next, node.deadline) }
      guard let next, next <= end else { break }
      precondition(next >= now, "the past is due at \(now)")
      now = max(next, now)
      let arrived = flying.filter { $0.at <= now }
      flying.removeAll { $0.at <= now }
      for one in arrived {
        nodes[one.to].received(one.body, from: peer(one.from), now: now)
      }
    }
    now = end
  }
}

@Suite("Presence")
struct PresenceTests {
  @Test("two nodes know within one round trip that each hears the other, and how far it is")
  func firstContact() throws {
    var room = Room(2)
    room.run(until: at(0.5))
    for node in 0..<2 {
      let view = try #require(room.nodes[node].view(of: peer(1 - node), now: at(0.01)))
      #expect(view.hearsMe && view.iHear && view.isPresent)
      #expect(view.roundTrip == .milliseconds(4))
      #expect(view.lossTo == 0 && view.lossFrom == 0)
      #expect(view.hasMicrophone && !view.isDeaf)
      #expect(view.rosterDigest == status.rosterDigest)
      let events = room.nodes[node].takeEvents()
      let other = peer(1 - node)
      #expect(events == [.changed(other, isPresent: true), .notice(other, isPresent: true)])
    }
    #expect(room.sent <= 6)
  }

  @Test("a keepalive goes to each peer each second, up to 32 members", arguments: [2, 10, 32])
  func denseRate(members: Int) {
    var room = Room(members)
    room.run(until: at(1))
    let before = room.sent
    room.run(until: at(11))
    let perSecond = Double(room.sent - before) / 10 / Double(members * (members - 1))
    #expect(abs(perSecond - 1) < 0.05)
  }

  @Test("beyond 32 members a node sends about 31 keepalives a second, and nobody goes away")
  func sparseRate() {
    var room = Room(48)
    room.run(until: at(10))
    for node in room.nodes.indices { _ = room.nodes[node].takeEvents() }
    let before = room.sent
    room.run(until: at(30))
    let perSecond = Double(room.sent - before) / 20 / 48
    #expect(perSecond < 33 && perSecond > 28)
    for node in room.nodes.indices {
      let events = room.nodes[node].takeEvents()
      #expect(events == [])
      #expect(room.nodes[node].heardMe(within: .milliseconds(1_200), now: at(30)))
    }
  }

  @Test("beyond 32 members one that dies is away for all within two turns and its askings")
  func sparseDeath() {
    var room = Room(48)
    room.run(until: at(10))
    for node in room.nodes.indices { _ = room.nodes[node].takeEvents() }
    room.lost = { from, to in from == 0 || to == 0 }
    room.run(until: at(20))
    for node in 1..<48 {
      let events = room.nodes[node].takeEvents()
      #expect(events.first == .changed(peer(0), isPresent: false))
    }
  }

  struct Silence: Sendable {
    let seconds: Double
    let isPresent: Bool
    static let all = [
      Silence(seconds: 3.4, isPresent: true), Silence(seconds: 3.5, isPresent: true),
      Silence(seconds: 3.501, isPresent: false),
    ]
  }

  @Test("a silent peer is away after 3.5 s and not before", arguments: Silence.all)
  func away(_ silence: Silence) {
    var presence = Presence(started: start)
    presence.sessionUp(peer(1), now: at(0))
    presence.heard(peer(1), now: at(1))
    presence.tick(now: at(1 + silence.seconds))
    let view = presence.view(of: peer(1), now: at(1 + silence.seconds))
    #expect(view?.isPresent == silence.isPresent && view?.iHear == silence.isPresent)
    #expect((presence.lastHeard(peer(1)) != nil) == silence.isPresent)
  }

  @Test("any authenticated datagram keeps a peer here, and brings it back")
  func heard() {
    var presence = Presence(started: start)
    presence.sessionUp(peer(1), now: at(0))
    for tenth in 0..<100 {
      presence.heard(peer(1), now: at(Double(tenth) / 10))
      presence.tick(now: at(Double(tenth) / 10))
    }
    _ = presence.takeEvents()
    presence.tick(now: at(20))
    presence.heard(peer(1), now: at(21))
    let events = presence.takeEvents()
    #expect(
      events == [.changed(peer(1), isPresent: false), .changed(peer(1), isPresent: true)])
    presence.heard(peer(2), now: at(21))
    #expect(presence.view(of: peer(2), now: at(21)) == nil)
  }

  @Test("a one-way link shows as one: I hear, but am not heard")
  func oneWay() throws {
    var room = Room(2)
    room.lost = { from, _ in from == 0 }
    room.run(until: at(10))
    let zero = try #require(room.nodes[0].view(of: peer(1), now: at(10)))
    #expect(zero.iHear && !zero.hearsMe)
    #expect(!room.nodes[0].heardMe(within: .milliseconds(1_200), now: at(10)))
    let one = try #require(room.nodes[1].view(of: peer(0), now: at(10)))
    #expect(!one.iHear && !one.isPresent && !one.hearsMe)
  }

  @Test("loss is told apart by direction")
  func loss() throws {
    var room = Room(2)
    var generator = SeededGenerator(seed: 5)
    room.lost = { from, _ in from == 0 && generator.fraction() < 0.3 }
    room.run(until: at(120))
    let zero = try #require(room.nodes[0].view(of: peer(1), now: at(120)))
    let lossTo = try #require(zero.lossTo)
    #expect(lossTo > 0.1 && lossTo < 0.5 && zero.lossFrom == 0)
    let one = try #require(room.nodes[1].view(of: peer(0), now: at(120)))
    let lossFrom = try #require(one.lossFrom)
    #expect(one.lossTo == 0 && abs(lossFrom - lossTo) < 0.1)
  }

  @Test("'I hear you' counts for the floor for 1.2 s, not longer")
  func floorEvidence() {
    var room = Room(2)
    room.run(until: at(0.1))
    room.lost = { _, _ in true }
    let limit: Duration = .milliseconds(1_200)
    room.run(until: at(2))
    #expect(!room.nodes[0].heardMe(within: limit, now: at(2)))
    var other = Room(2)
    // The answers to the first ones went at 0.2 s, so the next keepalives go at 1.2 s.
    other.run(until: at(1.3))
    let last = at(1.2) + other.delay
    #expect(other.nodes[0].heardMe(within: limit, now: last + limit))
    #expect(!other.nodes[0].heardMe(within: limit, now: last + limit + .nanoseconds(1)))
  }

  @Test("a probe brings fresh evidence within a round trip, no oftener than each 0.2 s")
  func probe() {
    var room = Room(3)
    room.run(until: at(0.9))
    #expect(!room.nodes[0].heardMe(within: .milliseconds(100), now: at(0.9)))
    room.nodes[0].probe(limit: 1, now: at(0.9))
    let before = room.sent
    room.run(until: at(0.91))
    #expect(room.nodes[0].heardMe(within: .milliseconds(100), now: at(0.91)))
    #expect(room.sent == before + 2)
    room.nodes[0].probe(limit: 1, now: at(0.92))
    room.run(until: at(0.95))
    #expect(room.sent == before + 2)
  }

  @Test("a flapping peer makes one notice in five minutes, and its last state is told then")
  func flapping() {
    var presence = Presence(started: start)
    presence.sessionUp(peer(1), now: at(0))
    var notices: [Instant: Bool] = [:]
    var changes = 0
    func note(_ events: [PresenceEvent], _ now: Instant) {
      for event in events {
        switch event {
        case .changed: changes += 1
        case .notice(_, let isPresent): notices[now] = isPresent
        }
      }
    }
    note(presence.takeEvents(), at(0))
    for round in 1...20 {
      let now = at(Double(round) * 10)
      presence.tick(now: now)
      note(presence.takeEvents(), now)
      guard round < 20 else { break }
      presence.heard(peer(1), now: now)
      note(presence.takeEvents(), now)
    }
    #expect(changes == 40 && notices == [at(0): true])
    while let deadline = presence.deadline, deadline <= at(400) {
      presence.tick(now: deadline)
      note(presence.takeEvents(), deadline)
      while presence.nextKeepalive(now: deadline, status: status) != nil {}
    }
    #expect(notices == [at(0): true, at(300): false])
  }

  @Test("a BYE makes a peer away at once, and a session that replaces one starts sequences anew")
  func sessions() {
    var presence = Presence(started: start)
    presence.sessionUp(peer(1), now: at(0))
    _ = presence.nextKeepalive(now: at(0), status: status)
    _ = presence.takeEvents()
    presence.sessionUp(peer(1), now: at(0.5))
    let next = presence.nextKeepalive(now: at(0.5), status: status)
    #expect(next?.body.sequence == 0)
    var events = presence.takeEvents()
    #expect(events == [])
    presence.sessionDown(peer(1), now: at(1))
    events = presence.takeEvents()
    #expect(events == [.changed(peer(1), isPresent: false)])
    presence.heard(peer(1), now: at(1.1))
    events = presence.takeEvents()
    #expect(events == [])
  }

  @Test("a loop that ran late blames nobody")
  func excuse() {
    var presence = Presence(started: start)
    presence.sessionUp(peer(1), now: at(0))
    presence.excuse(.seconds(5), now: at(6))
    presence.tick(now: at(6))
    #expect(presence.view(of: peer(1), now: at(6))?.isPresent == true)
  }

  @Test("the table takes 1,024 peers; one more needs one that is not connected")
  func limit() {
    var presence = Presence(started: start)
    for number in 0..<Presence.peerLimit {
      presence.sessionUp(peer(number), now: at(0))
    }
    #expect(presence.views(now: at(0)).count == 1_024)
    let isTaken = presence.sessionUp(peer(5_000), now: at(0))
    #expect(!isTaken)
    presence.sessionDown(peer(3), now: at(1))
    let isTakenThen = presence.sessionUp(peer(5_000), now: at(1))
    #expect(isTakenThen)
    #expect(presence.view(of: peer(3), now: at(1)) == nil)
  }

  @Test(
    "a datagram from a peer that is here allocates nothing",
    .enabled(if: talk_probe_works() != 0, "a sanitizer keeps malloc for itself"))
  func noAllocation() {
    var presence = Presence(started: start)
    for number in 0..<100 { presence.sessionUp(peer(number), now: start) }
    let before = talk_probe_allocations()
    for round in 0..<1_000 {
      presence.heard(peer(round % 100), now: start + .milliseconds(round))
    }
    #expect(talk_probe_allocations() == before)
    #expect(presence.lastHeard(peer(99)) == start + .milliseconds(999))
  }

  @Test("reordered, repeated and lying presences do no harm")
  func hostile() throws {
    var presence = Presence(started: start)
    presence.sessionUp(peer(1), now: at(0))
    var generator = SeededGenerator(seed: 9)
    for round in 0..<100_000 {
      let body = PresenceBody(
        flags: PresenceBody.Flags(rawValue: UInt8(generator.next() & 31)),
        sequence: UInt32(truncatingIfNeeded: generator.next()),
        sentAt: UInt32(truncatingIfNeeded: generator.next()),
        echo: UInt32(truncatingIfNeeded: generator.next()),
        echoDelay: UInt32(truncatingIfNeeded: generator.next()), received: 0, expected: 32,
        uptime: .max, rosterDigest: .zero)
      presence.received(body, from: peer(1), now: at(Double(round) / 1_000))
      while presence.nextKeepalive(now: at(Double(round) / 1_000), status: status) != nil {}
    }
    let view = try #require(presence.view(of: peer(1), now: at(100)))
    let lossFrom = try #require(view.lossFrom)
    let roundTrip = try #require(view.roundTrip)
    #expect(view.lossTo == 1 && lossFrom >= 0 && lossFrom <= 1)
    #expect(roundTrip <= .seconds(60) && roundTrip >= .zero)
  }
}
