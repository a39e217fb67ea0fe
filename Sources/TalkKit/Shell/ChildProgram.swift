package import Glibc

/// Programs that we start, by posix_spawn(3).
package enum ChildProgram {
  /// What a program that ran to its end said, and its exit code; minus the signal that ended it.
  package struct Outcome {
    /// The exit code, or minus the signal.
    package let code: Int32
    /// What it said, the first 4 KiB.
    package let output: String
  }

  /// A program that goes on by itself, and where its first words are read.
  package struct Detached {
    /// The program.
    package let process: pid_t
    /// Where its standard error is read.
    package let words: Int32
  }

  /// Runs `words[0]`, found by PATH, with both outputs taken in; nil when it can't be started or
  /// does not end within `milliseconds`, after which it is killed.
  package static func run(_ words: [String], milliseconds: UInt64 = 10_000) -> Outcome? {
    guard let child = spawn(words, searched: true, output: .both, ownSession: false) else {
      return nil
    }
    defer { close(child.words) }
    var output: [UInt8] = []
    let deadline = now() + milliseconds
    var ended: Int32?
    while now() < deadline {
      // Once is enough: afterwards the system knows nothing of it.
      ended = ended ?? wait(child.process)
      var polled = pollfd(fd: child.words, events: Int16(POLLIN), revents: 0)
      // Once it has ended only what it left is read: its own children may keep the pipe open.
      let ready = unsafe poll(&polled, 1, ended == nil ? 20 : 0) > 0
      let hasMore = ready && read(child.words, &output)
      guard let code = ended, !hasMore else { continue }
      return Outcome(code: code, output: String(decoding: output.prefix(4_096), as: UTF8.self))
    }
    guard ended == nil else { return nil }
    kill(child.process, SIGKILL)
    _ = wait(child.process, forEver: true)
    return nil
  }

  /// Starts `words[0]`, a path, in a session of its own: it outlives us and our terminal. Its
  /// standard error comes to `words` of the result; its other streams go nowhere.
  package static func detach(_ words: [String]) -> Detached? {
    // What our caller left open, such as a lock's file, must not stay open for as long as it runs.
    for number in Int32(3)..<1_024 where fcntl(number, F_GETFD) >= 0 {
      _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    }
    return spawn(words, searched: false, output: .errors, ownSession: true)
  }

  /// Takes what has come; false at the end.
  package static func read(_ descriptor: Int32, _ bytes: inout [UInt8]) -> Bool {
    var chunk = [UInt8](repeating: 0, count: 4_096)
    let got = unsafe chunk.withUnsafeMutableBytes { buffer in
      unsafe Glibc.read(descriptor, buffer.baseAddress!, buffer.count)
    }
    if got < 0 { return errno == EINTR || errno == EAGAIN }
    bytes += chunk[..<got]
    return got > 0
  }

  /// How a child ended: its exit code, or minus its signal; nil while it runs.
  package static func wait(_ process: pid_t, forEver: Bool = false) -> Int32? {
    var status: Int32 = 0
    var ended = unsafe waitpid(process, &status, forEver ? 0 : WNOHANG)
    while ended < 0, errno == EINTR {
      ended = unsafe waitpid(process, &status, forEver ? 0 : WNOHANG)
    }
    guard ended == process else { return ended < 0 ? -1 : nil }
    return status & 0x7f == 0 ? status >> 8 & 0xff : -(status & 0x7f)
  }

  /// Milliseconds on a clock that rises.
  package static func now() -> UInt64 {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000 + UInt64(now.tv_nsec) / 1_000_000
  }

  private enum Output {
    case both
    case errors
  }

  private static func spawn(
    _ words: [String], searched: Bool, output: Output, ownSession: Bool
  ) -> Detached? {
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    switch output {
    case .both: unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    case .errors: unsafe posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    }
    unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], 2)
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    // POSIX_SPAWN_SETSID of glibc's spawn.h: setsid(2) before exec(3).
    if ownSession { unsafe posix_spawnattr_setflags(&attributes, 0x80) }
    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    defer { unsafe arguments.forEach { unsafe free($0) } }
    var process = pid_t()
    let failed =
      searched
      ? unsafe posix_spawnp(&process, words[0], &actions, &attributes, &arguments, unsafe environ)
      : unsafe posix_spawn(&process, words[0], &actions, &attributes, &arguments, unsafe environ)
    close(ends[1])
    guard failed == 0 else {
      close(ends[0])
      return nil
    }
    _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
    return Detached(process: process, words: ends[0])
  }
}
