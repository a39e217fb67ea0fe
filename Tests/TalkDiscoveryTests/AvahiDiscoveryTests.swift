import Foundation
import TalkCore
import TalkDiscovery
import TalkNet
import Testing

private let anna = "00000000000000aa"
private let berta = "00000000000000bb"

@Suite(.serialized, .enabled(if: PrivateAvahi.isPossible, PrivateAvahi.reason))
struct AvahiDiscoveryTests {
  @Test func twoNodesFindOneAnotherAndNeverThemselves() throws {
    let avahi = try PrivateAvahi()
    avahi.order("bus")
    avahi.order("avahi")
    let (a, b) = (try AvahiDiscovery(), try AvahiDiscovery())
    let tags = [Array("v=1".utf8), [UInt8]("t=".utf8) + (0..<128).map { UInt8($0 * 2 & 255) }]
    try a.publish(instance: anna, port: 41_717, text: [])
    try b.publish(instance: berta, port: 41_718, text: tags)
    a.registered(anna)
    let found = a.found(berta)
    #expect(found?.endpoint.port == 41_718)
    #expect(found.map { $0.text.sorted { $0.count < $1.count } } == tags)
    #expect(found?.interface ?? 0 > 0)
    #expect(b.found(anna)?.text == [])

    // A changed TXT record keeps the instance; a new browser shows it.
    try b.publish(instance: berta, port: 41_718, text: [[1, 0, 2]])
    b.registered(berta)
    var isSeen = false
    for _ in 0..<5 where !isSeen {
      // The old record stays in Avahi's cache for a second.
      a.refresh()
      a.events(within: .seconds(2), nil) {
        if case .found(let service) = $0, service.text == [[1, 0, 2]] { isSeen = true }
        return isSeen
      }
    }
    #expect(isSeen)

    // Another instance replaces the one before.
    try b.publish(instance: "b0000000000000b2", port: 41_718, text: [[1]])
    var (isLost, isFound) = (false, false)
    let events = a.events("berta's new instance") {
      if $0 == .lost(instance: berta) { isLost = true }
      if case .found(let service) = $0, service.instance == "b0000000000000b2" { isFound = true }
      return isLost && isFound
    }
    b.unpublish()
    let later = a.events("berta unpublished") { $0 == .lost(instance: "b0000000000000b2") }
    for case .found(let service) in events + later { #expect(service.instance != anna) }
    a.stop()
    a.status(.stopped)
    b.events("anna gone") { $0 == .lost(instance: anna) }
  }

  @Test func aDaemonThatIsKilledIsFoundAgain() throws {
    let avahi = try PrivateAvahi()
    avahi.order("bus")
    avahi.order("avahi")
    let (a, b) = (try AvahiDiscovery(), try AvahiDiscovery())
    try a.publish(instance: anna, port: 41_717, text: [])
    try b.publish(instance: berta, port: 41_718, text: [])
    a.registered(anna)
    b.registered(berta)
    for _ in 0..<3 {
      avahi.order("end-avahi")
      a.status(.daemonAbsent)
      b.status(.daemonAbsent)
      avahi.order("avahi")
      a.registered(anna)
      b.registered(berta)
    }
    _ = a.found(berta)
  }

  @Test func aBusThatComesLaterIsFoundAndItsAbsenceSaidOnce() throws {
    let avahi = try PrivateAvahi()
    let a = try AvahiDiscovery()
    try a.publish(instance: anna, port: 41_717, text: [])
    a.status(.busAbsent)
    // Some more tries: none of them says so again, and none keeps a processor busy.
    a.refresh()
    var used = try avahiThreadTime()
    #expect(a.events(within: .seconds(3), nil) { _ in false } == [])
    #expect(try avahiThreadTime() - used < .milliseconds(200))
    avahi.order("bus")
    #expect(a.status(.daemonAbsent) == [.status(.daemonAbsent)])
    a.refresh()
    used = try avahiThreadTime()
    a.events(within: .seconds(1), nil) { _ in false }
    #expect(try avahiThreadTime() - used < .milliseconds(100))
    avahi.order("avahi")
    a.registered(anna)
  }

  /// The processor time of all Avahi threads of this process (proc(5), fields 14 and 15 of stat).
  private func avahiThreadTime() throws -> Duration {
    let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
    var ticks = 0
    for thread in threads {
      // A thread that has ended meanwhile has no file.
      guard
        let stat = try? String(contentsOfFile: "/proc/self/task/\(thread)/stat", encoding: .utf8),
        stat.contains("(talk-avahi)"), let rest = stat.split(separator: ")").last
      else { continue }
      let fields = rest.split(separator: " ")
      ticks += (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)
    }
    return .milliseconds(1_000 * ticks / sysconf(Int32(_SC_CLK_TCK)))
  }

  @Test func aBusThatRestartsIsFoundAgain() throws {
    let avahi = try PrivateAvahi()
    avahi.order("bus")
    avahi.order("avahi")
    let a = try AvahiDiscovery()
    try a.publish(instance: anna, port: 41_717, text: [])
    a.registered(anna)
    avahi.order("end-bus")
    a.status(.busAbsent)
    avahi.order("end-avahi")
    avahi.order("bus")
    avahi.order("avahi")
    a.registered(anna)
  }

  /// Shorter and longer than the 25 s after which D-Bus calls fail.
  @Test(.timeLimit(.minutes(2)), arguments: [10, 30])
  func aStoppedDaemonNeverBlocksTheCaller(seconds: Int) throws {
    let avahi = try PrivateAvahi()
    avahi.order("bus")
    avahi.order("avahi")
    let a = try AvahiDiscovery()
    try a.publish(instance: anna, port: 41_717, text: [])
    a.registered(anna)
    avahi.order("signal-avahi STOP")
    let start = BootClock.now()
    try a.publish(instance: berta, port: 41_717, text: [[7]])
    a.refresh()
    for index in 0..<1_000 {
      try a.publish(instance: berta, port: 41_717, text: [[UInt8(index & 255)]])
    }
    let (b, spent) = (try AvahiDiscovery(), BootClock.now() - start)
    #expect(spent < .milliseconds(100))
    a.events(within: .seconds(seconds), nil) { _ in false }
    avahi.order("signal-avahi CONT")
    a.registered(berta)
    #expect(b.found(berta, where: { $0.text == [[231]] }) != nil)
  }

  @Test func aTakenInstanceIsToldAndAnotherOneHelps() throws {
    let avahi = try PrivateAvahi()
    avahi.order("bus")
    avahi.order("avahi")
    let (a, b) = (try AvahiDiscovery(), try AvahiDiscovery())
    try a.publish(instance: anna, port: 41_717, text: [])
    a.registered(anna)
    try b.publish(instance: anna, port: 41_718, text: [])
    b.events("collision") { $0 == .collision(instance: anna) }
    try b.publish(instance: berta, port: 41_718, text: [])
    b.registered(berta)
    _ = a.found(berta)
  }

  @Test func whatAvahiWouldNotTakeIsRefusedAtOnce() throws {
    struct Case {
      var instance = anna
      var port: UInt16 = 1
      var text: [[UInt8]] = []
      var error: DiscoveryError?
    }
    func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: 1, count: count) }
    let cases = [
      Case(error: nil),
      Case(instance: "", error: .badInstance),
      Case(instance: "00000000000000AA", error: .badInstance),
      Case(instance: String(repeating: "a", count: 300), error: .badInstance),
      Case(instance: "0000000000000\n0a", error: .badInstance),
      Case(port: 0, error: .badPort),
      Case(text: [bytes(255), bytes(143)], error: nil),
      Case(text: [bytes(255), bytes(144)], error: .badText),
      Case(text: [bytes(256)], error: .badText),
      Case(text: [[]], error: .badText),
    ]
    let a = try AvahiDiscovery()
    for test in cases {
      var error: DiscoveryError?
      do throws(DiscoveryError) {
        try a.publish(instance: test.instance, port: test.port, text: test.text)
      } catch let caught { error = caught }
      #expect(error == test.error, "\(test)")
    }
    a.stop()
    a.status(.stopped)
  }
}
