import Glibc
import TalkKit

/// Makes sure that a node runs in the background: finds the one there is, or starts one, as the
/// systemd user unit where that is installed, else as a detached process of its own.
struct StartNode {
  /// How long a node may take until it answers, in milliseconds.
  static let patience: UInt64 = 15_000
  /// How often it is looked for meanwhile.
  private static let stepMilliseconds: Int32 = 25

  /// What was found or done.
  enum Outcome {
    case running(ControlClient)
    case started(ControlClient)

    var client: ControlClient {
      switch self {
      case .running(let client), .started(let client): client
      }
    }
  }

  let invocation: Invocation
  let context: Context

  /// Finds or starts the node; throws why it does not start, with the last line of its log.
  /// `unitHasOptions` says that the systemd unit was just given this command line's options.
  func ensure(unitHasOptions: Bool = false) throws(CommandError) -> Outcome {
    if let client = try existing() { return .running(client) }
    // What is wrong with profile or options is told here, before anything is started.
    let options = try RunOptions(invocation, context).options
    progress("Starting the node …")
    defer { progress("\n") }
    let unit = StartUnit(context)
    if startOptions.isEmpty || unitHasOptions, unit.isInstalled, unit.managerAnswers() {
      return .started(try start(unit))
    }
    return try startDetached(log: options.logFile)
  }

  /// The node that answers, if one does. Whatever else is wrong with its socket is thrown.
  func existing() throws(CommandError) -> ControlClient? {
    let path = try context.socketPath(invocation)
    do throws(ControlError) {
      return try ControlClient(path: path)
    } catch .noNode {
      return nil
    } catch {
      throw CommandError(error)
    }
  }

  /// The options of this command line that the node's own gets too.
  var startOptions: [String] {
    let names = RunOptions.all.map(\.name) + ["--profile", "--state"]
    return names.flatMap { name in
      (invocation.values[name] ?? []).flatMap { value in
        value.isEmpty ? [name] : [name, Self.isPath(name, value) ? Self.absolute(value) : value]
      }
    }
  }

  /// True when a value names a file or folder: the node may start in another folder than ours.
  private static func isPath(_ option: String, _ value: String) -> Bool {
    switch option {
    case "--state", "--log": true
    case "--profile": value.contains("/") || value.hasSuffix(ProfileFinder.suffix)
    case "--capture", "--playback": value.lowercased().hasSuffix(".wav")
    default: false
    }
  }

  private static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let folder = unsafe getcwd(nil, 0) else { return path }
    defer { unsafe free(folder) }
    return "\(unsafe String(cString: folder))/\(path)"
  }

  /// The command line of the node.
  func nodeWords(_ program: String, log: String?) -> [String] {
    let logging = log.map { ["--log", $0] } ?? []
    return [program, "run", "--headless"] + startOptions + logging
  }

  private func progress(_ text: String) {
    guard isatty(context.error) == 1 else { return }
    Context.write(Array(text.utf8), to: context.error)
  }

  // MARK: The systemd user unit

  private func start(_ unit: StartUnit) throws(CommandError) -> ControlClient {
    try unit.systemctl("start", StartUnit.name)
    if let client = try wait(while: { unit.isActive }) { return client }
    throw CommandError(
      message: "the node did not start: \(unit.lastLine); "
        + "'systemctl --user status talkaround' says more",
      exitCode: ExitCode.unavailable)
  }

  // MARK: A process of its own

  private func startDetached(log wanted: String?) throws(CommandError) -> Outcome {
    let log: String
    if let wanted { log = wanted } else { log = try defaultLog() }
    let program = Context.program.isEmpty ? "/proc/self/exe" : Context.program
    let before = Self.size(of: log)
    let words = nodeWords(program, log: wanted == nil ? log : nil)
    guard let node = ChildProgram.detach(words) else {
      throw CommandError(
        message: "\(program): cannot be started: \(unsafe String(cString: strerror(errno)))",
        exitCode: ExitCode.unavailable)
    }
    defer { close(node.words) }
    var said: [UInt8] = []
    var code: Int32?
    let client = try wait {
      _ = ChildProgram.read(node.words, &said)
      code = ChildProgram.wait(node.process)
      return code == nil
    }
    // Two that start at once: one of the nodes wins.
    if let client {
      return client.nodeProcess == node.process ? .started(client) : .running(client)
    }
    if code == ExitCode.busy, let client = try wait(for: 2_000, while: { true }) {
      return .running(client)
    }
    while ChildProgram.read(node.words, &said), !said.isEmpty, code != nil {
      var polled = pollfd(fd: node.words, events: Int16(POLLIN), revents: 0)
      guard unsafe poll(&polled, 1, 0) > 0 else { break }
    }
    throw failure(code, said, log: log, after: before)
  }

  private func failure(
    _ code: Int32?, _ said: [UInt8], log: String, after before: Int
  ) -> CommandError {
    let line = Self.lastLine(of: said) ?? Self.lastLine(of: Self.tail(of: log, after: before))
    guard let code else {
      return CommandError(
        message: "the node does not answer after \(Self.patience / 1_000) s; "
          + "its log is \(log)" + (line.map { ": \($0)" } ?? ""),
        exitCode: ExitCode.unavailable)
    }
    let known = [
      ExitCode.usage, ExitCode.unavailable, ExitCode.busy, ExitCode.noPermission, ExitCode.state,
    ]
    let how = code < 0 ? "ended by signal \(-code)" : "ended with \(code)"
    return CommandError(
      message: "the node did not start: \(line ?? how)",
      exitCode: known.contains(code) ? code : ExitCode.unavailable)
  }

  /// Looks for the node until it answers, `goOn` says no, or the time is over.
  private func wait(
    for milliseconds: UInt64 = StartNode.patience, while goOn: () -> Bool
  ) throws(CommandError) -> ControlClient? {
    let deadline = ChildProgram.now() + milliseconds
    while true {
      // Asked first, so that a node that came up just before its look is found.
      let isThere = goOn()
      if let client = try existing() { return client }
      guard isThere, ChildProgram.now() < deadline else { return nil }
      _ = poll(nil, 0, Self.stepMilliseconds)
    }
  }

  // MARK: The log

  /// Where the node logs unless told otherwise: in its state directory.
  private func defaultLog() throws(CommandError) -> String {
    do { return "\(try StateFolder.path(invocation.state, context.environment))/log" } catch {
      throw CommandError(error)
    }
  }

  /// The last line of the log that a node of ours keeps; nil when there is none.
  var lastWords: String? {
    guard let log = try? defaultLog() else { return nil }
    return Self.lastLine(of: Self.tail(of: log, after: 0))
  }

  private static func size(of path: String) -> Int {
    var info = stat()
    return unsafe stat(path, &info) == 0 ? Int(info.st_size) : 0
  }

  /// What was written to a file behind its first `start` bytes, the last 4 KiB of it.
  private static func tail(of path: String, after start: Int) -> [UInt8] {
    let number = unsafe open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard number >= 0 else { return [] }
    defer { close(number) }
    let size = size(of: path)
    // A shorter file was begun anew.
    let from = max(size < start ? 0 : start, size - 4_096)
    guard lseek(number, off_t(from), SEEK_SET) >= 0 else { return [] }
    var bytes: [UInt8] = []
    while bytes.count < 8_192, ChildProgram.read(number, &bytes), bytes.count + from < size {}
    return bytes
  }

  /// The last line, without time and program; nil when nothing was said.
  static func lastLine(of bytes: [UInt8]) -> String? {
    let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
    guard let last = lines.last else { return nil }
    let mark = "talkaround: "
    guard let range = last.firstRange(of: mark) else { return String(last) }
    return String(last[range.upperBound...])
  }
}
