import Foundation
import TalkCore
import Testing

@testable import TalkKit

@Suite struct ProfileTests {
  static let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
  static let shipped = ["lan-intercom", "field-radio", "phone-gateway"]

  static func problems(_ text: String) -> [String] {
    do throws(ProfileProblems) {
      _ = try Profile(text: text, file: "p")
      return []
    } catch {
      return error.all.map(\.description)
    }
  }

  struct Wrong: Sendable, CustomTestStringConvertible {
    let text: String
    let problems: [String]
    var testDescription: String { text }

    init(_ text: String, _ problems: String...) {
      self.text = text
      self.problems = problems
    }

    static let all = [
      Wrong("{ prot: 1 }", "p:1:3: no key is called 'prot'; did you mean 'port'?"),
      Wrong("{\n\n  nicknam: 'a' }", "p:3:3: no key is called 'nicknam'; did you mean 'nickname'?"),
      Wrong("{ tone: {} }", "p:1:3: no key is called 'tone'; did you mean 'tones'?"),
      Wrong(
        "{ tones: { volum: 1 } }",
        "p:1:12: no key is called 'tones.volum'; did you mean 'tones.volume'?"),
      Wrong("{ volume: 1 }", "p:1:3: no key is called 'volume'; did you mean 'tones.volume'?"),
      Wrong(
        "{ frobnicate: 1 }",
        "p:1:3: no key is called 'frobnicate'; 'talkaround config reference' lists them all"),
      Wrong(
        "{ port: 0 }", "p:1:9: port: it must be a whole number from 1 to 65535, or null, not 0"),
      Wrong(
        "{ port: 0x10000 }",
        "p:1:9: port: it must be a whole number from 1 to 65535, or null, not 0x10000"),
      Wrong(
        "{ port: 1.5 }",
        "p:1:9: port: it must be a whole number from 1 to 65535, or null, not 1.5"),
      Wrong(
        "{ port: '1' }",
        "p:1:9: port: it must be a whole number from 1 to 65535, or null, not a text"),
      Wrong(
        "{ tones: { volume: 13 } }",
        "p:1:20: tones.volume: it must be a whole number from -60 to 12, not 13"),
      Wrong("{ avahi: 1 }", "p:1:10: avahi: it must be true or false, not 1"),
      Wrong(
        "{ tones: true }", "p:1:10: tones: it must be an object with volume, play, not true"),
      Wrong(
        "{ tones: { play: ['permitt'] } }",
        "p:1:19: tones.play: \"permitt\" is unknown; it must be one of \"permit\", \"busy\", "
          + "\"queued\", \"limit-warning\", \"cut\", \"unheard\", \"came\", \"left\"; "
          + "did you mean 'permit'?"),
      Wrong(
        "{ log: { level: 'inf' } }",
        "p:1:17: log.level: \"inf\" is unknown; it must be one of \"error\", \"info\", \"debug\"; "
          + "did you mean 'info'?"),
      Wrong(
        "{ capture: 'puls' }",
        "p:1:12: capture: \"puls\" must be pulse, pulse:NAME, null, or FILE.wav; "
          + "did you mean 'pulse'?"),
      Wrong(
        "{ peers: ['ben'] }",
        "p:1:11: peers: \"ben\" must be HOST:PORT, such as ben-laptop:41717 or [fe80::1]:41717"),
      Wrong("{ peers: ['a:1', 'a:1'] }", "p:1:18: peers: \"a:1\" is there twice"),
      Wrong("{ peers: [1] }", "p:1:11: peers: a text must stand here, not 1"),
      Wrong(
        "{ nickname: '\u{2800}' }",
        "p:1:13: nickname: \"\u{2800}\" has nothing visible in it; use letters"),
      Wrong(
        "{ nickname: 'annaannaannaannaannaannaannaannaanna' }",
        "p:1:13: nickname: \"annaannaannaannaannaannaannaannaanna\" is longer than 32 bytes; it "
          + "would be cut to \"annaannaannaannaannaannaannaanna\""),
      Wrong("{ port: 1,\n  port: 2 }", "p:2:3: 'port' is there twice; the first is on line 1"),
      Wrong(
        "{ tones: {}, tones: {} }", "p:1:14: 'tones' is there twice; the first is on line 1"),
      Wrong(
        "{ prot: 1, avahi: 2 }", "p:1:3: no key is called 'prot'; did you mean 'port'?",
        "p:1:19: avahi: it must be true or false, not 2"),
      Wrong("[]", "p:1:1: a profile is one object in '{' and '}', not a list"),
      Wrong("", "p:1:1: the file ends where a value should be"),
      Wrong("{ port: 1", "p:1:1: this '{' is never closed"),
      Wrong("{ port 1 }", "p:1:8: a ':' must follow 'port', not '1'"),
      Wrong("{ port: 1 avahi: true }", "p:1:11: a ',' or '}' must stand here, not 'a'"),
      Wrong("{ capture: pulse }", "p:1:12: pulse is no value; put texts into quotes: \"pulse\""),
      Wrong("{ nickname: 'anna\n' }", "p:1:13: this text has no closing quote on its line"),
      Wrong("{} x", "p:1:4: nothing may follow the closing '}'"),
      Wrong("/* x", "p:1:1: this comment never ends; close it with */"),
      Wrong(
        String(repeating: "[", count: 60_000),
        "p:1:9: nested deeper than 8; a profile is one object"),
    ]
  }

  @Test(arguments: Wrong.all)
  func `a wrong profile is told with line, column, key and cure`(_ wrong: Wrong) {
    #expect(Self.problems(wrong.text) == wrong.problems)
  }

  @Test func `columns are counted as people see them, behind other lines and letters`() {
    #expect(Self.problems("{\r\n  // é\r\n  'nickname': 'é', prot: 1 }")[0].hasPrefix("p:3:20: "))
    #expect(Self.problems("\u{feff}{ prot: 1 }")[0].hasPrefix("p:1:3: "))
  }

  @Test func `everything that JSON5 may look like is read`() throws {
    let text = """
      /* a comment */ {
        "nickname": 'a\\x62\\u0063\\
      d', // the line goes on
        port: 0xa2F5, hello: false,
        peers: ['ben:1', "[fe80::1]:65535",],
        tones: { volume: -6., play: [] }, log: { level: "debug" },
      }
      """
    var options = NodeOptions()
    try Profile(text: text, file: "p").apply(to: &options)
    var expected = NodeOptions(
      port: 41_717, staticPeers: ["ben:1", "[fe80::1]:65535"], nickname: "abcd", hello: false)
    expected.toneVolume = -6
    expected.tones = []
    expected.logLevel = .debug
    #expect(options == expected)
  }

  @Test(arguments: [
    ("0", 0.0), ("-1", -1), ("+1", 1), (".5", 0.5), ("5.", 5), ("1e3", 1_000), ("1E-1", 0.1),
    ("0x1F", 31), ("-0x1", -1), ("1.25", 1.25), ("01", nil), ("1e", nil), ("e1", nil), (".", nil),
    ("+", nil), ("--1", nil), ("0x", nil), ("1_000", nil), ("1e+-1", nil), ("", nil), ("½", nil),
    ("0x11111111111111111", nil),
  ])
  func `numbers are read as JSON5 has them`(_ word: String, _ value: Double?) {
    #expect(JSON5Number.parse(word) == value)
  }

  @Test(arguments: shipped) func `the profiles that are shipped are right`(_ name: String) throws {
    let path = Self.top.appending(path: "Profiles/\(name).json5").path
    _ = try ProfileFinder.read(path: path)
  }

  @Test func `lan-intercom says what a node does without a profile`() throws {
    let path = Self.top.appending(path: "Profiles/lan-intercom.json5").path
    let profile = try ProfileFinder.read(path: path)
    var options = NodeOptions()
    profile.apply(to: &options)
    #expect(options == NodeOptions())
    #expect(profile.values.keys.sorted() == ProfileKey.all.map(\.name).sorted())
    #expect(try ProfileFinder(folders: []).load(nil).values.isEmpty)
  }

  @Test func `the reference in the documentation is the table's`() throws {
    let path = Self.top.appending(path: "Sources/TalkKit/TalkKit.docc/Profiles.md")
    let written = try String(contentsOf: path, encoding: .utf8)
    #expect(
      written == ProfileReference.article,
      "run: swift run talkaround config reference > Sources/TalkKit/TalkKit.docc/Profiles.md")
    for key in ProfileKey.all { #expect(written.contains("\n### \(key.name)\n")) }
  }

  @Test(arguments: ProfileKey.all.map(\.name))
  func `a key takes what it says, and its default`(_ name: String) throws {
    let key = try #require(ProfileKey.named(name))
    var text = key.initial.written
    for part in name.split(separator: ".").reversed() { text = "{ \(part): \(text) }" }
    var options = NodeOptions()
    try Profile(text: text, file: "p").apply(to: &options)
    #expect(options == NodeOptions())
  }

  // MARK: Hostile files

  static let corpus: [String] =
    ((try? FileManager.default.contentsOfDirectory(
      atPath: top.appending(path: "Tests/ProfileCorpus").path)) ?? []).sorted()

  /// Reads bytes as a profile; whatever comes, it is a profile or problems with one line each.
  static func read(_ bytes: [UInt8]) {
    guard let text = String(validating: bytes, as: UTF8.self) else { return }
    do throws(ProfileProblems) {
      _ = try Profile(text: text, file: "p")
    } catch {
      #expect(!error.all.isEmpty)
      #expect(error.all.allSatisfy { $0.description.hasPrefix("p:") })
    }
  }

  @Test func `no file of the corpus is mistaken for a whole one`() throws {
    #expect(Self.corpus.count >= 28)
    let good = ["byte-order-mark.json5", "line-continuation.json5"]
    for name in Self.corpus {
      let path = Self.top.appending(path: "Tests/ProfileCorpus/\(name)").path
      do throws(ProfileProblems) {
        _ = try ProfileFinder.read(path: path)
        #expect(good.contains(name), "\(name) is taken")
      } catch {
        #expect(!good.contains(name), "\(name): \(error.line)")
        #expect(error.line.hasPrefix(path))
      }
    }
  }

  @Test func `three thousand bent profiles trap nobody`() throws {
    let folders = ["Tests/ProfileCorpus", "Profiles"].map { Self.top.appending(path: $0) }
    let files = try folders.flatMap {
      try FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil)
    }.sorted { $0.path < $1.path }
    let seeds = try files.map { [UInt8](try Data(contentsOf: $0)) }
    let seed = UInt64.random(in: 0 ... .max)
    print("profiles bent with seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let signs = Array("{}[]:,'\"\\/*\n\r0xe.-+uN\u{0}".utf8)
    for _ in 0..<3_000 {
      var bytes = seeds[Int(random.next() % UInt64(seeds.count))]
      for _ in 0..<Int(random.next() % 8) {
        let place = bytes.isEmpty ? 0 : Int(random.next() % UInt64(bytes.count))
        switch random.next() % 5 {
        case 0: bytes.insert(signs[Int(random.next() % UInt64(signs.count))], at: place)
        case 1 where !bytes.isEmpty: bytes.remove(at: place)
        case 2 where !bytes.isEmpty: bytes[place] = UInt8(truncatingIfNeeded: random.next())
        case 3: bytes.removeLast(bytes.count - place)
        default: bytes += bytes.prefix(place)
        }
        if bytes.count > 4_096 { bytes.removeLast(bytes.count - 4_096) }
      }
      Self.read(bytes)
    }
  }
}
