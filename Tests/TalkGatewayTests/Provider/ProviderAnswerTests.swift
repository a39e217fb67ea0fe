import Foundation
import TalkCore
import TalkGateway
import Testing

/// Every row of gateway.md's answer table, over real TLS and HTTP/2.
@Suite(.serialized) struct ProviderAnswerTests {
  struct Row {
    enum Wanted {
      case advice(PushAdvice)
      case stopped
      case backOff
    }
    let status: Int
    let reason: String
    let wanted: Wanted

    static let ours = [
      "BadTopic", "BadPriority", "BadExpirationDate", "BadMessageId", "BadCollapseId",
      "DuplicateHeaders", "InvalidPushType", "MissingDeviceToken", "MissingTopic", "PayloadEmpty",
    ]
    static let stops = [
      "InvalidProviderToken", "MissingProviderToken", "Forbidden", "BadCertificate",
      "BadCertificateEnvironment",
    ]
    static let all =
      ours.map { Row(status: 400, reason: $0, wanted: .advice(.ourFault)) } + [
        Row(status: 404, reason: "BadPath", wanted: .advice(.ourFault)),
        Row(status: 405, reason: "MethodNotAllowed", wanted: .advice(.ourFault)),
        Row(status: 413, reason: "PayloadTooLarge", wanted: .advice(.ourFault)),
        Row(status: 400, reason: "BadDeviceToken", wanted: .advice(.quarantine)),
        Row(status: 400, reason: "DeviceTokenNotForTopic", wanted: .advice(.quarantine)),
        Row(status: 410, reason: "Unregistered", wanted: .advice(.dropToken(at: 1_234_567))),
        Row(status: 410, reason: "ExpiredToken", wanted: .advice(.dropToken(at: 1_234_567))),
        Row(status: 429, reason: "TooManyRequests", wanted: .backOff),
        Row(status: 500, reason: "InternalServerError", wanted: .backOff),
        Row(status: 503, reason: "ServiceUnavailable", wanted: .backOff),
        Row(status: 503, reason: "Shutdown", wanted: .backOff),
        // While the token is young; an old one is renewed.
        Row(status: 403, reason: "ExpiredProviderToken", wanted: .stopped),
        Row(status: 400, reason: "TopicDisallowed", wanted: .stopped),
      ] + stops.map { Row(status: 403, reason: $0, wanted: .stopped) }
  }

  @Test func `Each answer has the outcome of its row, and the next push passes`() throws {
    let rig = try ProviderRig()
    #expect(try rig.send(try rig.push()) == .delivered)
    var passed = Duration.zero
    for row in Row.all {
      // A failing server is asked twice, so it must fail twice.
      var fault: [String: Any] = [
        "kind": "answer", "status": row.status, "reason": row.reason,
        "count": row.status >= 500 ? 2 : 1,
      ]
      if row.status == 410 { fault["timestamp"] = 1_234_567 }
      try rig.standIn.tell("fault", fault)
      let outcome = try rig.send(try rig.push())
      switch (row.wanted, outcome) {
      case (.advice(let wanted), .refused(let reason, let advice)):
        #expect(reason == row.reason)
        #expect(advice == wanted, "\(row)")
      case (.stopped, .refused(let reason, .providerStopped(let text))):
        #expect(reason == row.reason)
        #expect(text.contains("check") || text.contains("see"), "\(text)")
        // It probes slowly: nothing before five minutes, then one push.
        guard case .refused(_, .providerStopped) = try rig.send(try rig.push()) else {
          Issue.record("\(row): the provider was not stopped")
          continue
        }
        passed += ProviderLimits.probe
        try rig.advance(ProviderLimits.probe, inAll: passed)
      case (.backOff, .refused(let reason, .backOff(let wait))):
        #expect(reason == row.reason)
        #expect(wait > .zero)
      default: Issue.record("\(row): \(outcome)")
      }
      #expect(try rig.send(try rig.push()) == .delivered, "after \(row)")
    }
    #expect(try rig.standIn.number("doubled") == 0)
    #expect(try rig.standIn.tell("stats")["violations"] as? [String] == [])
    let logged = rig.lines.all.filter { $0.contains("malformed") }
    #expect(Set(logged).count == logged.count)
  }

  @Test func `A token called expired is renewed if 20 minutes old, and the push sent again`()
    throws
  {
    let rig = try ProviderRig()
    #expect(try rig.send(try rig.push()) == .delivered)
    try rig.advance(ProviderLimits.betweenTokens, inAll: ProviderLimits.betweenTokens)
    try rig.standIn.tell(
      "fault", ["kind": "answer", "status": 403, "reason": "ExpiredProviderToken"])
    #expect(try rig.send(try rig.push()) == .delivered)
    #expect(try rig.status().tokensMinted == 2)
    #expect(try rig.standIn.number("tokens") == 2)
    try rig.expectNoFault()
  }

  @Test func `A server that goes on failing is left alone, then asked by one push`() throws {
    let rig = try ProviderRig()
    #expect(try rig.send(try rig.push()) == .delivered)
    try rig.standIn.tell(
      "fault", ["kind": "answer", "status": 503, "reason": "Shutdown", "count": 100_000])
    for _ in 0..<4 {
      guard case .refused(_, .backOff) = try rig.send(try rig.push()) else {
        Issue.record("a push passed")
        return
      }
    }
    guard case .backingOff = try rig.status().lanes[0].condition else {
      Issue.record("the breaker is closed after eight failures")
      return
    }
    let requests = try rig.standIn.count("requests")
    for _ in 0..<20 { _ = try rig.send(try rig.push()) }
    #expect(try rig.standIn.count("requests") == requests)
    try rig.standIn.tell("reset")
    rig.clock.advance(ProviderLimits.breaker.last)
    #expect(try rig.send(try rig.push()) == .delivered)
    #expect(try rig.status().lanes[0].condition == .up)
  }

  @Test func `Answers that make no sense are our fault, and trap nothing`() throws {
    let rig = try ProviderRig()
    let bodies = [
      "", "{", "[]", "null", #"{"reason":7}"#, #"{"reason":"\u001b[2J"}"#,
      #"{"reason":"Unregistered","timestamp":-1}"#, #"{"reason":"x","timestamp":1e300}"#,
      String(repeating: "[", count: 9_000), String(repeating: "a", count: 16_000),
    ]
    for (index, body) in bodies.enumerated() {
      let status = index % 2 == 0 ? 410 : 418
      try rig.standIn.tell(
        "fault",
        [
          "kind": "answer", "status": status, "reason": "x", "raw": body,
          "headers": ["retry-after": "-9999999999999999999999"],
        ])
      guard case .refused(let reason, let advice) = try rig.send(try rig.push()) else {
        Issue.record("\(body.prefix(20)) passed")
        continue
      }
      #expect(advice == (status == 410 ? .quarantine : .ourFault))
      #expect(!reason.contains("\u{1b}"))
    }
  }
}
