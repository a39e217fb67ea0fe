import Foundation
import TalkCore
import Testing

@testable import TalkGateway

/// 100,000 tokens: what they cost in memory, at the start, and for each burst.
@Suite(.serialized) struct RegistryScaleTests {
  private static let perChannel = 200

  private static func channel(_ number: Int) -> ChannelID {
    ChannelID(Bytes16(high: 0xcc, low: UInt64(number)))
  }

  private static func device(_ number: Int) -> DeviceID {
    // Spread over the whole table, as random ids are.
    var generator = SeededGenerator(seed: UInt64(number))
    return DeviceID(Bytes16(high: generator.next(), low: UInt64(number)))
  }

  /// A file with so many phones, 200 a channel, each with one token of 64 bytes; made in one
  /// transaction, since it is not the making that is measured.
  private static func fill(_ folder: RegistryFolder, phones: Int) throws {
    let registry = try folder.open()
    try registry.write { connection throws(RegistryError) in
      for number in 0..<phones {
        let (channel, device) = (channel(number / perChannel), device(number))
        if number % perChannel == 0 {
          try connection.run(
            "INSERT INTO channel VALUES(?, ?, 'crew', 0, 1)",
            [.bytes(channel.value), .bytes(channel.value)])
        }
        try connection.run(
          """
          INSERT INTO phone(device, name, channel, seat, ticket, allowed, added)
          VALUES(?, 'phone', ?, ?, ?, 1, 0)
          """,
          [
            .bytes(device.value), .bytes(channel.value),
            .integer(Int64(number % perChannel + 1)),
            .bytes(device.value.bytes + device.value.bytes),
          ])
        try connection.run(
          "INSERT INTO token VALUES(?, ?, 0, 1, ?, 0, NULL)",
          [
            .bytes(channel.value), .bytes(device.value),
            .bytes([UInt8](repeating: UInt8(number & 255), count: 64)),
          ])
      }
    }
  }

  private static func residentKilobytes() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
  }

  /// The median time of one burst's claim for one channel, over several channels.
  private static func burstTime(_ registry: SQLiteRegistry, channels: Int) throws -> Duration {
    let clock = ContinuousClock()
    var times: [Duration] = []
    for number in 0..<15 {
      let channel = number * channels / 15
      let devices = (0..<perChannel).map { device(channel * perChannel + $0) }
      let claim = PushClaim(
        kind: .speak, burst: BurstID(Bytes16(high: 1, low: UInt64(number))),
        channel: Self.channel(channel), gateway: Sample.gateway)
      let start = clock.now
      let outcomes = try registry.claim(claim, for: devices, at: Sample.now)
      times.append(clock.now - start)
      #expect(
        outcomes.allSatisfy { if case .won(let tokens) = $0 { tokens.count == 1 } else { false } })
    }
    return times.sorted()[times.count / 2]
  }

  @Test func aHundredThousandTokensCostABurstWhatTwoThousandDo() throws {
    let (small, large) = (RegistryFolder(), RegistryFolder())
    try Self.fill(small, phones: 2_000)
    try Self.fill(large, phones: 100_000)

    let before = Self.residentKilobytes()
    let clock = ContinuousClock()
    let start = clock.now
    let registry = try large.open()
    let opening = clock.now - start
    let fewTime = try Self.burstTime(try small.open(), channels: 10)
    let manyTime = try Self.burstTime(registry, channels: 500)
    let loadStart = clock.now
    let phones = try registry.phones(in: Self.channel(77))
    let loading = clock.now - loadStart
    let memory = Self.residentKilobytes() - before

    print(
      """
      registry of 100,000 tokens: opened in \(opening.milliseconds) ms, \(memory) kB more; \
      200 phones claimed in \(manyTime.milliseconds) ms (of 2,000 tokens: \
      \(fewTime.milliseconds) ms); one channel's phones read in \(loading.milliseconds) ms; \
      file \(large.bytes(of: large.file).count / 1_024) kB
      """)
    #expect(phones.count == Self.perChannel)
    // What is read depends on the channel alone; a tree that is a level deeper and colder may cost
    // something.
    #expect(manyTime < fewTime * 4 + .milliseconds(2))
    #expect(memory < 32 * 1_024)
    #expect(opening < .seconds(3))
  }
}
