import Synchronization

/// A ring of 16-bit samples between one producing and one consuming thread, without locks.
///
/// The audio callback is one end, the node's loop the other. Writes beyond the room and reads
/// beyond the content are cut short and say so; nothing blocks, nothing allocates. Positions are
/// counted in samples since the start, so an overrun of the 64-bit counter is out of reach.
@safe public final class SampleRing: Sendable {
  private nonisolated(unsafe) let samples: UnsafeMutableBufferPointer<Int16>
  private let written = Atomic<Int>(0)
  private let read = Atomic<Int>(0)

  /// A ring that holds `capacity` samples; must be a power of two.
  public init(capacity: Int) {
    precondition(capacity > 0 && capacity & (capacity - 1) == 0, "ring capacity \(capacity)")
    unsafe samples = .allocate(capacity: capacity)
    unsafe samples.initialize(repeating: 0)
  }

  deinit { unsafe samples.deallocate() }

  /// How many samples the ring holds at most.
  public var capacity: Int { unsafe samples.count }

  /// How many samples wait to be read. Exact for the consumer; a lower bound for nobody else.
  public var count: Int {
    written.load(ordering: .acquiring) - read.load(ordering: .acquiring)
  }

  /// Producer only: appends samples, as many as fit, and returns how many did.
  @discardableResult
  public func write(_ source: UnsafeBufferPointer<Int16>) -> Int {
    let end = written.load(ordering: .relaxed)
    let room = capacity - (end - read.load(ordering: .acquiring))
    let amount = min(source.count, room)
    for index in 0..<amount {
      unsafe samples[(end + index) & (capacity - 1)] = source[index]
    }
    written.store(end + amount, ordering: .releasing)
    return amount
  }

  /// Consumer only: takes up to `target.count` samples and returns how many there were.
  public func read(into target: UnsafeMutableBufferPointer<Int16>) -> Int {
    let start = read.load(ordering: .relaxed)
    let amount = min(target.count, written.load(ordering: .acquiring) - start)
    for index in 0..<amount {
      unsafe target[index] = samples[(start + index) & (capacity - 1)]
    }
    read.store(start + amount, ordering: .releasing)
    return amount
  }

  /// Consumer only: drops up to `amount` samples and returns how many there were.
  @discardableResult
  public func skip(_ amount: Int) -> Int {
    let start = read.load(ordering: .relaxed)
    let dropped = min(amount, written.load(ordering: .acquiring) - start)
    read.store(start + dropped, ordering: .releasing)
    return dropped
  }
}
