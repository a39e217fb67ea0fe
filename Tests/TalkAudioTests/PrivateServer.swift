import Foundation
import Glibc

/// A PulseAudio server of the test's own, in a folder of its own, with null sinks.
final class PrivateServer {
  /// Where `pulseaudio` is; nil when it is not installed.
  static let program: String? = ["/usr/bin/pulseaudio", "/usr/local/bin/pulseaudio"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  /// A loudspeaker whose sound a microphone hears.
  static let loop = """
    load-module module-null-sink sink_name=speaker rate=48000 channels=1 norewinds=1
    load-module module-remap-source source_name=mic master=speaker.monitor channels=1
    set-default-sink speaker
    set-default-source mic
    """
  /// A loudspeaker, and no microphone but its monitor.
  static let speakerOnly = """
    load-module module-null-sink sink_name=speaker rate=48000 channels=1 norewinds=1
    """

  private let home: TemporaryFolder
  private var process: pid_t?

  /// Makes the folder; nothing runs yet.
  init() throws {
    home = try TemporaryFolder()
  }

  deinit { kill() }

  var folder: URL { home.url }
  var socket: String { folder.appending(path: "native").path }
  /// What a client is told, as in PULSE_SERVER.
  var address: String { "unix:\(socket)" }

  /// Starts the server with `script`, and waits until it takes clients.
  func start(_ script: String) throws {
    let file = folder.appending(path: "test.pa")
    let socketLine = "load-module module-native-protocol-unix auth-anonymous=1 socket=\(socket)"
    try "\(script)\n\(socketLine)\n".write(to: file, atomically: true, encoding: .utf8)
    try "resample-method = trivial\ndefault-sample-rate = 48000\n".write(
      to: folder.appending(path: "daemon.conf"), atomically: true, encoding: .utf8)
    process = try Child.start(
      [
        Self.program ?? "pulseaudio", "-n", "-F", file.path, "--daemonize=no",
        "--exit-idle-time=-1", "--use-pid-file=no", "--realtime=no",
        "--log-target=file:\(folder.appending(path: "log").path)",
      ],
      environment: [
        "HOME=\(folder.path)", "XDG_RUNTIME_DIR=\(folder.path)", "PATH=/usr/bin:/bin",
        "PULSE_RUNTIME_PATH=\(folder.path)",
        "PULSE_CONFIG=\(folder.appending(path: "daemon.conf").path)",
      ])
    try waitForSocket()
  }

  /// Waits until a client could connect; the kernel tells of that only when asked.
  private func waitForSocket() throws {
    let deadline = Clock.now() + 10_000
    while Clock.now() < deadline {
      let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(descriptor) }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socket.utf8.prefix(107)) }
      let size = socklen_t(MemoryLayout<sockaddr_un>.size)
      let code = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, size)
        }
      }
      if code == 0 { return }
      _ = poll(nil, 0, 5)
    }
    throw NotThere()
  }

  struct NotThere: Error {}

  /// Kills the server as a crash would.
  func kill() {
    guard let process else { return }
    Glibc.kill(process, SIGKILL)
    _ = Child.wait(for: process)
    self.process = nil
    unlink(socket)
  }

  /// Stops the server in its tracks, or lets it go on.
  func freeze(_ frozen: Bool) {
    guard let process else { return }
    Glibc.kill(process, frozen ? SIGSTOP : SIGCONT)
  }

  /// Runs `pactl` with the server.
  func control(_ arguments: String...) throws {
    let process = try Child.start(
      ["/usr/bin/pactl", "-s", address] + arguments, environment: ["HOME=\(folder.path)"])
    guard Child.wait(for: process) == 0 else { throw NotThere() }
  }
}

/// Programs that a test starts (posix_spawn); their output goes nowhere.
enum Child {
  static func start(_ arguments: [String], environment: [String]) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
    }
    let words = arguments.map { strdup($0) } + [nil]
    let variables = environment.map { strdup($0) } + [nil]
    defer { for word in words + variables { free(word) } }
    var process = pid_t()
    let code = posix_spawn(&process, arguments[0], &actions, nil, words, variables)
    guard code == 0 else { throw PrivateServer.NotThere() }
    return process
  }

  /// Waits for its end; its exit status, or 128 and the signal.
  static func wait(for process: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    return status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
  }
}

/// A folder that goes with the one who made it.
final class TemporaryFolder {
  let url = FileManager.default.temporaryDirectory.appending(path: "talk-\(UUID())")

  init() throws {
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }
}

/// Milliseconds since the machine started.
enum Clock {
  static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) * 1_000 + Double(time.tv_nsec) / 1_000_000
  }
}
