import TalkCore
import TalkMesh
import TalkWire
import Testing

private func peer(_ number: Int) -> PeerID { PeerID(Bytes16(high: 7, low: UInt64(number))) }
private let start = Instant(nanoseconds: 1_000_000_000_000)
private func at(_ seconds: Double) -> Instant { start + .nanoseconds(Int64(seconds * 1e9)) }
private let channel = ChannelID(Bytes16(high: 1, low: 1))
private let other = ChannelID(Bytes16(high: 2, low: 2))
private func ipv4(_ address: UInt32, _ port: UInt16 = 41_717) -> Endpoint {
  Endpoint(ipv4: address, port: port)
}
private func link(
  _ interface: UInt32, _ address: UInt32, container: Bool = false
) -> LinkAddress {
  LinkAddress(
    interface: interface, address: ipv4(address).address, prefixLength: 24, isContainer: container)
}
private let near = ipv4(0x0a00_0002)
private let far = ipv4(0x0808_0808)
private let inside = ipv4(0xac11_0002)
private let linkLocal = Endpoint(
  address: Bytes16(high: 0xfe80 << 48, low: 5), port: 41_717, scope: 3)

private func table(bootInstance: UInt64 = 100) -> CandidateTable {
  var table = CandidateTable(own: peer(0), bootInstance: bootInstance, seed: 1)
  let sixth = LinkAddress(
    interface: 3, address: Bytes16(high: 0xfe80 << 48, low: 1), prefixLength: 64,
    isContainer: false)
  table.setLinks(
    [link(2, 0xac11_0001, container: true), link(3, 0x0a00_0001), sixth], ownPort: 41_717,
    now: start)
  return table
}

extension CandidateTable {
  /// Every dial until `end`, with its time, taken at the deadlines.
  fileprivate mutating func dials(until end: Instant) -> [(at: Instant, dial: Dial)] {
    var result: [(at: Instant, dial: Dial)] = []
    while let due = deadline, due <= end {
      let before = result.count
      while let dial = nextDial(now: max(due, start)) { result.append((max(due, start), dial)) }
      precondition(result.count > before, "a deadline at \(due) with nothing to dial")
    }
    return result
  }
}

@Suite("Candidates")
struct CandidateTableTests {
  @Test("a static peer is tried at once, then every 30 s give or take a fifth, for ever")
  func staticPeer() throws {
    var table = table()
    try table.add(far, of: channel, from: .staticPeer, now: start)
    let dials = table.dials(until: at(3_600))
    #expect(dials.first?.at == start && dials.first?.dial.inits == 6)
    for (one, next) in zip(dials, dials.dropFirst()) {
      #expect(next.at - one.at >= .seconds(24) && next.at - one.at <= .seconds(36))
    }
    #expect(dials.count > 100 && dials.count < 150)
  }

  @Test("others are tried with three INITs and growing pauses up to five minutes")
  func backoff() throws {
    var table = table()
    try table.add(far, of: channel, from: .mdns, now: start)
    let dials = table.dials(until: at(3_600))
    #expect(dials.first?.at == start && dials.allSatisfy { $0.dial.inits == 3 })
    let pauses = zip(dials, dials.dropFirst()).map { $1.at - $0.at }
    #expect(pauses[0] >= .seconds(4) && pauses[0] <= .seconds(6))
    #expect(pauses[1] >= .seconds(8) && pauses[1] <= .seconds(12))
    #expect(pauses.allSatisfy { $0 <= .seconds(360) } && pauses.last! >= .seconds(240))
  }

  struct Wait: Sendable {
    let theirs: UInt64
    let wait: Duration
    static let all = [
      Wait(theirs: 99, wait: .milliseconds(300)), Wait(theirs: 101, wait: .zero),
    ]
  }

  @Test("the smaller boot instance starts, the other waits 0.3 s", arguments: Wait.all)
  func courtesy(_ wait: Wait) throws {
    var table = table()
    try table.heardHello(from: near, of: channel, bootInstance: wait.theirs, now: start)
    #expect(table.deadline.map { max($0, start) } == start + wait.wait)
  }

  @Test("our own HELLO is not a peer's")
  func ownHello() {
    var table = table()
    #expect(throws: CandidateRefusal.ourselves) {
      try table.heardHello(from: near, of: channel, bootInstance: 100, now: start)
    }
    #expect(table.deadline == nil)
  }

  @Test("an endpoint on our link comes first, one behind a container bridge last")
  func ranks() throws {
    var table = table()
    for endpoint in [inside, far, near, linkLocal] {
      try table.add(endpoint, of: channel, from: .mdns, now: start)
    }
    let order = table.dials(until: at(1)).map(\.dial.endpoint)
    #expect(Set(order.prefix(2)) == [near, linkLocal] && Array(order.suffix(2)) == [far, inside])
  }

  @Test("dials are 5 ms apart")
  func gap() throws {
    var table = table()
    for number in 10..<60 {
      try table.add(ipv4(0x0a00_0000 + UInt32(number)), of: channel, from: .mdns, now: start)
    }
    let dials = table.dials(until: at(1))
    #expect(dials.count == 50)
    for (one, next) in zip(dials, dials.dropFirst()) {
      #expect(next.at - one.at >= .milliseconds(5))
    }
  }

  @Test("a second endpoint of the same boot waits for the outcome of the first")
  func alternatives() throws {
    var table = table()
    try table.heardHello(from: near, of: channel, bootInstance: 200, now: start)
    let first = table.dials(until: start)
    #expect(first.map(\.dial.endpoint) == [near])
    try table.heardHello(from: linkLocal, of: channel, bootInstance: 200, now: at(0.001))
    let early = table.dials(until: at(0.9))
    #expect(early.isEmpty)
    let second = table.dials(until: at(1.1))
    #expect(second.map(\.dial.endpoint) == [linkLocal])
    table.authenticated(peer(1), at: near, of: channel, now: at(1.2))
    let late = table.dials(until: at(600))
    #expect(late.isEmpty)
  }

  @Test("nobody is dialled whose session works, whoever names the endpoint")
  func working() throws {
    var table = table()
    try table.heardHello(from: near, of: channel, bootInstance: 200, now: start)
    table.authenticated(peer(1), at: near, of: channel, now: start)
    try table.add(near, of: channel, from: .mdns, now: at(1))
    let hearsay = PeerExchangeEntry(peer: peer(1), endpoint: far, age: 1)
    table.addExchange([hearsay], of: channel, now: at(1))
    #expect(table.deadline == nil)
    // The same endpoint in another channel is another session.
    try table.add(near, of: other, from: .mdns, now: at(1))
    let dials = table.dials(until: at(2))
    #expect(dials.map(\.dial.channel) == [other])
  }

  @Test("a path that fails has all known endpoints tried, and works again without a dial")
  func failingPath() throws {
    var table = table()
    table.authenticated(peer(1), at: near, of: channel, now: start)
    table.authenticated(peer(1), at: far, of: channel, now: start)
    table.setPath(of: peer(1), in: channel, works: false, now: at(10))
    let dials = table.dials(until: at(12))
    #expect(dials.map(\.dial.endpoint) == [near, far])
    #expect(dials.allSatisfy { $0.dial.knownAs == peer(1) })
    table.setPath(of: peer(1), in: channel, works: true, now: at(12))
    #expect(table.deadline == nil)
  }

  @Test("a lost session is tried again at once, one that said BYE after half a minute")
  func ended() throws {
    for (leaving, wait) in [(false, Duration.zero), (true, .seconds(30))] {
      var table = table()
      table.authenticated(peer(1), at: near, of: channel, now: start)
      table.sessionEnded(with: peer(1), in: channel, leaving: leaving, now: at(5))
      #expect(table.deadline == at(5) + wait)
    }
  }

  @Test("a peer that restarted is dialled although its old session still seems to work")
  func restarted() throws {
    var table = table()
    try table.heardHello(from: near, of: channel, bootInstance: 200, now: start)
    table.authenticated(peer(1), at: near, of: channel, now: start)
    try table.heardHello(from: near, of: channel, bootInstance: 200, now: at(5))
    #expect(table.deadline == nil)
    try table.heardHello(from: near, of: channel, bootInstance: 300, now: at(6))
    let dials = table.dials(until: at(6))
    #expect(dials.map(\.dial.endpoint) == [near])
  }

  @Test("a session that came in before the first HELLO is not taken for a restart")
  func helloAfterSession() throws {
    var table = table()
    table.authenticated(peer(1), at: near, of: channel, now: start)
    try table.heardHello(from: near, of: channel, bootInstance: 200, now: at(1))
    #expect(table.deadline == nil)
  }

  @Test("a handshake that comes in holds ours back")
  func inbound() throws {
    var table = table()
    try table.heardHello(from: near, of: channel, bootInstance: 50, now: start)
    table.inbound(from: near, of: channel, now: at(0.1))
    #expect(table.deadline == at(1.1))
  }

  struct Refused: Sendable {
    let endpoint: Endpoint
    let why: CandidateRefusal
    static let all = [
      Refused(endpoint: ipv4(0x0a00_0002, 0), why: .notUnicast),
      Refused(endpoint: ipv4(0), why: .notUnicast),
      Refused(endpoint: ipv4(0xefff_2911), why: .notUnicast),
      Refused(endpoint: ipv4(0xffff_ffff), why: .notUnicast),
      Refused(
        endpoint: Endpoint(address: Bytes16(high: 0xff02 << 48, low: 1), port: 1),
        why: .notUnicast),
      Refused(endpoint: Endpoint(address: .zero, port: 1), why: .notUnicast),
      Refused(
        endpoint: Endpoint(address: Bytes16(high: 0xfe80 << 48, low: 5), port: 1),
        why: .noInterface),
      Refused(endpoint: ipv4(0x0a00_0001), why: .ourselves),
    ]
  }

  @Test("an endpoint that cannot be a peer is refused with the reason", arguments: Refused.all)
  func refused(_ refused: Refused) {
    var table = table()
    #expect(throws: refused.why) {
      try table.add(refused.endpoint, of: channel, from: .staticPeer, now: start)
    }
    #expect(table.unverifiedCount == 0)
  }

  @Test("a static peer that turns out to be us is never tried again")
  func ourselves() throws {
    var table = table()
    try table.add(far, of: channel, from: .staticPeer, now: start)
    table.reachedOurselves(at: far)
    #expect(table.deadline == nil)
    #expect(throws: CandidateRefusal.ourselves) {
      try table.add(far, of: channel, from: .staticPeer, now: at(1))
    }
  }

  @Test("hearsay is passed over when old, link-local or of us, and forgotten after four dials")
  func hearsay() {
    var table = table()
    table.addExchange(
      [
        PeerExchangeEntry(peer: peer(1), endpoint: far, age: 61),
        PeerExchangeEntry(peer: peer(1), endpoint: linkLocal, age: 1),
        PeerExchangeEntry(peer: peer(0), endpoint: far, age: 1),
      ], of: channel, now: start)
    #expect(table.unverifiedCount == 0)
    table.addExchange(
      [PeerExchangeEntry(peer: peer(1), endpoint: far, age: 60)], of: channel, now: start)
    let dials = table.dials(until: at(3_600))
    #expect(dials.count == 4 && table.unverifiedCount == 0)
  }

  @Test("256 unproved endpoints are kept; one more must be worth more than one of them")
  func limit() throws {
    var table = table()
    for number in 0..<CandidateTable.unverifiedLimit {
      try table.add(ipv4(0x0a01_0000 + UInt32(number)), of: channel, from: .mdns, now: start)
    }
    #expect(throws: CandidateRefusal.full) {
      try table.add(far, of: channel, from: .mdns, now: start)
    }
    table.addExchange(
      [PeerExchangeEntry(peer: peer(1), endpoint: far, age: 1)], of: channel, now: start)
    #expect(table.unverifiedCount == 256)
    try table.heardHello(from: near, of: channel, bootInstance: 200, now: start)
    #expect(table.unverifiedCount == 256)
    // Proved ones count no more, and are never driven out.
    table.authenticated(peer(1), at: near, of: channel, now: start)
    try table.add(far, of: channel, from: .staticPeer, now: start)
    #expect(table.unverifiedCount == 256)
    #expect(table.knownPaths(of: channel).map(\.endpoint) == [near])
  }

  @Test("four endpoints are kept of one identity, the session's own always")
  func paths() {
    var table = table()
    for number in 0..<6 {
      table.authenticated(
        peer(1), at: ipv4(0x0a01_0000 + UInt32(number)), of: channel, now: at(Double(number)))
    }
    let known = table.knownPaths(of: channel)
    #expect(known.map(\.endpoint) == (2..<6).map { ipv4(0x0a01_0000 + UInt32($0)) })
  }

  @Test("a withdrawn record is forgotten unless another source or a proof stands for it")
  func withdrawn() throws {
    var table = table()
    try table.add(near, of: channel, from: .mdns, now: start)
    table.withdraw(near, of: channel, from: .mdns)
    #expect(table.unverifiedCount == 0)
    try table.add(near, of: channel, from: .mdns, now: start)
    try table.add(near, of: channel, from: .staticPeer, now: start)
    table.withdraw(near, of: channel, from: .mdns)
    #expect(table.unverifiedCount == 1)
    table.authenticated(peer(1), at: far, of: channel, now: start)
    table.withdraw(far, of: channel, from: .mdns)
    #expect(table.knownPaths(of: channel).count == 1)
  }

  @Test("a network change tries everybody again at once who has no working session")
  func networkChange() throws {
    var table = table()
    try table.add(far, of: channel, from: .mdns, now: start)
    table.authenticated(peer(1), at: near, of: channel, now: start)
    _ = table.dials(until: at(100))
    table.setLinks([link(4, 0x0808_0801)], ownPort: 41_717, now: at(101))
    #expect(table.deadline == at(101))
    let dials = table.dials(until: at(101))
    #expect(dials.map(\.dial.endpoint) == [far])
  }

  @Test("HELLOs tell of every member in turn, never of loopback, link-local or absent ones")
  func exchange() {
    var table = table()
    for number in 1...9 {
      table.authenticated(
        peer(number), at: ipv4(0x0a00_0100 + UInt32(number)), of: channel, now: start)
    }
    table.authenticated(peer(20), at: ipv4(0x7f00_0001), of: channel, now: start)
    table.authenticated(peer(21), at: linkLocal, of: channel, now: start)
    table.authenticated(peer(22), at: far, of: channel, now: start)
    table.authenticated(peer(23), at: far, of: other, now: start)
    var told: [PeerID: Int] = [:]
    for _ in 0..<9 {
      let entries = table.exchange(of: channel, now: at(7)) { $0 == peer(22) ? nil : start }
      #expect(entries.count == 4 && entries.allSatisfy { $0.age == 7 })
      for entry in entries { told[entry.peer, default: 0] += 1 }
    }
    #expect(told == Dictionary(uniqueKeysWithValues: (1...9).map { (peer($0), 4) }))
  }

  @Test("a channel that was left is forgotten whole")
  func left() throws {
    var table = table()
    try table.add(near, of: channel, from: .mdns, now: start)
    table.authenticated(peer(1), at: far, of: channel, now: start)
    try table.add(near, of: other, from: .mdns, now: start)
    table.removeChannel(channel)
    #expect(table.knownPaths(of: channel).isEmpty && table.unverifiedCount == 1)
  }

  @Test("20,000 random events keep the limits, and a deadline always has something to dial")
  func random() {
    var table = table()
    var generator = SeededGenerator(seed: 77)
    var now = start
    for _ in 0..<20_000 {
      now += .milliseconds(Int64.random(in: 0..<200, using: &generator))
      let endpoint = ipv4(0x0a00_0000 + UInt32.random(in: 0..<200, using: &generator))
      let someone = peer(Int.random(in: 1..<40, using: &generator))
      switch Int.random(in: 0..<12, using: &generator) {
      case 0: try? table.add(endpoint, of: channel, from: .mdns, now: now)
      case 1: try? table.add(endpoint, of: other, from: .remembered, now: now)
      case 2, 3:
        try? table.heardHello(
          from: endpoint, of: channel,
          bootInstance: UInt64.random(in: 90..<130, using: &generator), now: now)
      case 4:
        table.addExchange(
          [PeerExchangeEntry(peer: someone, endpoint: endpoint, age: 3)], of: channel, now: now)
      case 5: table.withdraw(endpoint, of: channel, from: .mdns)
      case 6, 7: table.authenticated(someone, at: endpoint, of: channel, now: now)
      case 8: table.setPath(of: someone, in: channel, works: generator.next() & 1 == 0, now: now)
      case 9: table.sessionEnded(with: someone, in: channel, leaving: false, now: now)
      case 10: table.inbound(from: endpoint, of: channel, now: now)
      default: table.reachedOurselves(at: endpoint)
      }
      #expect(table.unverifiedCount <= CandidateTable.unverifiedLimit)
      if let due = table.deadline, due <= now {
        let dial = table.nextDial(now: now)
        #expect(dial != nil)
      }
    }
  }
}
