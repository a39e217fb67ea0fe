import Foundation
import Glibc

/// A program that a test started: awaited, or signalled, by its pid alone.
///
/// Its output goes to files, so it never waits for a reader.
final class ChildProcess: @unchecked Sendable {
  /// What a program said and how it ended.
  struct Output: Sendable {
    /// The exit code; 128 and the signal's number after a signal, as a shell has it.
    let code: Int32
    let out: String
    let err: String

    var succeeded: Bool { code == 0 }
    /// `out` without the space around it.
    var line: String { out.trimmingCharacters(in: .whitespacesAndNewlines) }
  }

  let words: [String]
  let pid: pid_t
  let outPath: String
  private let folder: URL
  private var code: Int32?

  /// Starts `words[0]`, a path, with `input` as its standard input.
  init(
    _ words: [String], input: String? = nil, environment: [String: String] = [:]
  ) throws {
    self.words = words
    folder = FileManager.default.temporaryDirectory
      .appending(path: "talkaround-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try (input ?? "").write(
      to: folder.appending(path: "in"), atomically: false, encoding: .utf8)
    outPath = folder.appending(path: "out").path
    pid = try ChildProcess.spawn(words, folder, environment)
  }

  deinit {
    if isRunning { kill(pid, SIGKILL) }
    _ = try? wait(seconds: 5)
    try? FileManager.default.removeItem(at: folder)
  }

  private static func spawn(
    _ words: [String], _ folder: URL, _ environment: [String: String]
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let create = O_WRONLY | O_CREAT | O_APPEND
    posix_spawn_file_actions_addopen(&actions, 0, folder.appending(path: "in").path, O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, folder.appending(path: "out").path, create, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, folder.appending(path: "err").path, create, 0o600)
    let merged = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    var arguments = words.map { strdup($0) } + [nil]
    var variables = merged.map { strdup("\($0)=\($1)") } + [nil]
    defer { (arguments + variables).forEach { free($0) } }
    var pid: pid_t = 0
    var attributes = signalsLetThrough()
    defer { posix_spawnattr_destroy(&attributes) }
    let result = posix_spawn(&pid, words[0], &actions, &attributes, &arguments, &variables)
    guard result == 0 else {
      throw LabError("cannot start \(words[0]): \(String(cString: strerror(result)))")
    }
    return pid
  }

  /// The threads that tests run on block signals, and a child would inherit that.
  private static func signalsLetThrough() -> posix_spawnattr_t {
    var attributes = posix_spawnattr_t()
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_init(&attributes)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    return attributes
  }

  /// Whether it has not ended yet.
  var isRunning: Bool {
    reap()
    return code == nil
  }

  /// What it has said so far.
  var output: String { text("out") }
  /// What it has said on standard error so far.
  var complaints: String { text("err") }

  /// Waits until it has ended; one that does not in time is killed, and that is an error.
  @discardableResult func wait(seconds: Double) throws -> Output {
    let deadline = Date(timeIntervalSinceNow: seconds)
    while isRunning {
      guard Date() < deadline else {
        kill(target, SIGKILL)
        kill(pid, SIGKILL)
        let command = words.joined(separator: " ")
        throw LabError("\(command): not done after \(seconds) s\n\(text("err"))")
      }
      usleep(2_000)
    }
    return Output(code: code ?? -1, out: text("out"), err: text("err"))
  }

  /// Sends a signal to the program itself, not to the nsenter around it.
  func signal(_ number: Int32) {
    if isRunning { kill(target, number) }
  }

  /// The program on its host: nsenter waits for it as its parent.
  var target: pid_t {
    guard procFile("comm") == "nsenter\n",
      let child = procFile("task/\(pid)/children").split(separator: " ").first
    else { return pid }
    return pid_t(child) ?? pid
  }

  private func procFile(_ name: String) -> String {
    (try? String(contentsOfFile: "/proc/\(pid)/\(name)", encoding: .utf8)) ?? ""
  }

  private func reap() {
    guard code == nil else { return }
    var status: Int32 = 0
    guard waitpid(pid, &status, WNOHANG) == pid else { return }
    code = status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
  }

  private func text(_ name: String) -> String {
    let bytes = try? Data(contentsOf: folder.appending(path: name))
    return String(decoding: bytes ?? Data(), as: UTF8.self)
  }
}
