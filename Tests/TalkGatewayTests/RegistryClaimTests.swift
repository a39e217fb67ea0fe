import Glibc
import TalkCore
import TalkNet
import Testing

@testable import TalkGateway

@Suite struct RegistryClaimTests {
  private let folder = RegistryFolder()

  private func registry(phones: Int) throws -> SQLiteRegistry {
    let registry = try folder.openWithChannel()
    for number in 1...phones {
      _ = try registry.add(
        Sample.device(number), name: "phone", channel: Sample.channel,
        ticket: Sample.ticket(number), at: 0)
      try registry.register(Sample.token(number, bytes: [UInt8(number & 255), 2]))
    }
    return registry
  }

  @Test func aPushIsClaimedOnce() throws {
    let registry = try registry(phones: 1)
    let device = [Sample.device(1)]
    func claim(_ gateway: PeerID, after milliseconds: UInt64) throws -> ClaimOutcome? {
      try registry.claim(
        Sample.claim(gateway: gateway), for: device, at: Sample.now + milliseconds
      ).first
    }
    let won = ClaimOutcome.won([Sample.token(bytes: [1, 2])])
    #expect(try claim(Sample.gateway, after: 0) == won)
    #expect(try claim(Sample.otherGateway, after: 1) == .lost(sent: false))
    #expect(try claim(Sample.gateway, after: 1) == .lost(sent: false))
    // Another kind of push about the same burst is another claim.
    try registry.register(Sample.token(kind: .alert, bytes: [3]))
    #expect(
      try registry.claim(Sample.claim(.missedVoice), for: device, at: Sample.now)
        == [.won([Sample.token(kind: .alert, bytes: [3])])])
  }

  @Test func aGatewayThatDiedBeforeItsPushLeftIsReplacedByTheOther() throws {
    let registry = try registry(phones: 2)
    let both = [Sample.device(1), Sample.device(2)]
    let (first, second) = (Sample.claim(), Sample.claim(gateway: Sample.otherGateway))
    _ = try registry.claim(first, for: both, at: Sample.now)
    try registry.markSent(first, to: [Sample.device(1)])
    #expect(
      try registry.claim(second, for: both, at: Sample.now + 1_999)
        == [.lost(sent: true), .lost(sent: false)])
    #expect(
      try registry.claim(second, for: both, at: Sample.now + 2_000)
        == [.lost(sent: true), .won([Sample.token(2, bytes: [2, 2])])])
    // The first one comes back to life: it may not say of the other's claim that it was sent.
    try registry.markSent(first, to: both)
    #expect(
      try registry.claim(first, for: [Sample.device(2)], at: Sample.now + 2_500)
        == [.lost(sent: false)])
  }

  @Test func aPhoneWithoutATokenIsNotClaimed() throws {
    let registry = try registry(phones: 1)
    let voip = Sample.claim(.call)
    #expect(try registry.claim(voip, for: [Sample.device(1)], at: 0) == [.noToken])
    try registry.register(Sample.token(kind: .voip, bytes: [9]))
    #expect(
      try registry.claim(voip, for: [Sample.device(1)], at: 0)
        == [.won([Sample.token(kind: .voip, bytes: [9])])])
  }

  @Test func oldClaimsAreForgotten() throws {
    let registry = try registry(phones: 1)
    _ = try registry.claim(Sample.claim(), for: [Sample.device(1)], at: Sample.now)
    try registry.markSent(Sample.claim(), to: [Sample.device(1)])
    try registry.forgetClaims(before: Sample.now)
    #expect(
      try registry.claim(Sample.claim(), for: [Sample.device(1)], at: Sample.now)
        == [.lost(sent: true)])
    try registry.forgetClaims(before: Sample.now + 1)
    #expect(
      try registry.claim(Sample.claim(), for: [Sample.device(1)], at: Sample.now)
        == [.won([Sample.token(bytes: [1, 2])])])
  }

  @Test func twoGatewaysOnTwoConnectionsPushEachBurstOnce() throws {
    let bursts = 60
    let devices = (1...5).map { Sample.device($0) }
    let first = try registry(phones: 5)
    let second = try folder.open()
    let wins = Wins()
    let threads = try [(first, Sample.gateway), (second, Sample.otherGateway)].map { entry in
      try NodeThread(name: "gateway") {
        for number in 0..<bursts {
          let claim = Sample.claim(
            burst: BurstID(Bytes16(high: 5, low: UInt64(number))), gateway: entry.1)
          do throws(RegistryError) {
            let outcomes = try entry.0.claim(claim, for: devices, at: Sample.now)
            wins.add(outcomes.filter { if case .won = $0 { true } else { false } }.count)
          } catch {
            wins.fail(error)
          }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(wins.errors.isEmpty)
    #expect(wins.count == bursts * devices.count)
  }

  @Test func theWorkerRunsQueriesInOrderAndSaysWhenItHasTooMany() throws {
    let registry = try registry(phones: 1)
    let worker = try RegistryWorker(registry: registry)
    let answers = try Mailbox<Int>(limit: RegistryWorker.queryLimit)
    let gate = Lock()
    var refused = 0
    gate.withLock {
      for number in 0...RegistryWorker.queryLimit + 1 {
        let taken = worker.submit { registry in
          gate.withLock {}
          let count = (try? registry.phones(in: nil).count) ?? 0
          answers.post(number * count)
        }
        if !taken { refused += 1 }
      }
    }
    worker.close()
    #expect((1...2).contains(refused))
    var seen: [Int] = []
    answers.drain { seen.append($0) }
    #expect(seen == seen.sorted() && seen.count >= RegistryWorker.queryLimit - 1)
  }
}

/// What several threads won.
private final class Wins: Sendable {
  private let lock = Lock()
  private nonisolated(unsafe) var total = 0
  private nonisolated(unsafe) var failures: [RegistryError] = []

  func add(_ count: Int) { lock.withLock { total += count } }
  func fail(_ error: RegistryError) { lock.withLock { failures.append(error) } }
  var count: Int { lock.withLock { total } }
  var errors: [RegistryError] { lock.withLock { failures } }
}
