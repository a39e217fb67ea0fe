import Foundation
import TalkCore
import TalkGateway
import TalkNet
import Testing

/// The machine's clocks, and how far the test has moved them.
final class ShiftedClock: ProviderClock, @unchecked Sendable {
  private let lock = NSLock()
  private var offset = Duration.zero
  private var wall: Int64 = 0

  func now() -> Instant { lock.withLock { BootClock.now() + offset } }
  func unix() -> UInt64 {
    lock.withLock {
      UInt64(Int64(Date().timeIntervalSince1970) + offset.components.seconds + wall)
    }
  }
  func advance(_ duration: Duration) { lock.withLock { offset += duration } }
  /// Moves the wall clock alone, as a person with the wrong time does.
  func misset(seconds: Int64) { lock.withLock { wall = seconds } }
}

/// A token store in memory, as the registry is one on disk.
final class MemoryTokenStore: TokenStore, @unchecked Sendable {
  private let lock = NSLock()
  private var tokens: [String: ProviderToken] = [:]

  func providerToken(for key: String) throws -> ProviderToken? { lock.withLock { tokens[key] } }
  func offer(
    _ token: ProviderToken, for key: String, replacing: UInt64?
  ) throws -> ProviderToken {
    lock.withLock {
      if let stands = tokens[key], stands.issuedAt != replacing { return stands }
      tokens[key] = token
      return token
    }
  }
}

/// What became of pushes, as it comes in.
final class Outcomes: @unchecked Sendable {
  private let condition = NSCondition()
  private var list: [(id: Bytes16, outcome: PushOutcome)] = []

  func add(_ push: Push, _ outcome: PushOutcome) {
    condition.lock()
    list.append((push.id, outcome))
    condition.broadcast()
    condition.unlock()
  }

  /// Waits for so many, and hands them over.
  func wait(for count: Int, seconds: Double = 20) -> [(id: Bytes16, outcome: PushOutcome)] {
    condition.lock()
    defer { condition.unlock() }
    let end = Date().addingTimeInterval(seconds)
    while list.count < count, condition.wait(until: end) {}
    defer { list = [] }
    return list
  }
}

/// A stand-in, a provider, and a clock between them.
final class ProviderRig {
  static let bundle = "org.talkaround.app"
  let standIn: StandIn
  let clock = ShiftedClock()
  let outcomes = Outcomes()
  var store: any TokenStore = MemoryTokenStore()
  let lines = Lines()
  private(set) var provider: APNsProvider?
  private var number: UInt64 = 0
  private var both: Bool

  final class Lines: @unchecked Sendable {
    private let lock = NSLock()
    private var list: [String] = []
    func add(_ line: String) { lock.withLock { list.append(line) } }
    var all: [String] { lock.withLock { list } }
  }

  init(bothEnvironments: Bool = false, start: Bool = true) throws {
    standIn = try StandIn()
    both = bothEnvironments
    if start { try self.start() }
  }

  deinit { provider?.end() }

  func host(_ environment: String) throws -> HostAndPort {
    try HostAndPort("127.0.0.1:\(standIn.ports[environment] ?? 0)")
  }

  func configuration(
    _ credential: ProviderConfiguration.Credential? = nil
  ) throws -> ProviderConfiguration {
    ProviderConfiguration(
      bundle: Self.bundle,
      credential: credential
        ?? .key(file: standIn.directory + "/key.p8", keyID: "KEY1234567", teamID: "TEAM123456"),
      sandbox: try host("sandbox"), production: both ? try host("production") : nil,
      authorities: standIn.directory + "/ca.pem")
  }

  func start(_ credential: ProviderConfiguration.Credential? = nil) throws {
    let lines = lines
    provider = try APNsProvider(try configuration(credential), store: store, clock: clock) {
      lines.add($0)
    }
  }

  func stop() {
    provider?.end()
    provider = nil
  }

  /// Moves all clocks: the gateway's and Apple's.
  func advance(_ duration: Duration, inAll: Duration) throws {
    clock.advance(duration)
    try standIn.tell("set", ["clock_offset": Double(inAll.components.seconds)])
    provider?.look()
  }

  /// A push to a device that nobody had yet.
  func push(
    _ kind: Push.Kind = .speak, bytes: Int? = nil, life: Duration = .seconds(20),
    register: Bool = true, environment: Push.Environment = .sandbox
  ) throws -> Push {
    number += 1
    var token = (0..<32).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0) }
    token += withUnsafeBytes(of: number.bigEndian, Array.init)
    var payload = Array(#"{"aps":{},"v":1,"x":""}"#.utf8)
    if let bytes, bytes > payload.count {
      payload.insert(
        contentsOf: [UInt8](repeating: 120, count: bytes - payload.count), at: payload.count - 2)
    }
    let push = Push(
      kind: kind, token: token, environment: environment, id: Bytes16(high: 7, low: number),
      payload: payload, began: clock.now(), notAfter: clock.now() + life)
    if register { try self.register([push]) }
    return push
  }

  func register(_ pushes: [Push], environment: String = "sandbox") throws {
    for (kind, group) in Dictionary(grouping: pushes, by: \.kind) {
      try standIn.tell(
        "register",
        [
          "tokens": group.map { Self.hex($0.token) }, "topic": kind.topic(bundle: Self.bundle),
          "environment": environment,
        ])
    }
  }

  func pushes(_ count: Int) throws -> [Push] {
    let made = try (0..<count).map { _ in try push(life: .seconds(60), register: false) }
    try register(made)
    return made
  }

  static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Sends one and waits for what becomes of it.
  func send(_ push: Push) throws -> PushOutcome {
    let outcomes = outcomes
    try #require(provider).send([push]) { outcomes.add($0, $1) }
    return try #require(outcomes.wait(for: 1).first).outcome
  }

  func send(all pushes: [Push]) throws {
    let outcomes = outcomes
    try #require(provider).send(pushes) { outcomes.add($0, $1) }
  }

  func status() throws -> ProviderStatus {
    let box = StatusBox()
    try #require(provider).status { box.put($0) }
    return try #require(box.take())
  }

  private final class StatusBox: @unchecked Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private var status: ProviderStatus?
    func put(_ status: ProviderStatus) {
      self.status = status
      semaphore.signal()
    }
    func take() -> ProviderStatus? {
      _ = semaphore.wait(timeout: .now() + 10)
      return status
    }
  }

  /// When each request reached the stand-in, on this machine's CLOCK_BOOTTIME.
  func arrivals() throws -> [Instant] {
    let list = try standIn.tell("ids")["arrivals"] as? [NSNumber] ?? []
    return list.map { Instant(nanoseconds: $0.uint64Value) }
  }

  /// Nothing was asked in a way that Apple would refuse.
  func expectNoFault() throws {
    let stats = try standIn.tell("stats")
    #expect(stats["violations"] as? [String] == [])
    #expect(stats["refusals"] as? [String: Int] == [:])
  }

  /// Every push was taken once: none lost, none doubled.
  func expectEachTakenOnce(_ pushes: [Push]) throws {
    let stats = try standIn.tell("stats")
    #expect(stats["ids"] as? Int == pushes.count)
    #expect(stats["doubled"] as? Int == 0)
    #expect(stats["violations"] as? [String] == [])
  }
}
