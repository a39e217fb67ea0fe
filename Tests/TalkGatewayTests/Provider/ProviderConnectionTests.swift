import Foundation
import TalkCore
import TalkGateway
import Testing

/// Connections that go, break, hang and lie, over real TLS and HTTP/2.
@Suite(.serialized) struct ProviderConnectionTests {
  @Test(arguments: [(40, false), (0, false), (100, false), (40, true)])
  func `GOAWAY with a hundred in flight loses none and doubles none`(
    keep: Int, twice: Bool
  ) throws {
    let rig = try ProviderRig()
    let first = try rig.push()
    #expect(try rig.send(first) == .delivered)
    try rig.standIn.tell("set", ["hold": true])
    let pushes = try rig.pushes(100)
    try rig.send(all: pushes)
    #expect(try rig.standIn.until { $0["held"] as? Int == 100 })
    try rig.standIn.tell("goaway", ["keep": keep, "twice": twice])
    // Those that were not processed come again, on another connection: one before the others.
    #expect(try rig.standIn.until { $0["held"] as? Int == min(1, 100 - keep) })
    try rig.standIn.tell("release")
    let outcomes = rig.outcomes.wait(for: 100)
    #expect(outcomes.count { $0.outcome == .delivered } == 100)
    try rig.expectEachTakenOnce([first] + pushes)
    #expect(try rig.status().lanes[0].counters.goaways >= 1)
  }

  @Test func `GOAWAY every 300 pushes loses none and doubles none`() throws {
    let long = ProcessInfo.processInfo.environment["TALKAROUND_LONG"] != nil
    let count = long ? 10_000 : 1_500
    let rig = try ProviderRig()
    try rig.standIn.tell("set", ["goaway_every": 300])
    let pushes = try rig.pushes(count)
    try rig.send(all: pushes)
    let outcomes = rig.outcomes.wait(for: count, seconds: 60)
    #expect(outcomes.count { $0.outcome == .delivered } == count)
    #expect(Set(outcomes.map(\.id)).count == count)
    try rig.expectEachTakenOnce(pushes)
    #expect(try rig.standIn.count("goaways") >= count / 300)
  }

  @Test func `A connection that went silent is found within 5 s, and its pushes arrive`() throws {
    let rig = try ProviderRig()
    #expect(try rig.send(try rig.push()) == .delivered)
    try rig.standIn.tell("swallow")
    let pushes = try rig.pushes(3)
    let start = ContinuousClock.now
    try rig.send(all: pushes)
    let outcomes = rig.outcomes.wait(for: 3)
    let took = ContinuousClock.now - start
    #expect(outcomes.count { $0.outcome == .delivered } == 3)
    #expect(took < .seconds(5))
    print("silent connection: pushes arrived after \(took)")
    #expect(try rig.status().lanes[0].counters.dead == 1)
    #expect(try rig.standIn.number("doubled") == 0)
  }

  @Test func `A push that is never answered goes to another connection, its neighbours stay`()
    throws
  {
    let rig = try ProviderRig()
    #expect(try rig.send(try rig.push()) == .delivered)
    try rig.standIn.tell("fault", ["kind": "hang"])
    let pushes = try rig.pushes(5)
    try rig.send(all: pushes)
    #expect(rig.outcomes.wait(for: 5).count { $0.outcome == .delivered } == 5)
    #expect(try rig.standIn.number("doubled") == 0)
    #expect(try rig.status().lanes[0].counters.again == 1)
  }

  @Test func `Idle for ten minutes, then a push without a handshake`() throws {
    let rig = try ProviderRig()
    #expect(try rig.send(try rig.push()) == .delivered)
    for minute in 1...10 {
      try rig.advance(ProviderLimits.idle, inAll: ProviderLimits.idle * minute)
      #expect(try rig.standIn.until { _ in (try? rig.status().lanes[0].counters.pongs) == minute })
    }
    #expect(try rig.send(try rig.push()) == .delivered)
    #expect(try rig.standIn.count("handshakes") == 1)
    #expect(try rig.standIn.count("pings") == 10)
    try rig.expectNoFault()
  }

  @Test func `An idle connection that does not answer a PING is replaced before the next push`()
    throws
  {
    let rig = try ProviderRig()
    #expect(try rig.send(try rig.push()) == .delivered)
    try rig.standIn.tell("swallow")
    try rig.advance(ProviderLimits.idle, inAll: ProviderLimits.idle)
    #expect(try rig.standIn.until { _ in (try? rig.status().lanes[0].counters.pings) == 1 })
    rig.clock.advance(ProviderLimits.pong)
    rig.provider?.look()
    #expect(
      try rig.standIn.until { ($0["counters"] as? [String: Int])?["handshakes"] == 2 })
    #expect(try rig.send(try rig.push()) == .delivered)
    #expect(try rig.status().lanes[0].counters.again == 0)
  }

  struct Break: @unchecked Sendable {
    let name: String
    let fault: [String: Any]
    static let all: [Break] = [
      Break(name: "REFUSED_STREAM", fault: ["kind": "refuse", "count": 3]),
      Break(name: "a stream reset", fault: ["kind": "reset", "code": 2]),
      Break(name: "an abrupt close", fault: ["kind": "close"]),
      Break(name: "noise", fault: ["kind": "garbage", "seed": 4]),
      Break(name: "GOAWAY", fault: ["kind": "goaway", "twice": true]),
      Break(name: "a slow answer", fault: ["kind": "slow", "ms": 400]),
      Break(
        name: "one 503", fault: ["kind": "answer", "status": 503, "reason": "ServiceUnavailable"]),
      Break(
        name: "one 500", fault: ["kind": "answer", "status": 500, "reason": "InternalServerError"]),
    ]
  }

  @Test func `One push survives whatever breaks under it`() throws {
    let rig = try ProviderRig()
    #expect(try rig.send(try rig.push()) == .delivered)
    for each in Break.all {
      try rig.standIn.tell("fault", each.fault)
      #expect(try rig.send(try rig.push()) == .delivered, "\(each.name)")
    }
    #expect(try rig.standIn.number("doubled") == 0)
  }

  @Test func `Noise in place of HTTP/2, a hundred times, neither traps nor leaves a push behind`()
    throws
  {
    let rig = try ProviderRig()
    #expect(try rig.send(try rig.push()) == .delivered)
    try rig.standIn.tell("fault", ["kind": "garbage", "count": 100_000, "bytes": 3_000])
    let pushes = try (0..<20).map { _ in try rig.push(life: .seconds(3)) }
    try rig.send(all: pushes)
    for (_, outcome) in rig.outcomes.wait(for: 20) {
      guard case .expired = outcome else {
        Issue.record("not expired: \(outcome)")
        continue
      }
    }
    try rig.standIn.tell("reset")
    rig.clock.advance(ProviderLimits.redial.last)
    rig.provider?.look()
    #expect(try rig.send(try rig.push()) == .delivered)
  }

  @Test func `A push that cannot be sent in its time is reported with the obstacle`() throws {
    let rig = try ProviderRig(start: false)
    try? FileManager.default.removeItem(atPath: rig.standIn.directory + "/ca.pem")
    // Another authority: a fresh stand-in's.
    let other = try StandIn()
    try FileManager.default.copyItem(
      atPath: other.directory + "/ca.pem", toPath: rig.standIn.directory + "/ca.pem")
    try rig.start()
    guard case .expired(let reason) = try rig.send(try rig.push(life: .seconds(1))) else {
      Issue.record("a push passed to a server that we must not trust")
      return
    }
    #expect(reason.contains("certificate"))
    #expect(try rig.standIn.count("requests") == 0)
  }
}
