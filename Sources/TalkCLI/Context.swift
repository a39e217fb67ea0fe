import Glibc
import TalkCore
import TalkKit

/// A node as `talkaround run` drives it.
protocol RunnableNode: Sendable {
  /// Serves until `stop` is called or the control socket's `stop` came; throws what ended it.
  func run() throws(NodeServiceError)
  /// Ends `run` soon; from any thread, any number of times.
  func stop()
}

/// What a command may touch of the world.
struct Context: Sendable {
  /// Opens what a node needs, and makes it; `run` has not been called yet.
  typealias NodeFactory = @Sendable (NodeOptions) throws(NodeServiceError) -> any RunnableNode

  /// The environment variables that we read.
  let environment: [String: String]
  /// Where a person or a pipe writes.
  let input: Int32
  /// Where results go.
  let output: Int32
  /// Where hints and errors go.
  let error: Int32
  /// Makes the node of `run`.
  let makeNode: NodeFactory

  private static let names = [
    "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "TERM", "PATH", "USER",
    "DISPLAY", "WAYLAND_DISPLAY",
  ]

  /// This program's own file (proc(5)); empty when the system does not say.
  static var program: String {
    guard let path = unsafe realpath("/proc/self/exe", nil) else { return "" }
    defer { unsafe free(path) }
    return unsafe String(cString: path)
  }

  /// Where profiles are looked for.
  var profiles: ProfileFinder {
    ProfileFinder(environment: environment, program: Self.program)
  }

  /// The variables that concern us, from the process (getenv(3)).
  static func processEnvironment() -> [String: String] {
    var environment: [String: String] = [:]
    for name in names {
      if let value = unsafe getenv(name) { environment[name] = unsafe String(cString: value) }
    }
    return environment
  }

  /// True when a person can both see the results and answer.
  var isInteractive: Bool { isatty(input) == 1 && isatty(output) == 1 }

  /// What became of results that could not be written.
  let outputFailure = OutputFailure()

  /// Writes a line of results.
  func print(_ line: String) { put(Array("\(line)\n".utf8)) }

  /// Writes results as they are; false when they could not be written.
  @discardableResult
  func put(_ bytes: [UInt8]) -> Bool {
    let isWritten = Self.write(bytes, to: output)
    if !isWritten { outputFailure.note(errno) }
    return isWritten
  }

  /// Writes a line for the person.
  func tell(_ line: String) { Self.write(Array("\(line)\n".utf8), to: error) }

  /// Writes all bytes; false when the reader is gone or the disk full.
  @discardableResult
  static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var used = 0
    while used < bytes.count {
      let put = unsafe bytes.withUnsafeBytes { buffer in
        unsafe Glibc.write(descriptor, buffer.baseAddress! + used, buffer.count - used)
      }
      if put < 0, errno == EINTR { continue }
      if put < 0, errno == EAGAIN {
        var polled = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        unsafe poll(&polled, 1, -1)
        continue
      }
      guard put > 0 else { return false }
      used += put
    }
    return true
  }

  /// Connects to the node that the global options name.
  func connect(_ invocation: Invocation) throws(CommandError) -> ControlClient {
    let path = try socketPath(invocation)
    do {
      return try ControlClient(path: path)
    } catch {
      throw CommandError(error)
    }
  }

  /// Where the node that the global options name has its control socket.
  func socketPath(_ invocation: Invocation) throws(CommandError) -> String {
    do {
      return try ControlPath.resolve(state: invocation.state, environment: environment)
    } catch {
      throw CommandError(NodeServiceError(error))
    }
  }
}

/// Whether results could be written: a command that says nothing must not end with 0.
final class OutputFailure: Sendable {
  private let lock = Lock()
  private nonisolated(unsafe) var number: Int32 = 0

  /// Keeps the first failure.
  func note(_ number: Int32) {
    lock.withLock {
      if unsafe self.number == 0 { unsafe self.number = number }
    }
  }

  /// The error to end with. A reader that has enough closes its pipe: that is none.
  var error: CommandError? {
    let number = lock.withLock { unsafe self.number }
    guard number != 0, number != EPIPE else { return nil }
    return CommandError(
      message: "standard output: \(unsafe String(cString: strerror(number))); "
        + "the results are not whole", exitCode: ExitCode.output)
  }
}
