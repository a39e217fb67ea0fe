package import TalkCore

/// The minutes in which a member answers a newcomer by admitting it (session.md, "Two steps").
///
/// Drive it so: `open` when the person asks for an invite; `mayAdmit` before signing an ADMIT for a
/// stranger, `admitted` after; `deadline` is when it closes by itself. It lives in memory alone, so
/// a restart closes it.
package struct AdmitWindow: Sendable {
  /// How long a window stays open when nothing else is said.
  package static let usualDuration: Duration = .seconds(600)
  /// The longest window; longer wishes are cut to it.
  package static let longestDuration: Duration = .seconds(24 * 3_600)
  /// The most newcomers that one window admits; larger wishes are cut to it.
  package static let largestNumber = 64

  /// When the window closes; nil when it is closed.
  package private(set) var deadline: Instant?
  /// How many newcomers may still come.
  package private(set) var remaining = 0

  /// A closed window.
  package init() {}

  /// Opens the window for `duration` and `number` newcomers, or replaces the one that is open.
  package mutating func open(
    for duration: Duration = usualDuration, admitting number: Int = 1, now: Instant
  ) {
    deadline = now + min(max(duration, .zero), Self.longestDuration)
    remaining = min(max(number, 1), Self.largestNumber)
  }

  /// Whether a newcomer may be admitted now.
  package func mayAdmit(now: Instant) -> Bool {
    guard let deadline else { return false }
    return now < deadline && remaining > 0
  }

  /// Counts a newcomer that was admitted; the last one closes the window.
  package mutating func admitted() {
    remaining -= 1
    if remaining <= 0 { close() }
  }

  /// Closes the window, at its deadline or by the person's wish.
  package mutating func close() {
    deadline = nil
    remaining = 0
  }
}
