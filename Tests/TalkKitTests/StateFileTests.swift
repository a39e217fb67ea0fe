import Foundation
import Glibc
import TalkCore
import TalkStore
import Testing

@testable import TalkKit

/// The built program on state that is not as it should be: one line, the right exit code, and every
/// file left as it was.
@Suite struct StateFileTests {
  private static let channel = ChannelID("00112233-4455-8677-8899-aabbccddeeff")!
  private static let quiet = [
    "run", "--headless", "--capture", "null", "--playback", "null", "--no-avahi", "--no-hello",
  ]

  /// A state with an identity, a channel, and a start behind it.
  private static func makeState(_ path: String) throws {
    let directory = try StateDirectory(path: path)
    _ = try directory.countBoot()
    try directory.write(
      .identity(
        StoredIdentity(
          signingSeed: SecretBytes([UInt8](60..<92)),
          agreementSecret: SecretBytes([UInt8](100..<132)), nickname: "anna",
          machine: MachineID.hash())))
    try directory.write(
      .channel(
        StoredChannel(
          id: channel, name: "crew", creator: [UInt8](1...20), creation: [UInt8](1...16),
          epochs: [.init(number: 0, secret: SecretBytes([UInt8](200..<232)))])))
    try directory.write(.peers(StoredPeers([], now: 0)))
    try directory.write(.names(StoredNames([])))
  }

  /// What happens to a file.
  struct Damage: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let exitCode: Int32
    let words: String
    let spoil: @Sendable (String) -> Void

    static func rewrite(_ path: String, _ change: (inout Data) -> Void) {
      var bytes = FileManager.default.contents(atPath: path) ?? Data()
      change(&bytes)
      try? bytes.write(to: URL(filePath: path))
      chmod(path, 0o600)
    }

    static let all = [
      Damage(testDescription: "empty", exitCode: 78, words: "is empty") { path in
        rewrite(path) { $0 = Data() }
      },
      Damage(testDescription: "zeroed", exitCode: 78, words: "holds only zero bytes") { path in
        rewrite(path) { $0 = Data(count: $0.count) }
      },
      Damage(testDescription: "truncated", exitCode: 78, words: "is cut short") { path in
        rewrite(path) { $0.removeLast(5) }
      },
      Damage(testDescription: "a bit flipped", exitCode: 78, words: "is damaged") { path in
        rewrite(path) { $0[20] ^= 4 }
      },
      Damage(testDescription: "symlinked", exitCode: 78, words: "is a symbolic link") { path in
        rename(path, "\(path).real")
        // Beside the folder: a stray name among the channels is another fault.
        symlink("/etc/hostname", path)
        unlink("\(path).real")
      },
      Damage(testDescription: "a folder in its place", exitCode: 78, words: "not a plain file") {
        unlink($0)
        mkdir($0, 0o700)
      },
      Damage(testDescription: "readable by all", exitCode: 77, words: "mode 644") {
        chmod($0, 0o644)
      },
    ]
  }

  // F1
  @Test(arguments: ["identity", "boot", "channels/\(channel)"], Damage.all)
  func `a state file that cannot be used ends the start with its name, the cure and its code`(
    _ name: String, _ damage: Damage
  ) throws {
    let scratch = Scratch()
    try Self.makeState(scratch.path)
    let path = "\(scratch.path)/\(name)"
    damage.spoil(path)
    func contents() -> [String: Data] {
      var found: [String: Data] = [:]
      for file in ["identity", "boot", "channels/\(Self.channel)", "peers", "names"] {
        found[file] = FileManager.default.contents(atPath: "\(scratch.path)/\(file)")
      }
      // A start is counted before the channels are looked at.
      if name.hasPrefix("channels") { found["boot"] = nil }
      return found
    }
    let before = contents()
    let program = try Program(Self.quiet, state: scratch.path)
    #expect(program.end() == damage.exitCode)
    let lines = program.errors.split(separator: "\n")
    #expect(lines.count == 1, "\(program.errors)")
    #expect(lines.first?.hasPrefix("talkaround: \(path): ") == true, "\(program.errors)")
    #expect(lines.first?.contains(damage.words) == true, "\(program.errors)")
    #expect(lines.first?.contains("; ") == true, "a cure: \(program.errors)")
    #expect(contents() == before)
  }

  @Test(arguments: ["peers", "names"], Damage.all)
  func `a cache that cannot be used is set aside, said once, and the node runs`(
    _ name: String, _ damage: Damage
  ) throws {
    let scratch = Scratch()
    try Self.makeState(scratch.path)
    let path = "\(scratch.path)/\(name)"
    damage.spoil(path)
    let program = try Program(Self.quiet, state: scratch.path)
    #expect(program.wait { $0.errors.contains("ready on UDP port") })
    program.signal(SIGTERM)
    #expect(program.end() == 0)
    let told = program.errors.split(separator: "\n").filter { $0.contains(path) }
    #expect(told.count == 1, "\(program.errors)")
    #expect(told.first?.contains("moved to \(name).damaged, and begun anew") == true)
    var info = stat()
    #expect(lstat("\(path).damaged", &info) == 0)
  }

  // F6
  @Test func `a second copy with the same state is refused with 75, and the first goes on`() throws
  {
    let scratch = Scratch()
    let first = try Program(Self.quiet, state: scratch.path)
    #expect(first.wait { $0.errors.contains("ready on UDP port") })
    let second = try Program(Self.quiet, state: scratch.path)
    #expect(second.end() == 75)
    #expect(second.errors.contains("in use by process \(first.identifier)"))
    #expect(second.errors.split(separator: "\n").count == 1)
    let status = try Program(["status", "--json"], state: scratch.path)
    #expect(status.end() == 0)
    first.signal(SIGTERM)
    #expect(first.end() == 0)
  }

  @Test func `a first start where nothing can be written makes nothing`() throws {
    let scratch = Scratch()
    let wall = "\(scratch.path)/wall"
    try Data().write(to: URL(filePath: wall))
    let program = try Program(Self.quiet, state: "\(wall)/state")
    #expect(program.end() == 78)
    #expect(program.errors.hasPrefix("talkaround: \(wall)"))
    #expect(program.errors.split(separator: "\n").count == 1)
  }
}
