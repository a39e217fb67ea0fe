import Foundation
import Glibc
import Testing

@testable import TalkKit

/// The life of a real node in the background. One at a time: a node takes a port and a while.
@Suite(.serialized) struct StartCommandTests {
  let scratch = Scratch()
  static let quiet = ["--capture", "null", "--playback", "null", "--no-avahi"]

  /// Waits until a node answers at the folder's socket.
  static func answers(_ scratch: Scratch) throws -> Bool {
    let deadline = Date(timeIntervalSinceNow: 10)
    while Date() < deadline {
      if try Program(["status"], state: scratch.path).end() == 0 { return true }
    }
    return false
  }

  private func run(
    _ line: [String], environment: [String: String] = [:]
  ) throws -> (code: Int32?, output: String, errors: String) {
    let program = try Program(line, state: scratch.path, environment: environment)
    let code = program.end()
    return (code, program.output, program.errors)
  }

  private func stop() throws { _ = try run(["stop"]) }

  private var process: pid_t? {
    let text = try? String(contentsOfFile: "\(scratch.path)/lock", encoding: .utf8)
    return text.flatMap { pid_t($0) }
  }

  @Test func `start starts one node, a second start finds it, and stop ends it twice`() throws {
    let first = try run(["start", "--name", "anna"] + Self.quiet)
    #expect(first.code == 0)
    #expect(first.output.hasPrefix("started: anna "))
    let node = try #require(process)
    // In a session of its own, so that our terminal's end is not its own.
    #expect(getsid(node) == node)
    let second = try run(["start"])
    #expect(second.code == 0)
    #expect(second.output.hasPrefix("running already: anna "))
    #expect(process == node)
    #expect(mode("\(scratch.path)/log") == 0o600)
    let log = try String(contentsOfFile: "\(scratch.path)/log", encoding: .utf8)
    #expect(log.contains("talkaround: ready on UDP port"))
    for said in ["", "no node is running\n"] {
      let stopped = try run(["stop"])
      #expect(stopped.code == 0)
      #expect(stopped.errors == said)
    }
    #expect(kill(node, 0) != 0 || FileManager.default.fileExists(atPath: "/proc/\(node)"))
  }

  @Test func `two starts at once start one node`() throws {
    let programs = try (0..<3).map { _ in
      try Program(["start"] + Self.quiet, state: scratch.path)
    }
    #expect(programs.map { $0.end() } == [0, 0, 0])
    let said = programs.map(\.output)
    #expect(said.count { $0.hasPrefix("started") } == 1, "\(said)")
    #expect(said.count { $0.hasPrefix("running already") } == 2, "\(said)")
    try stop()
  }

  @Test func `a second copy with the same state ends with 75 and names the first`() throws {
    #expect(try run(["start"] + Self.quiet).code == 0)
    let node = try #require(process)
    let second = try run(["run", "--headless"] + Self.quiet)
    #expect(second.code == 75)
    #expect(
      second.errors == "talkaround: \(scratch.path)/lock: in use by process \(node); stop that "
        + "copy, or use another --state DIR\n")
    #expect(try run(["status"]).code == 0)
    try stop()
  }

  @Test func `a node that does not start is told with its own words and exit code`() throws {
    let file = try run(["start", "--capture", "\(scratch.path)/absent.wav", "--no-avahi"])
    #expect(file.code == 69)
    #expect(file.errors.hasPrefix("talkaround: the node did not start: cannot read sound from"))
    #expect(file.errors.count { $0 == "\n" } == 1)
    chmod(scratch.path, 0o755)
    let loose = try run(["start"] + Self.quiet)
    #expect(loose.code == 77)
    #expect(loose.errors.contains("the node did not start: \(scratch.path): others may use it"))
    chmod(scratch.path, 0o700)
    try Data("x".utf8).write(to: URL(filePath: "\(scratch.path)/identity"))
    chmod("\(scratch.path)/identity", 0o600)
    let broken = try run(["start"] + Self.quiet)
    #expect(broken.code == 78)
    #expect(broken.errors.contains("the node did not start: \(scratch.path)/identity: "))
    let profile = try run(["start", "--profile", "/dev/null"])
    #expect(profile.code == 78)
    #expect(profile.errors == "talkaround: /dev/null: is no plain file; name a profile\n")
  }

  @Test func `a profile reaches the node, and options win over it`() throws {
    let path = "\(scratch.path)/p.json5"
    try Data("{ capture: 'null', playback: 'null', avahi: false, nickname: 'ben' }".utf8)
      .write(to: URL(filePath: path))
    #expect(try run(["start", "--profile", path, "--name", "anna"]).code == 0)
    let status = try run(["status"])
    #expect(status.output.hasPrefix("anna "))
    #expect(status.output.contains("microphone null  loudspeaker null"))
    #expect(status.output.contains("avahi off  hello on"))
    try stop()
  }

  @Test func `talkaround without a terminal says what to run`() throws {
    let none = try run([])
    #expect(none.code == 69)
    #expect(none.errors.contains("'talkaround start'"))
    #expect(try run(["start"] + Self.quiet).code == 0)
    let alone = try run([])
    #expect(alone.code == 64)
    #expect(alone.errors.contains("'talkaround channel create NAME'"))
    #expect(try run(["channel", "create", "crew"]).code == 0)
    let ready = try run([])
    #expect(ready.code == 64)
    #expect(ready.errors.contains("'talkaround status'"))
    try stop()
  }

  // MARK: At login

  /// A `systemctl` that notes what it is asked, and answers as a user manager would.
  private func makeSystemctl(_ body: String = "exit 0") throws -> [String: String] {
    let bin = "\(scratch.path)/bin"
    try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
    let script = "#!/bin/sh\necho \"$@\" >>'\(scratch.path)/asked'\n\(body)\n"
    try Data(script.utf8).write(to: URL(filePath: "\(bin)/systemctl"))
    chmod("\(bin)/systemctl", 0o755)
    let linger = "#!/bin/sh\necho no\n"
    try Data(linger.utf8).write(to: URL(filePath: "\(bin)/loginctl"))
    chmod("\(bin)/loginctl", 0o755)
    return ["PATH": "\(bin):/usr/bin:/bin", "HOME": scratch.path, "USER": "anna"]
  }

  private var asked: [String] {
    let text = (try? String(contentsOfFile: "\(scratch.path)/asked", encoding: .utf8)) ?? ""
    return text.split(separator: "\n").map(String.init)
  }

  @Test func `without a user manager start at login says what is missing`() throws {
    let environment = try makeSystemctl("echo 'Failed to connect to bus' >&2; exit 1")
    for words in [["start", "--at-login"], ["stop", "--at-login"]] {
      let refused = try run(words, environment: environment)
      #expect(refused.code == 69)
      #expect(refused.errors.contains("no systemd user manager answers here"))
      #expect(refused.errors.contains("log in as this user"))
    }
    #expect(process == nil)
  }

  @Test func `start at login writes a unit with its options, and stop removes it`() throws {
    // As the manager would start it.
    let environment = try makeSystemctl(
      """
      case "$2" in start)
        setsid '\(Program.path)' run --headless --state '\(scratch.path)' \
          \(Self.quiet.joined(separator: " ")) >/dev/null 2>&1 &
      esac
      exit 0
      """)
    let start = try run(
      ["start", "--at-login", "--name", "50% $x"] + Self.quiet,
      environment: environment)
    #expect(start.code == 0, "\(start.errors)")
    #expect(start.output.hasPrefix("starts at login from now on\nstarted: "))
    #expect(
      start.errors == "To start it at boot, before anybody logs in: "
        + "loginctl enable-linger anna\n")
    let path = "\(scratch.path)/.config/systemd/user/talkaround.service"
    let unit = try String(contentsOfFile: path, encoding: .utf8)
    #expect(
      unit.contains(
        "ExecStart=\"\(Program.path)\" \"run\" \"--headless\" \"--name\" "
          + "\"50%% $$x\" \"--capture\" \"null\""))
    #expect(unit.contains("\"--state\" \"\(scratch.path)\""))
    #expect(unit.contains("WantedBy=default.target"))
    #expect(
      asked.contains("--user daemon-reload") && asked.contains("--user enable talkaround.service"))
    #expect(asked.contains("--user start talkaround.service"))
    let again = try run(["start", "--at-login"] + Self.quiet, environment: environment)
    #expect(again.code == 0)
    let stop = try run(["stop", "--at-login"], environment: environment)
    #expect(stop.code == 0)
    #expect(asked.contains("--user disable --now talkaround.service"))
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(try run(["status"]).code == 69)
  }

  @Test func `a unit that is not ours is left alone`() throws {
    let environment = try makeSystemctl()
    let folder = "\(scratch.path)/.config/systemd/user"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let theirs = Data("[Service]\nExecStart=/bin/true\n".utf8)
    try theirs.write(to: URL(filePath: "\(folder)/talkaround.service"))
    let refused = try run(["start", "--at-login"] + Self.quiet, environment: environment)
    #expect(refused.code == 78)
    #expect(refused.errors.contains("is not ours"))
    #expect(FileManager.default.contents(atPath: "\(folder)/talkaround.service") == theirs)
  }

  @Test func `where the unit is installed the systemd user manager starts the node`() throws {
    let state = "\(scratch.path)/data"
    let quiet = Self.quiet.joined(separator: " ")
    let environment = try makeSystemctl(
      """
      case "$2" in start)
        XDG_DATA_HOME='\(state)' setsid '\(Program.path)' run --headless \(quiet) 2>/dev/null &
      esac
      exit 0
      """
    ).merging(["XDG_DATA_HOME": state]) { $1 }
    let folder = "\(scratch.path)/.config/systemd/user"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data("[Service]\n".utf8).write(to: URL(filePath: "\(folder)/talkaround.service"))
    let start = try Program(["start"], environment: environment)
    #expect(start.end() == 0)
    #expect(start.output.hasPrefix("started: "))
    #expect(asked.contains("--user start talkaround.service"))
    #expect(try Program(["stop"], environment: environment).end() == 0)
  }
}
