/// Makes a talk key of the space bar of a terminal, which reports presses alone.
///
/// A press switches talking on, the next one off. A bar that is held repeats: then the key counts
/// as held, and is up once the repeats stop. Times are milliseconds on any clock that rises. Call
/// `press` at each space, and `expire` at `deadline`.
struct SpaceKey {
  /// Within this time a second space is a repeat: keyboards repeat 15 to 40 times a second.
  static let repeatMilliseconds: UInt64 = 90
  /// A held bar is up after this time without a repeat.
  static let heldMilliseconds: UInt64 = 200

  private enum State {
    case up
    /// Switched on by a press.
    case on
    /// A space came while on: a wish to end, or the first of many repeats.
    case ending(since: UInt64)
    /// Repeats come.
    case held(last: UInt64)
  }

  private var state = State.up

  /// True while the key is down.
  var isDown: Bool {
    if case .up = state { false } else { true }
  }

  /// When `expire` is to be called; nil when nothing is pending.
  var deadline: UInt64? {
    switch state {
    case .up, .on: nil
    case .ending(let since): since + Self.repeatMilliseconds
    case .held(let last): last + Self.heldMilliseconds
    }
  }

  /// A space came.
  mutating func press(at now: UInt64) {
    switch state {
    case .up: state = .on
    case .on: state = .ending(since: now)
    case .ending, .held: state = .held(last: now)
    }
  }

  /// Time went by.
  mutating func expire(at now: UInt64) {
    if let deadline, deadline <= now { state = .up }
  }

  /// The node ended the press: the key is up, whatever the bar does.
  mutating func release() { state = .up }
}
