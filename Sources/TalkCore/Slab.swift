/// One block of memory into which datagrams are written and sealed in place; `sendmmsg` points into
/// it, and it is emptied once the shell has sent what a step recorded.
@safe public final class Slab {
  /// Where the block is; stays the same for the slab's life.
  public let base: UnsafeMutableRawBufferPointer
  /// How many bytes are in use.
  public private(set) var used = 0
  /// How many requests found no room.
  public private(set) var refused = 0

  /// Takes a block of `capacity` bytes; the default holds a frame for some 1,500 listeners.
  public init(capacity: Int = 256 * 1_024) {
    unsafe base = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
    unsafe base.initializeMemory(as: UInt8.self, repeating: 0)
  }

  deinit { unsafe base.deallocate() }

  /// Reserves `count` bytes, not cleared; nil, and counted, when there is no room.
  public func reserve(_ count: Int) -> Range<Int>? {
    guard count >= 0, unsafe count <= base.count - used else {
      refused += 1
      return nil
    }
    defer { used += count }
    return used..<used + count
  }

  /// The bytes of a reserved range.
  public subscript(range: Range<Int>) -> UnsafeMutableRawBufferPointer {
    unsafe UnsafeMutableRawBufferPointer(rebasing: base[range])
  }

  /// Gives back the end of the last reservation: the slab is then used up to `end`.
  public func shrink(to end: Int) {
    precondition(end >= 0 && end <= used, "slab shrunk to \(end) of \(used)")
    used = end
  }

  /// Empties the slab.
  public func removeAll() { used = 0 }
}
