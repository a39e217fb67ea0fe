import Glibc

/// A terminal in another mode than the shell's, which gets its own back whatever happens: also by a
/// signal that ends us, or a crash. One at a time in a process.
struct TerminalMode {
  /// What is different.
  enum Mode {
    /// Lines as ever, but what is typed does not show.
    case noEcho
    /// Every key at once, without an echo.
    case keys
    /// Every key at once, without an echo; the alternate screen, without a cursor.
    case screen
  }

  private let descriptor: Int32
  private let output: Int32
  private let mode: Mode

  /// Enters the alternate screen and hides the cursor (xterm's control sequences).
  static let enter: StaticString = "\u{1b}[?1049h\u{1b}[?25l"
  /// Shows the cursor and leaves the alternate screen. A static text, so that a signal handler may
  /// write it.
  static let leave: StaticString = "\u{1b}[?25h\u{1b}[?1049l"

  /// Changes the terminal behind `descriptor`; `output` is where the screen is.
  init(_ descriptor: Int32, _ mode: Mode, output: Int32 = -1) {
    self.descriptor = descriptor
    self.output = output
    self.mode = mode
    var settings = termios()
    guard unsafe tcgetattr(descriptor, &settings) == 0 else { return }
    unsafe terminalBefore = settings
    unsafe terminalOutput = mode == .screen ? output : -1
    unsafe terminalDescriptor = descriptor
    let fatal = [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGQUIT]
    // Without an echo nobody reads signals from a pipe, so these end us too.
    let ending = mode == .noEcho ? [SIGINT, SIGTERM, SIGHUP] : []
    for number in fatal + ending { _ = signal(number, terminalRestorer) }
    switch mode {
    case .noEcho: settings.c_lflag &= ~tcflag_t(ECHO)
    case .keys: settings.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG | IEXTEN)
    case .screen:
      settings.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG | IEXTEN)
      settings.c_iflag &= ~tcflag_t(IXON | ICRNL)
      settings.c_oflag &= ~tcflag_t(OPOST)
    }
    // What was typed ahead is kept, but for what might be a secret.
    _ = unsafe tcsetattr(descriptor, mode == .noEcho ? TCSAFLUSH : TCSADRAIN, &settings)
    if mode == .screen { Context.write(Array(Self.enter.description.utf8), to: output) }
  }

  /// Gives the terminal back.
  func restore() {
    if mode == .screen { Context.write(Array(Self.leave.description.utf8), to: output) }
    guard unsafe terminalDescriptor >= 0 else { return }
    var settings = unsafe terminalBefore
    _ = unsafe tcsetattr(descriptor, mode == .keys ? TCSADRAIN : TCSAFLUSH, &settings)
    unsafe terminalDescriptor = -1
    unsafe terminalOutput = -1
  }
}

private nonisolated(unsafe) var terminalBefore = termios()
private nonisolated(unsafe) var terminalDescriptor: Int32 = -1
private nonisolated(unsafe) var terminalOutput: Int32 = -1

/// Runs in the middle of anything: tcsetattr(3) and write(2) alone, then the signal takes its way.
private func terminalRestorer(_ number: Int32) {
  if unsafe terminalDescriptor >= 0 {
    var settings = unsafe terminalBefore
    _ = unsafe tcsetattr(terminalDescriptor, TCSANOW, &settings)
  }
  if unsafe terminalOutput >= 0 {
    let leave = TerminalMode.leave
    _ = unsafe write(terminalOutput, leave.utf8Start, leave.utf8CodeUnitCount)
  }
  _ = signal(number, SIG_DFL)
  _ = raise(number)
}
