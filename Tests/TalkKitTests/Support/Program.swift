import Foundation
import Glibc

/// The built `talkaround`, run by a test beside a folder that holds its control socket. Its output
/// is read by whoever waits, so that no thread pool has a say in when.
final class Program {
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

  private(set) var identifier: pid_t = 0
  private var streams: [(descriptor: Int32, bytes: [UInt8])] = []
  private var writer: Int32 = -1
  private var status: Int32?

  init(
    _ arguments: [String], state: String? = nil, input: Input = .null,
    environment: [String: String] = [:], folder: String = "/tmp", output: String? = nil,
    errors: String? = nil
  ) throws {
    var inside: [Int32] = []
    switch input {
    case .null: inside.append(open("/dev/null", O_RDONLY | O_CLOEXEC))
    case .terminal(let terminal): inside.append(fcntl(terminal.slave, F_DUPFD_CLOEXEC, 3))
    case .pipe, .text:
      let (reader, writer) = Self.makePipe()
      inside.append(reader)
      self.writer = writer
    }
    for index in 0..<2 {
      if index == 0, case .terminal(let terminal) = input {
        inside.append(fcntl(terminal.slave, F_DUPFD_CLOEXEC, 3))
        streams.append((-1, []))
        continue
      }
      if let file = index == 0 ? output : errors {
        inside.append(open(file, O_WRONLY | O_CLOEXEC))
        streams.append((-1, []))
        continue
      }
      let (reader, writer) = Self.makePipe()
      inside.append(writer)
      streams.append((reader, []))
    }
    let all = (state.map { ["--state", $0] } ?? []) + arguments
    let variables = ["HOME": "/nonexistent"].merging(environment) { $1 }
    try spawn(all, variables.map { "\($0)=\($1)" }, inside, folder)
    for end in inside { close(end) }
    if case .text(let text) = input {
      // A program may end without reading what it was given.
      Glibc.signal(SIGPIPE, SIG_IGN)
      write(text)
      endInput()
    }
  }

  deinit {
    if status == nil {
      kill(identifier, SIGKILL)
      waitpid(identifier, nil, 0)
    }
    for stream in streams where stream.descriptor >= 0 { close(stream.descriptor) }
    endInput()
  }

  private static func makePipe() -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    // At once, so that no other test's program can inherit an end.
    precondition(pipe2(&ends, O_CLOEXEC) == 0)
    return (ends[0], ends[1])
  }

  private func spawn(
    _ arguments: [String], _ environment: [String], _ inside: [Int32], _ folder: String
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, end) in inside.enumerated() {
      posix_spawn_file_actions_adddup2(&actions, end, Int32(number))
    }
    _ = addFolder(&actions, folder)
    var argv = ([Self.path] + arguments).map { strdup($0) } + [nil]
    var envp = environment.map { strdup($0) } + [nil]
    defer { for text in argv + envp { free(text) } }
    let failed = posix_spawn(&identifier, Self.path, &actions, nil, &argv, &envp)
    guard failed == 0 else { throw POSIXError(.init(rawValue: failed) ?? .EIO) }
  }

  func write(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let put = rest.withUnsafeBytes { Glibc.write(writer, $0.baseAddress, $0.count) }
      guard put > 0 else { return }
      rest.removeFirst(put)
    }
  }

  /// Reads its output no more.
  func closeOutput() {
    close(streams[0].descriptor)
    streams[0].descriptor = -1
  }

  func endInput() {
    if writer >= 0 { close(writer) }
    writer = -1
  }

  var output: String { String(decoding: streams[0].bytes, as: UTF8.self) }
  var errors: String { String(decoding: streams[1].bytes, as: UTF8.self) }

  func signal(_ number: Int32) { kill(identifier, number) }

  /// Waits, at most ten seconds, until `predicate` holds of what was written.
  func wait(until predicate: (Program) -> Bool) -> Bool {
    let deadline = Date(timeIntervalSinceNow: 10)
    while !predicate(self) {
      guard Date() < deadline else { return false }
      readSome()
    }
    return true
  }

  /// Takes what was written, waiting a little for it.
  private func readSome() {
    var polled = streams.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
    poll(&polled, nfds_t(polled.count), 20)
    for (index, entry) in polled.enumerated() where entry.revents != 0 {
      var chunk = [UInt8](repeating: 0, count: 65_536)
      let got = chunk.withUnsafeMutableBytes { read(entry.fd, $0.baseAddress, $0.count) }
      if got > 0 {
        streams[index].bytes += chunk[..<got]
      } else {
        close(entry.fd)
        streams[index].descriptor = -1
      }
    }
  }

  /// Waits, at most ten seconds, for the end and all output: the exit code, or minus the signal
  /// that ended it; nil when it does not end.
  func end() -> Int32? {
    guard wait(until: { $0.streams.allSatisfy { $0.descriptor < 0 } && $0.hasEnded }) else {
      return nil
    }
    let code = status ?? 0
    return code & 0x7f == 0 ? code >> 8 & 0xff : -(code & 0x7f)
  }

  private var hasEnded: Bool {
    var code: Int32 = 0
    if status == nil, waitpid(identifier, &code, WNOHANG) == identifier { status = code }
    return status != nil
  }
}

/// pipe2(2), which Swift's Glibc module lacks.
@_silgen_name("pipe2")
private func pipe2(_ ends: UnsafeMutablePointer<Int32>, _ flags: Int32) -> Int32

/// posix_spawn_file_actions_addchdir_np(3), which it lacks too.
@_silgen_name("posix_spawn_file_actions_addchdir_np")
private func addFolder(
  _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>, _ path: UnsafePointer<CChar>
) -> Int32
