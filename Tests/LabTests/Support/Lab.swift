import Foundation
import Glibc

/// Hosts on one machine, by `Tools/lab`: each with its own network, D-Bus, avahi-daemon and
/// PulseAudio. Hosts are called h1, h2 …
///
///     try Lab.with(hosts: 3) { lab in
///       let start = try lab.speak("h1", Speech.file(seconds: 10, seed: 1))
///       …
///     }
final class Lab: Sendable {
  /// Its own, so that several test runs do not meet.
  let prefix: String
  let environment: [String: String]

  private let children = Children()

  /// Runs `body` on a lab of its own, and ends the lab whatever happens.
  static func with(
    hosts: Int, environment: [String: String] = [:], _ body: (Lab) throws -> Void
  ) throws {
    let lab = try Lab(hosts: hosts, environment: environment)
    defer { lab.down() }
    do {
      try body(lab)
    } catch {
      lab.printComplaints()
      throw error
    }
  }

  private init(hosts: Int, environment: [String: String]) throws {
    prefix = "t\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
    self.environment = environment.merging(
      ["LAB_PREFIX": prefix, "LAB_OWNER": "\(getpid())"]
    ) { $1 }
    do {
      try tool("up", "\(hosts)")
    } catch {
      down()
      throw error
    }
  }

  private func down() { _ = try? tool("down") }

  /// `Tools/lab` with these words; what it prints. Throws what it says when it fails.
  @discardableResult func tool(_ words: String..., seconds: Double = 60) throws -> String {
    try Lab.command(words, environment: environment, seconds: seconds)
  }

  /// As `tool`, without a lab.
  @discardableResult static func command(
    _ words: [String], environment: [String: String], seconds: Double
  ) throws -> String {
    let child = try ChildProcess([toolPath] + words, environment: environment)
    let output = try child.wait(seconds: seconds)
    guard output.succeeded else {
      throw LabError("Tools/lab \(words.joined(separator: " ")): \(output.err)")
    }
    return output.line
  }

  static let toolPath = Requirements.top.appending(path: "Tools/lab").path

  // MARK: Programs on a host

  /// Runs a program as if logged in on the host.
  @discardableResult func run(
    _ host: String, _ words: [String], input: String? = nil, seconds: Double = 30
  ) throws -> ChildProcess.Output {
    try start(host, words, input: input).wait(seconds: seconds)
  }

  /// The same, without waiting for its end.
  func start(_ host: String, _ words: [String], input: String? = nil) throws -> ChildProcess {
    let child = try ChildProcess(
      [Lab.toolPath, "exec", host] + words, input: input, environment: environment)
    children.add(child)
    return child
  }

  /// The host's IPv4 address.
  func address(_ host: String) -> String { "10.77.0.\(host.dropFirst())" }

  /// A folder that the host calls home, on this machine's disk.
  func home(_ host: String) -> String { "\(root)/\(host)/home" }

  private var root: String { "/tmp/talkaround-lab/\(prefix)" }

  // MARK: Sound

  /// Speaks a WAV into the host's microphone, and says when its first sample was spoken.
  @discardableResult func speak(_ host: String, _ file: String) throws -> Double {
    guard let time = Double(try tool("mic", host, file)) else {
      throw LabError("\(host)'s microphone names no time")
    }
    return time
  }

  /// Records the host's speaker from now on.
  func record(_ host: String) throws -> Recording {
    let path = "\(home(host))/\(UUID().uuidString).raw"
    let child = try ChildProcess([Lab.toolPath, "rec", host, path], environment: environment)
    try Lab.wait(seconds: 10, "no recorder on \(host)") {
      FileManager.default.fileExists(atPath: path)
    }
    return Recording(path: path, child: child)
  }

  /// A recording that goes on.
  struct Recording {
    fileprivate let path: String
    fileprivate let child: ChildProcess

    /// Ends it; what was heard.
    func stop() throws -> Clip {
      child.signal(SIGTERM)
      let output = try child.wait(seconds: 10)
      guard output.succeeded else { throw LabError("recorder: \(output.err)") }
      defer { try? FileManager.default.removeItem(atPath: path) }
      return try Clip.recording(path)
    }
  }

  // MARK: The wire

  /// Notes every UDP datagram on the host's link from now on.
  func sniff(_ host: String) throws -> Sniffer {
    let path = "\(home(host))/\(UUID().uuidString).datagrams"
    let child = try ChildProcess([Lab.toolPath, "sniff", host, path], environment: environment)
    try Lab.wait(seconds: 10, "no sniffer on \(host)") {
      FileManager.default.fileExists(atPath: path)
    }
    return Sniffer(path: path, child: child)
  }

  // MARK: Waiting

  /// Waits until a condition holds; looks every 20 ms.
  static func wait(
    seconds: Double, _ failure: @autoclosure () -> String, until condition: () throws -> Bool
  ) throws {
    let deadline = now() + seconds
    while try !condition() {
      guard now() < deadline else { throw LabError("\(failure()) after \(seconds) s") }
      usleep(20_000)
    }
  }

  /// Lets time pass on the lab: people speak and pause in real time.
  static func pass(seconds: Double) { usleep(UInt32(seconds * 1_000_000)) }

  /// Seconds of CLOCK_MONOTONIC, as every time of the lab.
  static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }

  /// What programs complained of, for whoever reads a failed test.
  private func printComplaints() {
    for child in children.all where !child.complaints.isEmpty {
      let lines = child.complaints.split(separator: "\n").suffix(20).joined(separator: "\n")
      print("---- \(child.words.dropFirst(2).joined(separator: " "))\n\(lines)")
    }
  }
}

/// The programs that a lab has run.
private final class Children: @unchecked Sendable {
  private let lock = NSLock()
  private var children: [ChildProcess] = []

  func add(_ child: ChildProcess) { lock.withLock { children.append(child) } }

  var all: [ChildProcess] { lock.withLock { children } }
}
