// Sends pushes as fast as they go, and prints how many a second: what Tools/apns-rate measures.
import Foundation
import Glibc
import TalkCore
import TalkGateway
import TalkNet

/// Counts outcomes, and lets the sender wait until few are outstanding.
final class Count: @unchecked Sendable {
  private let condition = NSCondition()
  private var outstanding = 0
  private(set) var failed: [String] = []

  func add(_ count: Int) { condition.withLock { outstanding += count } }

  func done(_ outcome: PushOutcome) {
    condition.withLock {
      outstanding -= 1
      if outcome != .delivered, failed.count < 5 { failed.append("\(outcome)") }
      if outstanding % 500 == 0 { condition.broadcast() }
    }
  }

  func wait(until few: Int) {
    condition.withLock { while outstanding > few { condition.wait() } }
  }
}

struct NoStore: TokenStore {
  func providerToken(for key: String) throws -> ProviderToken? { nil }
  func offer(
    _ token: ProviderToken, for key: String, replacing: UInt64?
  ) throws -> ProviderToken { token }
}

func fail(_ text: String, _ code: Int32) -> Never {
  FileHandle.standardError.write(Data("apns-rate-client: \(text)\n".utf8))
  exit(code)
}

let arguments = CommandLine.arguments
guard arguments.count == 5, let total = Int(arguments[3]), total > 0,
  let streams = Int(arguments[4])
else { fail("usage: apns-rate-client DIRECTORY HOST:PORT PUSHES STREAMS", 64) }

do {
  let directory = arguments[1]
  let provider = try APNsProvider(
    ProviderConfiguration(
      bundle: "org.talkaround.app",
      credential: .key(
        file: directory + "/key.p8", keyID: "KEY1234567", teamID: "TEAM123456"),
      sandbox: nil, production: try HostAndPort(arguments[2]),
      authorities: directory + "/ca.pem", streams: streams),
    store: NoStore()
  ) { fail($0, 69) }
  let count = Count()
  let payload = Array(
    #"{"aps":{},"v":1,"channel":"0b0e8f","activeSpeaker":"s1","burst":7,"at":1,"gw":"pc"}"#.utf8)
  func pushes(_ from: Int, _ number: Int) -> [Push] {
    (from..<from + number).map {
      Push(
        kind: .speak, token: Array(repeating: 0xab, count: 32), environment: .production,
        id: Bytes16(high: 1, low: UInt64($0)), payload: payload, began: .zero,
        notAfter: .distantFuture)
    }
  }
  func send(_ batch: [Push]) {
    count.add(batch.count)
    provider.send(batch) { count.done($1) }
  }
  send(pushes(0, 1))
  count.wait(until: 0)
  let start = ContinuousClock.now
  var sent = 0
  while sent < total {
    let number = min(500, total - sent)
    send(pushes(1 + sent, number))
    sent += number
    count.wait(until: 2_000)
  }
  count.wait(until: 0)
  let seconds = (ContinuousClock.now - start) / .seconds(1)
  guard count.failed.isEmpty else { fail("pushes failed: \(count.failed)", 69) }
  print(Int(Double(total) / seconds))
  provider.end()
} catch { fail("\(error)", 69) }
