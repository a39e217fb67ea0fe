/// Which counters of one key were seen, so that a copied datagram is not taken twice (RFC 6479: a
/// ring of words, cleared a word at a time as the window slides).
///
/// Look with `permits` before opening, `commit` only once the tag was right: a forged counter must
/// not move the window.
package struct ReplayWindow: Sendable {
  /// How far behind the highest counter a datagram may come.
  package static let size: UInt64 = 2_048

  // One word more than the window: the newest word is partly ahead of the highest counter.
  private static let words: UInt64 = size / 64 + 1
  private var ring = InlineArray<33, UInt64>(repeating: 0)

  /// The highest counter that was committed; 0 before the first.
  package private(set) var highest: UInt64 = 0
  /// True once a counter was committed.
  package private(set) var isUsed = false

  /// A window that has seen nothing.
  package init() {}

  /// True when `counter` is neither seen nor too old.
  package func permits(_ counter: UInt64) -> Bool {
    if counter > highest { return true }
    guard highest - counter < Self.size else { return false }
    return ring[Self.word(counter)] & Self.bit(counter) == 0
  }

  /// Marks `counter` as seen; true when it is the newest so far. Only for a permitted counter.
  @discardableResult
  package mutating func commit(_ counter: UInt64) -> Bool {
    let isNewest = counter > highest || !isUsed
    if counter > highest {
      let step = min(counter / 64 - highest / 64, Self.words)
      var offset: UInt64 = 0
      while offset < step {
        ring[Self.word(counter - offset * 64)] = 0
        offset += 1
      }
      highest = counter
    }
    isUsed = true
    ring[Self.word(counter)] |= Self.bit(counter)
    return isNewest
  }

  private static func word(_ counter: UInt64) -> Int {
    Int(truncatingIfNeeded: counter / 64 % words)
  }

  private static func bit(_ counter: UInt64) -> UInt64 { 1 << (counter % 64) }
}
