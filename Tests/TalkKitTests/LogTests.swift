import Foundation
import Glibc
import TalkCore
import Testing

@testable import TalkKit

@Suite struct LogTests {
  @Test func `a flood of lines is bounded, and what was left out is counted`() {
    var gate = LogGate()
    var passed = 0
    var leftOut = 0
    for step in 0..<20_000 {
      guard let before = gate.admit(at: Instant(nanoseconds: UInt64(step) * 1_000_000)) else {
        continue
      }
      passed += 1
      leftOut += before
    }
    // Twenty seconds: the burst, and a line each six seconds.
    #expect(passed == LogGate.burst + 3)
    #expect(leftOut == 18_001 - passed)
    #expect(gate.admit(at: Instant(nanoseconds: 20_000_000_000)) == nil)
    // After a long quiet time the whole burst is there again, and no more.
    let later = Instant(nanoseconds: 100_000_000_000_000)
    #expect((0..<100).count { _ in gate.admit(at: later) != nil } == LogGate.burst)
  }

  @Test(arguments: [
    ("ben", "\"ben\""), ("SECURITY: key lost", "\"SECURITY: key lost\""),
    ("b\" admitted to \"crew", "\"b\\\" admitted to \\\"crew\""), ("a\\\"b", "\"a\\\\\\\"b\""),
    ("a\nb\u{202e}c", "\"a\\u{a}b\\u{202e}c\""), ("", "\"\""),
  ])
  func `text of others stays within its quotes`(_ text: String, _ quoted: String) {
    #expect(Log.quoted(text) == quoted)
  }

  @Test func `text of others is cut`() {
    #expect(Log.quoted(String(repeating: "x", count: 500)).utf8.count == 66)
  }

  @Test func `each newcomer is logged once, and a crowd of them not at all`() {
    var newcomers = Newcomers()
    let channel = ChannelID(Bytes16(high: 1, low: 2))
    func peer(_ number: Int) -> PeerID { PeerID(Bytes16(high: 0, low: UInt64(number))) }
    for _ in 0..<3 {
      for number in 1...300 {
        let told = newcomers.firstToTell(peer(number), on: channel)
        #expect(told == nil || told == number)
      }
    }
    #expect(newcomers.firstToTell(peer(7), on: channel) == nil)
    #expect(newcomers.firstToTell(peer(999), on: channel) == nil)
  }

  @Test func `a file is begun anew when it is full, and the one before is kept`() throws {
    let scratch = Scratch()
    let path = "\(scratch.path)/log"
    var file = try LogFile.open(path, takesStandardError: false)
    let line = [UInt8](repeating: UInt8(ascii: "x"), count: 999) + [10]
    for _ in 0..<1_000 { file.write(line) }
    for name in [path, "\(path).1"] {
      let size = try #require(FileManager.default.contents(atPath: name)).count
      #expect(size <= LogFile.sizeLimit && size > 0)
      #expect(mode(name) == 0o600)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).count == 2)
  }

  @Test func `what is no plain file is refused as a log`() throws {
    let scratch = Scratch()
    let (pipe, link) = ("\(scratch.path)/pipe", "\(scratch.path)/link")
    mkfifo(pipe, 0o600)
    symlink("\(scratch.path)/elsewhere", link)
    for path in [pipe, link, scratch.path, "\(scratch.path)/absent/log", "/dev/full"] {
      do throws(NodeServiceError) {
        _ = try LogFile.open(path, takesStandardError: false)
        Issue.record("\(path) was taken")
      } catch {
        #expect(error.message.hasPrefix("\(path): "))
      }
    }
    #expect(!FileManager.default.fileExists(atPath: "\(scratch.path)/elsewhere"))
  }

  @Test func `a log that nobody can take costs no more than its lines`() throws {
    let scratch = Scratch()
    let node = try Program(
      ["run", "--headless", "--capture", "null", "--playback", "null", "--no-avahi"],
      state: scratch.path, errors: "/dev/full")
    #expect(try StartCommandTests.answers(scratch))
    #expect(try Program(["stop"], state: scratch.path).end() == 0)
    #expect(node.end() == 0)
  }
}
