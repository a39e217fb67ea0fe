import Glibc

/// Standard input as a sign that the holder is alive: its end is a release.
struct HeldInput {
  /// For poll(2); -1 when the input says nothing: a plain file or device, a terminal that another
  /// program has, or one whose end had come before we began (as with `ssh -n`).
  private(set) var descriptor: Int32

  init(_ input: Int32) {
    descriptor = -1
    var info = stat()
    guard unsafe fstat(input, &info) == 0 else { return }
    let kind = info.st_mode & S_IFMT
    let isOurTerminal = isatty(input) == 1 && tcgetpgrp(input) == getpgrp()
    guard kind == S_IFIFO || kind == S_IFSOCK || isOurTerminal else { return }
    descriptor = input
    var polled = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
    if unsafe poll(&polled, 1, 0) > 0, hasEnded() { descriptor = -1 }
  }

  /// Takes what has come; true once the end has.
  mutating func hasEnded() -> Bool {
    var chunk = [UInt8](repeating: 0, count: 256)
    let got = unsafe chunk.withUnsafeMutableBytes { buffer in
      unsafe read(descriptor, buffer.baseAddress!, buffer.count)
    }
    return got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)
  }
}
