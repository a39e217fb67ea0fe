import Glibc

/// Asks a person on a terminal, key by key: what is typed ahead is kept, and a line can be mended
/// before Enter. Make it, ask, `restore`.
struct AttachTerminal {
  /// What somebody did.
  enum Key: Equatable {
    case letter(Character)
    case enter
    /// Ctrl-C, Ctrl-D, or the end of the terminal: the wish to leave.
    case leave
    case other
  }

  /// The most bytes of one line.
  static let lineLimit = 4_096
  /// Within this time after an Enter more letters belong to the same paste, in milliseconds.
  private static let pasteMilliseconds: Int32 = 80

  /// The terminal, for poll(2) beside other things.
  let descriptor: Int32
  private let context: Context
  private let signals: SignalPipe
  private let mode: TerminalMode
  private var typed: [UInt8] = []

  /// Signals on the pipe are the wish to leave, but for SIGWINCH.
  init(_ context: Context, _ signals: SignalPipe) {
    self.context = context
    self.signals = signals
    descriptor = context.input
    mode = TerminalMode(context.input, .keys)
  }

  /// Gives the terminal back.
  func restore() { mode.restore() }

  /// Writes text as it is.
  func show(_ text: String) { Context.write(Array(text.utf8), to: context.output) }

  /// Waits for a key or a signal; true once `key` has one.
  func waits(milliseconds: Int32) -> Bool {
    guard typed.isEmpty else { return true }
    var polled = [descriptor, signals.descriptor].map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    return unsafe poll(&polled, nfds_t(polled.count), milliseconds) > 0
  }

  /// Waits for a key.
  mutating func key() -> Key {
    guard let byte = byte() else { return .leave }
    switch byte {
    case 3, 4: return .leave
    case UInt8(ascii: "\r"), UInt8(ascii: "\n"): return .enter
    case 0x1b:
      skipSequence()
      return .other
    case 0..<0x20: return .other
    default: break
    }
    var bytes = [byte]
    // UTF-8: the first byte says how many follow.
    for _ in 0..<(byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0) {
      if let next = self.byte() { bytes.append(next) }
    }
    guard let text = String(validating: bytes, as: UTF8.self), let letter = text.first,
      text.count == 1
    else { return .other }
    return .letter(letter)
  }

  /// Asks for a line; empty lines are asked again. Nil at the wish to leave. What is hidden does
  /// not show, and may come in several lines of one paste.
  mutating func line(_ prompt: String, hidden: Bool = false) -> String? {
    show(prompt)
    var text = ""
    while true {
      switch key() {
      case .leave:
        show("\n")
        return nil
      case .enter:
        guard text.contains(where: { !$0.isWhitespace }) else { continue }
        if hidden, waits(milliseconds: Self.pasteMilliseconds) { continue }
        show("\n")
        return text
      case .letter("\u{7f}"), .letter("\u{8}"):
        guard let last = text.popLast(), !hidden else { continue }
        show(String(repeating: "\u{8} \u{8}", count: DisplayText.columns(String(last))))
      case .letter(let letter):
        guard text.utf8.count + letter.utf8.count <= Self.lineLimit else { continue }
        text.append(letter)
        // A mark that joins the letter before it shows as that does.
        if !hidden { show(DisplayText.line(String(letter))) }
      case .other: break
      }
    }
  }

  private mutating func byte() -> UInt8? {
    while typed.isEmpty {
      guard waits(milliseconds: -1) else { continue }
      var signalled = pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0)
      if unsafe poll(&signalled, 1, 0) > 0 {
        guard signals.next() == SIGWINCH else { return nil }
        continue
      }
      var chunk = [UInt8](repeating: 0, count: 512)
      let got = unsafe chunk.withUnsafeMutableBytes { buffer in
        unsafe read(descriptor, buffer.baseAddress!, buffer.count)
      }
      if got < 0, errno == EINTR { continue }
      guard got > 0 else { return nil }
      typed = Array(chunk[..<got])
    }
    return typed.removeFirst()
  }

  /// Drops an arrow key and its kin: ESC [ or ESC O, then letters up to one from @ to ~.
  private mutating func skipSequence() {
    guard let first = typed.first, first == UInt8(ascii: "[") || first == UInt8(ascii: "O") else {
      return
    }
    typed.removeFirst()
    while let next = typed.first {
      typed.removeFirst()
      if (0x40...0x7e).contains(next) { return }
    }
  }
}
