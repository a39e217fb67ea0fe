import Glibc
import TalkKit

/// The one-page view of a running node: attaches by the control socket, draws at most ten times a
/// second, and takes the keys.
struct Screen {
  /// How the view ended.
  enum End {
    /// The person or a signal wished it.
    case quit
    /// The node closed the connection.
    case nodeGone
  }

  /// The least time between two drawings.
  static let drawMilliseconds: UInt64 = 100
  /// How often the whole status is asked for: round trips change without an event.
  static let statusMilliseconds: UInt64 = 1_000

  private let client: ControlClient
  private let context: Context
  private let signals: SignalPipe
  private var model = ScreenModel()
  private var key = SpaceKey()
  private var drawn: UInt64 = 0
  private var beat: UInt64 = 0
  private var asked: UInt64 = 0
  private var wasDown = false
  /// When our key was last let go: the node's answer takes a moment.
  private var released: UInt64 = 0
  /// The last space that let go of another key.
  private var droppedSpace: UInt64?
  private var releaseWanted = false
  /// True when something may wait in our own buffer, where poll(2) does not see it.
  private var moreWaits = false

  /// A view that opens with `message` at its foot.
  init(client: ControlClient, context: Context, signals: SignalPipe, message: String = "") {
    self.client = client
    self.context = context
    self.signals = signals
    model.tell(message)
  }

  /// The signals that the view waits for.
  static let signals = [SIGINT, SIGTERM, SIGHUP, SIGWINCH]

  /// Shows the view until it ends; the terminal is as before then.
  mutating func run() -> End {
    let terminal = TerminalMode(context.input, .screen, output: context.output)
    defer { terminal.restore() }
    do throws(ControlError) {
      try client.send(.subscribe, ["levels": .bool(true)])
      while try step() {}
      if wasDown { try client.send(.talkRelease) }
      return .quit
    } catch {
      return .nodeGone
    }
  }

  /// Waits for one thing and does what is due; false at the end.
  private mutating func step() throws(ControlError) -> Bool {
    var polled = [client.descriptor, context.input, signals.descriptor].map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    _ = unsafe poll(&polled, nfds_t(polled.count), Int32(min(wait(), 60_000)))
    let now = Self.milliseconds()
    if polled[2].revents != 0 {
      guard signals.next() == SIGWINCH else { return false }
      model.isStale = true
    }
    if polled[1].revents != 0, !takeKeys(at: now) { return false }
    try takeIncoming()
    key.expire(at: now)
    if model.pressEnded {
      model.pressEnded = false
      key.release()
    }
    try sendKey(at: now)
    if model.needsStatus || now - asked >= Self.statusMilliseconds {
      model.needsStatus = false
      asked = now
      try client.send(.status)
    }
    if model.isStale, now - drawn >= Self.drawMilliseconds { draw(at: now) }
    return true
  }

  /// Milliseconds until something is due.
  private func wait() -> UInt64 {
    if moreWaits { return 0 }
    var due = asked + Self.statusMilliseconds
    if model.isStale { due = min(due, drawn + Self.drawMilliseconds) }
    if key.isDown { due = min(due, beat + UInt64(TalkHold.beatMilliseconds)) }
    if let deadline = key.deadline { due = min(due, deadline) }
    let now = Self.milliseconds()
    return due > now ? due - now : 0
  }

  /// Takes some of what came, not all: keys and clocks must not wait for a flood.
  private mutating func takeIncoming() throws(ControlError) {
    moreWaits = true
    for _ in 0..<TalkHold.eventsAtOnce {
      guard let incoming = try client.receive(.zero) else {
        moreWaits = false
        return
      }
      take(incoming)
    }
  }

  private mutating func take(_ incoming: ControlClient.Incoming) {
    switch incoming {
    case .event(let json):
      if let event = JSONLine.decode(WatchEvent.self, json) { model.take(event) }
    case .answer(_, .success(let json)):
      if let report = JSONLine.decode(StatusReport.self, json) { model.take(report) }
    case .answer(_, .failure): break
    }
  }

  /// Takes what was typed; false at the wish to quit or the terminal's end.
  private mutating func takeKeys(at now: UInt64) -> Bool {
    var chunk = [UInt8](repeating: 0, count: 64)
    let got = unsafe chunk.withUnsafeMutableBytes { buffer in
      unsafe read(context.input, buffer.baseAddress!, buffer.count)
    }
    guard got > 0 else { return got < 0 && (errno == EINTR || errno == EAGAIN) }
    for byte in chunk[..<got] {
      switch byte {
      // q, Ctrl-C and Ctrl-D: the terminal sends no signals in this mode.
      case UInt8(ascii: "q"), 3, 4: return false
      case UInt8(ascii: " "):
        takeSpace(at: now)
        model.isStale = true
      default: break
      }
    }
    return true
  }

  /// A space is our key, unless the floor is held or asked for by another key of this node, such as
  /// 'talk press': then it lets go of that, and what a held bar repeats is dropped.
  private mutating func takeSpace(at now: UInt64) {
    if let last = droppedSpace, now - last < SpaceKey.heldMilliseconds * 3 {
      droppedSpace = now
      return
    }
    droppedSpace = nil
    let state = model.channel?.floor.state
    let isHeldElsewhere = state == .ours || state == .queued || state == .requested
    guard isHeldElsewhere, !key.isDown, now - released >= Self.statusMilliseconds else {
      return key.press(at: now)
    }
    droppedSpace = now
    releaseWanted = true
  }

  private mutating func sendKey(at now: UInt64) throws(ControlError) {
    if releaseWanted {
      releaseWanted = false
      released = now
      try client.send(.talkRelease)
    }
    if key.isDown {
      guard !wasDown || now - beat >= UInt64(TalkHold.beatMilliseconds) else { return }
      beat = now
      wasDown = true
      try client.send(.talkHold, notification: true)
    } else if wasDown {
      wasDown = false
      released = now
      model.isStale = true
      try client.send(.talkRelease)
    }
  }

  private mutating func draw(at now: UInt64) {
    var size = winsize()
    if unsafe ioctl(context.output, UInt(TIOCGWINSZ), &size) != 0 || size.ws_col == 0 {
      size = winsize(ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0)
    }
    let text = ScreenText(width: Int(size.ws_col), height: Int(size.ws_row))
    let lines = text.lines(model, keyIsDown: key.isDown)
    // Home, the lines, clear below: no flicker as from clearing first.
    let page = "\u{1b}[H" + lines.joined(separator: "\r\n") + "\u{1b}[J"
    Context.write(Array(page.utf8), to: context.output)
    model.isStale = false
    drawn = now
  }

  private static func milliseconds() -> UInt64 {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000 + UInt64(now.tv_nsec) / 1_000_000
  }
}
