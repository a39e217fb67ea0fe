import Foundation
import Glibc
import Testing

@testable import TalkKit

@Suite struct ConfigCommandTests {
  let scratch = Scratch()

  private func write(_ text: String, _ name: String = "p.json5") -> String {
    let path = "\(scratch.path)/\(name)"
    try! Data(text.utf8).write(to: URL(filePath: path))
    return path
  }

  private func program(_ line: [String], home: String? = nil) throws -> Program {
    try Program(line, environment: home.map { ["HOME": $0] } ?? [:], folder: scratch.path)
  }

  @Test func `config check tells every mistake on a line, and ends with 78`() throws {
    let path = write("{ prot: 1,\n  avahi: 2 }")
    let check = try program(["config", "check", path])
    #expect(check.end() == 78)
    #expect(check.output == "")
    #expect(
      check.errors == """
        talkaround: \(path):1:3: no key is called 'prot'; did you mean 'port'?
        talkaround: \(path):2:10: avahi: it must be true or false, not 2

        """)
    let good = try program(["config", "check", write("{ port: 1 }")])
    #expect(good.end() == 0)
    #expect(good.output == "\(path): ok\n")
  }

  @Test func `a profile is found by name, one's own first`() throws {
    let folder = "\(scratch.path)/.config/talkaround/profiles"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data("{ port: 7 }".utf8).write(to: URL(filePath: "\(folder)/field-radio.json5"))
    let shown = try program(["config", "show", "--profile", "field-radio"], home: scratch.path)
    #expect(shown.end() == 0)
    let line = shown.output.split(separator: "\n").first { $0.hasPrefix("port: ") }
    #expect(line?.hasPrefix("port: 7 ") == true)
    #expect(line?.hasSuffix("\(folder)/field-radio.json5:1") == true)
    #expect(shown.output.contains("avahi: true"))
    let other = try program(["config", "check", "phone-gateway"], home: scratch.path)
    #expect(other.end() == 0)
    let none = try program(["config", "check", "feild-radio"], home: scratch.path)
    #expect(none.end() == 78)
    #expect(none.errors.contains("none is called 'feild-radio'; did you mean 'field-radio'?"))
  }

  @Test func `options win over the profile, and say so`() throws {
    let path = write("{ port: 7, avahi: true, peers: ['a:1'] }")
    let shown = try program(
      ["config", "show", "--profile", path, "--port", "9", "--peer", "b:2", "--no-avahi"])
    #expect(shown.end() == 0)
    let rows = shown.output.split(separator: "\n").map {
      $0.split(separator: " ").joined(separator: " ")
    }
    #expect(rows.contains("port: 9 option --port"))
    #expect(rows.contains("avahi: false option --no-avahi"))
    #expect(rows.contains("peers: [\"a:1\", \"b:2\"] option --peer"))
    #expect(rows.contains("hello: true default"))
  }

  @Test func `what is no readable plain file is one line and 78`() throws {
    let target = write("{}", "real.json5")
    let link = "\(scratch.path)/link.json5"
    let pipe = "\(scratch.path)/pipe.json5"
    symlink(target, link)
    mkfifo(pipe, 0o600)
    let cases = [
      (link, "is a symbolic link"), (pipe, "is no plain file"), (scratch.path + "/", "is no plain"),
      ("\(scratch.path)/absent.json5", "is not there"), ("/dev/null/x.json5", "Not a directory"),
      (write("", "empty.json5"), "is empty"), (write("\0", "nul.json5"), "is no value"),
      (write(String(repeating: " ", count: 70_000), "large.json5"), "is longer than 64 KiB"),
      (write(String(repeating: "{a:", count: 9_000), "deep.json5"), "nested deeper than 8"),
    ]
    for (path, message) in cases {
      for line in [["config", "check", path], ["run", "--headless", "--profile", path]] {
        let run = try program(line)
        #expect(run.end() == 78, "\(line)")
        #expect(run.errors.hasPrefix("talkaround: \(path)"), "\(run.errors)")
        #expect(run.errors.contains(message), "\(run.errors)")
        #expect(run.errors.count { $0 == "\n" } == 1)
      }
    }
  }

  @Test(.enabled(if: geteuid() == 0, "needs root, to be another user"))
  func `a profile that others keep to themselves is one line and 78`() throws {
    let path = write("{}")
    chmod(path, 0o600)
    chmod(scratch.path, 0o755)
    // setpriv(1) of util-linux drops root's right to read everything.
    let child = Process()
    child.executableURL = URL(filePath: "/usr/bin/setpriv")
    child.arguments = [
      "--reuid", "65534", "--regid", "65534", "--clear-groups", Program.path, "config", "check",
      path,
    ]
    let errors = Pipe()
    child.standardError = errors
    try child.run()
    child.waitUntilExit()
    let said = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    #expect(child.terminationStatus == 78, "\(said)")
    #expect(said == "talkaround: \(path): permission denied; check its owner and mode\n")
  }

  @Test func `the reference is printed as it is`() throws {
    let reference = try program(["config", "reference"])
    #expect(reference.end() == 0)
    #expect(reference.output == ProfileReference.article)
  }
}
