import Glibc

/// Where log lines go: a descriptor, or a file that is kept small. For one thread at a time.
struct LogFile {
  /// When a file is this long, it becomes `FILE.1` and a new one is begun, in bytes.
  static let sizeLimit = 256 * 1_024

  /// The file's path; nil for standard error as it is.
  let path: String?
  private let takesStandardError: Bool
  private var descriptor = STDERR_FILENO
  private var size = 0

  /// Standard error as the process has it.
  static let standardError = LogFile(path: nil, takesStandardError: false)

  private init(path: String?, takesStandardError: Bool) {
    self.path = path
    self.takesStandardError = takesStandardError
  }

  /// Opens the file at `path` for appending. Where nobody looks it becomes the process's standard
  /// error too, so that the last words of a crash land there. Throws what is wrong with the path.
  static func open(
    _ path: String, takesStandardError: Bool
  ) throws(NodeServiceError) -> LogFile {
    var file = LogFile(path: path, takesStandardError: takesStandardError)
    try file.begin()
    return file
  }

  private mutating func begin() throws(NodeServiceError) {
    guard let path else { return }
    let flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
    let number = unsafe Glibc.open(path, flags, mode_t(0o600))
    guard number >= 0 else {
      let reason = errno
      let cure =
        reason == ELOOP ? "is a symbolic link; name the file itself" : SystemText.of(reason)
      throw reason == EACCES || reason == EPERM
        ? .noPermission("\(path): \(cure); check its owner and mode")
        : .usage("\(path): \(cure); name another --log FILE")
    }
    var info = stat()
    guard unsafe fstat(number, &info) == 0, info.st_mode & S_IFMT == S_IFREG else {
      close(number)
      throw .usage("\(path): is no plain file; name another --log FILE")
    }
    size = Int(info.st_size)
    guard takesStandardError else {
      if descriptor != STDERR_FILENO { close(descriptor) }
      descriptor = number
      return
    }
    // Standard error is never closed on exec(3), and so is this one not.
    let isTaken = dup2(number, STDERR_FILENO) >= 0
    let reason = errno
    close(number)
    guard isTaken else { throw .unavailable("\(path): \(SystemText.of(reason))") }
  }

  /// Writes a line; a full disk or a reader that has gone costs the line, nothing else.
  mutating func write(_ line: [UInt8]) {
    if path != nil, size + line.count > Self.sizeLimit { turn() }
    var used = 0
    while used < line.count {
      let put = unsafe line.withUnsafeBytes { buffer in
        unsafe Glibc.write(descriptor, buffer.baseAddress! + used, buffer.count - used)
      }
      if put < 0, errno == EINTR { continue }
      guard put > 0 else { return }
      used += put
      size += put
    }
  }

  /// Begins a new file; the full one takes the place of the one before.
  private mutating func turn() {
    guard let path else { return }
    size = 0
    guard unsafe rename(path, "\(path).1") == 0 else { return }
    do { try begin() } catch { return }
  }
}
