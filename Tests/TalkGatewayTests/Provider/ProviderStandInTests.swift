import Foundation
import Glibc
import TalkCore
import TalkGateway
import Testing

/// The provider against a strict stand-in for APNs, over real TLS and HTTP/2.
@Suite(.serialized) struct ProviderStandInTests {
  @Test func `Every kind of push is taken, asked as Apple wants it`() throws {
    let rig = try ProviderRig()
    for kind in Push.Kind.allCases {
      var push = try rig.push(kind)
      if kind == .missedVoice {
        push.collapseID = "burst-7"
        push.expiration = rig.clock.unix() + 3_600
      }
      if kind == .serviceUpdate { push.priority = .considerate }
      #expect(try rig.send(push) == .delivered, "\(kind)")
    }
    var long = try rig.push(register: false)
    long.token = (0..<160).map { UInt8($0) }
    try rig.register([long])
    #expect(try rig.send(long) == .delivered)
    try rig.expectNoFault()
  }

  struct Size {
    let kind: Push.Kind
    let bytes: Int
    let fits: Bool
    static let all = [
      Size(kind: .speak, bytes: 4_095, fits: true), Size(kind: .speak, bytes: 4_096, fits: true),
      Size(kind: .speak, bytes: 4_097, fits: false), Size(kind: .call, bytes: 5_120, fits: true),
      Size(kind: .call, bytes: 5_121, fits: false),
      Size(kind: .missedVoice, bytes: 4_096, fits: true),
      Size(kind: .missedVoice, bytes: 4_097, fits: false),
    ]
  }

  @Test func `A push arrives at the phone that listens, as it was sent`() throws {
    let rig = try ProviderRig()
    let push = try rig.push(register: false)
    let phone = try StandIn.connect(rig.standIn.directory + "/bus")
    defer { close(phone) }
    let hello = #"{"register":"\#(ProviderRig.hex(push.token))","topic":"\#(ProviderRig.bundle)"#
    #expect(StandIn.line(phone, sending: hello + ".voip-ptt\"}\n")?["registered"] != nil)
    #expect(try rig.send(push) == .delivered)
    let came = try #require(StandIn.line(phone)?["push"] as? [String: Any])
    #expect(came["id"] as? String == "00000000-0000-0007-0000-000000000001")
    #expect(came["type"] as? String == "pushtotalk")
    #expect(came["priority"] as? Int == 10)
    #expect((came["payload"] as? [String: Any])?["v"] as? Int == 1)
  }

  @Test func `Payloads of the largest size pass, and one byte more is not sent`() throws {
    let rig = try ProviderRig()
    for size in Size.all {
      let push = try rig.push(size.kind, bytes: size.bytes)
      #expect(push.payload.count == size.bytes)
      let outcome = try rig.send(push)
      let refused = PushOutcome.refused(reason: "PayloadTooLarge", advice: .ourFault)
      #expect(outcome == (size.fits ? .delivered : refused), "\(size)")
    }
    #expect(try rig.standIn.count("requests") == Size.all.count { $0.fits })
    try rig.expectNoFault()
  }

  @Test func `A dead token is dropped if it was registered before, and kept if after`() throws {
    let rig = try ProviderRig()
    for reason in ["Unregistered", "ExpiredToken"] {
      let push = try rig.push()
      try rig.standIn.tell(
        "unregister",
        ["token": ProviderRig.hex(push.token), "timestamp": 1_700_000_000_000, "reason": reason])
      let outcome = try rig.send(push)
      #expect(outcome == .refused(reason: reason, advice: .dropToken(at: 1_700_000_000_000)))
      guard case .refused(_, let advice) = outcome else { continue }
      #expect(advice.dropsToken(registeredAt: 1_699_999_999_999))
      #expect(!advice.dropsToken(registeredAt: 1_700_000_000_001))
    }
  }

  @Test func `A token of the other environment is tried there once`() throws {
    let rig = try ProviderRig(bothEnvironments: true)
    let push = try rig.push(register: false)
    try rig.register([push], environment: "production")
    #expect(
      try rig.send(push) == .refused(reason: "BadDeviceToken", advice: .otherEnvironment))
    #expect(try rig.send(push.inOtherEnvironment) == .delivered)
    var unknown = try rig.push(register: false)
    unknown.triedOther = true
    #expect(try rig.send(unknown) == .refused(reason: "BadDeviceToken", advice: .quarantine))
    #expect(try rig.standIn.number("tokens") == 1)
  }

  @Test func `Where no other environment is configured, a bad token is quarantined`() throws {
    let rig = try ProviderRig()
    let push = try rig.push(register: false)
    #expect(try rig.send(push) == .refused(reason: "BadDeviceToken", advice: .quarantine))
  }

  @Test(arguments: [(Int64(7_200), "ahead of"), (-7_200, "behind")])
  func `A wrong clock is called by its name`(seconds: Int64, word: String) throws {
    let rig = try ProviderRig(start: false)
    rig.clock.misset(seconds: seconds)
    try rig.start()
    guard case .refused(_, .providerStopped(let text)) = try rig.send(try rig.push()) else {
      Issue.record("a push passed with a wrong clock")
      return
    }
    #expect(text.contains("check the clock"))
    #expect(text.contains(word))
    #expect(rig.lines.all.contains { $0.contains("check the clock") })
    guard case .stopped(let shown) = try rig.status().lanes[0].condition else {
      Issue.record("the lane is not stopped")
      return
    }
    #expect(shown == text)
    // Nothing more goes out, and no second token is made.
    let requests = try rig.standIn.count("requests")
    guard case .refused(_, .providerStopped) = try rig.send(try rig.push()) else {
      Issue.record("the second push passed")
      return
    }
    #expect(try rig.standIn.count("requests") == requests)
    #expect(try rig.status().tokensMinted == 1)
  }

  @Test func `A device that gets too many pushes is left alone, others are not`() throws {
    let rig = try ProviderRig()
    try rig.standIn.tell("set", ["rate": 2])
    let push = try rig.push()
    #expect(try rig.send(push) == .delivered)
    #expect(try rig.send(push) == .delivered)
    let refused = PushOutcome.refused(
      reason: "TooManyRequests", advice: .backOff(ProviderLimits.device.first))
    #expect(try rig.send(push) == refused)
    let requests = try rig.standIn.count("requests")
    guard case .refused("TooManyRequests", .backOff) = try rig.send(push) else {
      Issue.record("the device was asked again at once")
      return
    }
    #expect(try rig.standIn.count("requests") == requests)
    #expect(try rig.send(try rig.push()) == .delivered)
    try rig.standIn.tell("set", ["rate": 0])
    rig.clock.advance(ProviderLimits.device.first)
    #expect(try rig.send(push) == .delivered)
  }

  @Test func `Too many new tokens: the old one goes on, and none is made`() throws {
    let rig = try ProviderRig()
    #expect(try rig.send(try rig.push()) == .delivered)
    // Apple's clock stands still: to it, the renewal comes too early.
    rig.clock.advance(ProviderLimits.renewal)
    try rig.standIn.tell("set", ["clock_offset": 120])
    rig.clock.misset(seconds: -ProviderLimits.renewal.components.seconds + 60)
    #expect(try rig.send(try rig.push()) == .delivered)
    #expect(try rig.standIn.number("tokens") == 1)
    let refusals = try rig.standIn.tell("stats")["refusals"] as? [String: Int]
    #expect(refusals == ["TooManyProviderTokenUpdates": 1])
    for _ in 0..<5 { #expect(try rig.send(try rig.push()) == .delivered) }
    #expect(try rig.status().tokensMinted == 2)
    let after = try rig.standIn.tell("stats")["refusals"] as? [String: Int]
    #expect(after == ["TooManyProviderTokenUpdates": 1])
  }

  @Test func `Ten restarts keep the token, its age, and Apple's good will`() throws {
    let rig = try ProviderRig()
    #expect(try rig.send(try rig.push()) == .delivered)
    for restart in 1...10 {
      rig.stop()
      try rig.advance(.seconds(120), inAll: .seconds(120 * restart))
      try rig.start()
      #expect(try rig.send(try rig.push()) == .delivered)
      #expect(try rig.status().tokensMinted == 0)
    }
    let age = try #require(try rig.status().tokenAge)
    #expect((1_200...1_210).contains(age.components.seconds))
    #expect(try rig.standIn.number("tokens") == 1)
    try rig.expectNoFault()
    // At 45 minutes it is renewed, in whatever process.
    rig.stop()
    try rig.advance(.seconds(26 * 60), inAll: .seconds(46 * 60))
    try rig.start()
    #expect(try rig.send(try rig.push()) == .delivered)
    #expect(try rig.standIn.number("tokens") == 2)
    try rig.expectNoFault()
  }

  @Test func `Two hundred phones are pushed within 250 ms, with one token`() throws {
    var best = Duration.seconds(60)
    for _ in 0..<3 {
      let rig = try ProviderRig()
      #expect(try rig.send(try rig.push()) == .delivered)
      let pushes = try rig.pushes(200)
      let start = ContinuousClock.now
      try rig.send(all: pushes)
      let outcomes = rig.outcomes.wait(for: 200)
      best = min(best, ContinuousClock.now - start)
      #expect(outcomes.count { $0.outcome == .delivered } == 200)
      #expect(try rig.standIn.number("tokens") == 1)
      #expect(try rig.standIn.count("handshakes") == 1)
      try rig.expectNoFault()
    }
    print("200 pushes, until the last answer: \(best)")
    #expect(best < .milliseconds(250))
  }

  @Test func `A request is at the server within 10 ms of the call, 99 times of 100`() throws {
    let rig = try ProviderRig()
    #expect(try rig.send(try rig.push()) == .delivered)
    var best = Duration.seconds(60)
    for _ in 0..<3 {
      let pushes = try rig.pushes(100)
      let before = try rig.arrivals().count
      var calls: [Instant] = []
      for push in pushes {
        calls.append(rig.clock.now())
        #expect(try rig.send(push) == .delivered)
      }
      let arrivals = try rig.arrivals().dropFirst(before)
      #expect(arrivals.count == calls.count)
      best = min(best, zip(calls, arrivals).map { $1 - $0 }.sorted()[98])
    }
    print("call to arrival at the server, p99: \(best)")
    #expect(best < .milliseconds(10))
  }

  @Test func `The stand-in refuses what Apple refuses, and its phones behave like phones`() throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = [StandIn.tools + "/apns-standin.d/selftest.py"]
    let output = Pipe()
    (process.standardOutput, process.standardError) = (output, output)
    try process.run()
    let text = String(
      decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(text)")
    #expect(text.contains("OK"))
  }

  @Test func `A configuration that cannot work is refused in one line, with the cure`() throws {
    let rig = try ProviderRig(start: false)
    let key = rig.standIn.directory + "/key.p8"
    let wrong = rig.standIn.directory + "/ca.pem"
    let cases: [(ProviderConfiguration.Credential, String)] = [
      (.key(file: "/nowhere.p8", keyID: "KEY1234567", teamID: "TEAM123456"), "/nowhere.p8"),
      (.key(file: wrong, keyID: "KEY1234567", teamID: "TEAM123456"), "ca.pem"),
      (.key(file: key, keyID: "key", teamID: "TEAM123456"), "key id"),
      (.key(file: key, keyID: "KEY1234567", teamID: "TEAM-23456"), "team id"),
      (.certificate(file: "/nowhere.pem", keyFile: key), "/nowhere.pem"),
      (.certificate(file: rig.standIn.directory + "/client.pem", keyFile: key), "key.p8"),
    ]
    for (credential, name) in cases {
      let error = #expect(throws: ProviderError.self) { try rig.start(credential) }
      let text = error?.description ?? ""
      #expect(text.contains(name), "\(text)")
      #expect(!text.contains("\n"))
    }
    for bundle in ["", "nodots", "org.talk/../x", "org.tälk.app"] {
      var configuration = try rig.configuration()
      configuration.bundle = bundle
      let store = rig.store
      #expect(throws: ProviderError.badBundle(bundle)) {
        try APNsProvider(configuration, store: store) { _ in }
      }
    }
  }

  @Test func `A certificate speaks for us instead of a token`() throws {
    let rig = try ProviderRig(start: false)
    let directory = rig.standIn.directory
    try rig.start(
      .certificate(file: directory + "/client.pem", keyFile: directory + "/client.key"))
    #expect(try rig.send(try rig.push()) == .delivered)
    #expect(try rig.standIn.number("tokens") == 0)
    try rig.expectNoFault()
  }
}
