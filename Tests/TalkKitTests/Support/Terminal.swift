import Foundation
import Glibc

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
