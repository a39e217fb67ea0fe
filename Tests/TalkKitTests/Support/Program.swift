import Foundation
import Glibc

/// The built `talkaround`, run by a test beside a folder that holds its control socket.
final class Program: @unchecked Sendable {
  private let process = Process()
  private let condition = NSCondition()
  private var outputBytes: [UInt8] = []
  private var errorBytes: [UInt8] = []
  private var openStreams = 0
  /// Where to write to its standard input; nil for other inputs.
  let input: FileHandle?

  /// What the program's standard input is.
  enum Input {
    case pipe
    case null
    case text(String)
    case terminal(Terminal)
  }

  /// Beside the test bundle, where SwiftPM puts both.
  static let path = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    .appendingPathComponent("talkaround").path

  init(
    _ arguments: [String], state: String? = nil, input: Input = .null,
    environment: [String: String] = [:], folder: String = "/tmp"
  ) throws {
    process.executableURL = URL(fileURLWithPath: Self.path)
    process.arguments = (state.map { ["--state", $0] } ?? []) + arguments
    process.environment = ["HOME": "/nonexistent"].merging(environment) { $1 }
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    var writer: FileHandle?
    switch input {
    case .null: process.standardInput = FileHandle.nullDevice
    case .pipe, .text:
      let pipe = Pipe()
      process.standardInput = pipe
      writer = pipe.fileHandleForWriting
    case .terminal(let terminal):
      process.standardInput = FileHandle(fileDescriptor: terminal.slave)
    }
    self.input = writer
    if case .terminal(let terminal) = input {
      process.standardOutput = FileHandle(fileDescriptor: terminal.slave)
    } else {
      process.standardOutput = collect { $0.outputBytes += $1 }
    }
    process.standardError = collect { $0.errorBytes += $1 }
    try process.run()
    if case .text(let text) = input {
      try writer?.write(contentsOf: Data(text.utf8))
      try writer?.close()
    }
  }

  private func collect(_ add: @escaping @Sendable (Program, [UInt8]) -> Void) -> Pipe {
    let pipe = Pipe()
    openStreams += 1
    pipe.fileHandleForReading.readabilityHandler = { [weak self] handle in
      let data = handle.availableData
      if data.isEmpty { handle.readabilityHandler = nil }
      self?.condition.withLock {
        if let self {
          add(self, [UInt8](data))
          if data.isEmpty { self.openStreams -= 1 }
        }
        self?.condition.broadcast()
      }
    }
    return pipe
  }

  var identifier: pid_t { process.processIdentifier }
  var output: String { condition.withLock { String(decoding: outputBytes, as: UTF8.self) } }
  var errors: String { condition.withLock { String(decoding: errorBytes, as: UTF8.self) } }

  func signal(_ number: Int32) { kill(process.processIdentifier, number) }

  /// Waits, at most ten seconds, until `predicate` holds of what was written.
  func wait(until predicate: (Program) -> Bool) -> Bool {
    let deadline = Date(timeIntervalSinceNow: 10)
    while !predicate(self) {
      guard Date() < deadline else { return false }
      condition.withLock { _ = condition.wait(until: Date(timeIntervalSinceNow: 0.05)) }
    }
    return true
  }

  /// Waits for the end and all output; the exit code, or minus the signal that ended it.
  func end() -> Int32 {
    process.waitUntilExit()
    _ = wait { program in program.condition.withLock { program.openStreams == 0 } }
    let code = process.terminationStatus
    return process.terminationReason == .exit ? code : -code
  }
}

/// A pseudo-terminal: a program has one end, the test the other.
final class Terminal: @unchecked Sendable {
  let master: Int32
  let slave: Int32
  private var text: [UInt8] = []

  init(columns: UInt16 = 80, rows: UInt16 = 24) {
    // Swift's Glibc module lacks posix_openpt(3) and its kin; these are what they do on Linux.
    master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    var unlock: Int32 = 0
    _ = ioctl(master, 0x4004_5431, &unlock)
    var number: UInt32 = 0
    _ = ioctl(master, 0x8004_5430, &number)
    slave = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
    resize(columns: columns, rows: rows)
    _ = fcntl(master, F_SETFL, O_NONBLOCK)
  }

  deinit {
    close(master)
    close(slave)
  }

  func resize(columns: UInt16, rows: UInt16) {
    var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(master, UInt(TIOCSWINSZ), &size)
  }

  func type(_ text: String) {
    _ = Array(text.utf8).withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
  }

  /// The modes that a program may change.
  var modes: [tcflag_t] {
    var settings = termios()
    tcgetattr(slave, &settings)
    return [settings.c_lflag, settings.c_iflag, settings.c_oflag]
  }

  var echoes: Bool { modes[0] & tcflag_t(ECHO) != 0 }

  /// Everything that was shown so far.
  var shown: String {
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let got = chunk.withUnsafeMutableBytes { read(master, $0.baseAddress, $0.count) }
      guard got > 0 else { break }
      text += chunk[..<got]
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Waits, at most ten seconds, until `predicate` holds of what was shown.
  func wait(until predicate: (String) -> Bool) -> Bool {
    let deadline = Date(timeIntervalSinceNow: 10)
    while !predicate(shown) {
      guard Date() < deadline else { return false }
      var polled = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
      poll(&polled, 1, 50)
    }
    return true
  }
}
