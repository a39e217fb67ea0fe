import Foundation
import Glibc

/// A program on a host of the lab with a terminal of its own, as a person has it.
final class LabTerminal {
  private let master: Int32
  private let pid: pid_t
  private var bytes: [UInt8] = []

  /// Starts a program on the host, on a terminal of this size.
  init(_ lab: Lab, _ host: String, _ words: [String], columns: UInt16 = 100) throws {
    // Swift's Glibc module lacks posix_openpt(3) and its kin; these are what they do on Linux.
    master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    var unlock: Int32 = 0
    _ = ioctl(master, 0x4004_5431, &unlock)
    var number: UInt32 = 0
    _ = ioctl(master, 0x8004_5430, &number)
    let slave = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
    defer { close(slave) }
    guard master >= 0, slave >= 0 else { throw LabError("no terminal to be had: /dev/ptmx") }
    var size = winsize(ws_row: 30, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(master, UInt(TIOCSWINSZ), &size)
    _ = fcntl(master, F_SETFL, O_NONBLOCK)
    pid = try LabTerminal.spawn([Lab.toolPath, "exec", host] + words, slave, lab.environment)
  }

  deinit {
    kill(pid, SIGKILL)
    waitpid(pid, nil, 0)
    close(master)
  }

  private static func spawn(
    _ words: [String], _ slave: Int32, _ environment: [String: String]
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for stream in 0..<Int32(3) { posix_spawn_file_actions_adddup2(&actions, slave, stream) }
    var attributes = posix_spawnattr_t()
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    var arguments = words.map { strdup($0) } + [nil]
    var texts = variables.map { strdup("\($0)=\($1)") } + [nil]
    defer { (arguments + texts).forEach { free($0) } }
    var pid: pid_t = 0
    let result = posix_spawn(&pid, words[0], &actions, &attributes, &arguments, &texts)
    guard result == 0 else {
      throw LabError("cannot start \(words[0]): \(String(cString: strerror(result)))")
    }
    return pid
  }

  /// Presses keys.
  func type(_ text: String) {
    _ = Array(text.utf8).withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
  }

  /// Everything that was shown so far, control sequences and all.
  var shown: String {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let got = chunk.withUnsafeMutableBytes { read(master, $0.baseAddress, $0.count) }
      guard got > 0 else { break }
      bytes += chunk[..<got]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Waits until a text is shown.
  func wait(_ text: String, seconds: Double = 10) throws {
    try Lab.wait(seconds: seconds, "'\(text)' is not shown, but: \(shown.suffix(600))") {
      shown.contains(text)
    }
  }

  /// Waits for the program's end; its exit code.
  func end(seconds: Double = 5) throws -> Int32 {
    var status: Int32 = 0
    try Lab.wait(seconds: seconds, "the program on the terminal does not end") {
      _ = shown
      return waitpid(pid, &status, WNOHANG) == pid
    }
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
  }
}
