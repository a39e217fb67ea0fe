/// Random bytes that the shell takes from the kernel (and the simulator from its seed) before each
/// step, so that machines need no source of their own.
///
/// An empty pool refuses: the caller drops what it wanted to do, and `refused` counts it.
public struct EntropyPool: Sendable {
  /// How many bytes a full pool holds: enough for some dozens of handshakes in one step.
  public static let capacity = 4_096

  private var bytes: [UInt8]
  private var used: Int
  /// How many draws found too little in the pool.
  public private(set) var refused = 0

  /// An empty pool.
  public init() {
    bytes = [UInt8](repeating: 0, count: Self.capacity)
    used = Self.capacity
  }

  /// How many bytes can be drawn.
  public var available: Int { Self.capacity - used }

  /// Replaces the used part by fresh bytes; `fill` must fill the buffer it is given.
  public mutating func refill(_ fill: (UnsafeMutableRawBufferPointer) -> Void) {
    guard used > 0 else { return }
    unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe fill(UnsafeMutableRawBufferPointer(rebasing: buffer[..<used]))
    }
    used = 0
  }

  /// Draws `count` bytes; nil, and counted, when there are fewer.
  public mutating func draw(_ count: Int) -> [UInt8]? {
    guard count <= available else {
      refused += 1
      return nil
    }
    defer { used += count }
    let result = Array(bytes[used..<used + count])
    for index in used..<used + count { bytes[index] = 0 }
    return result
  }

  /// Draws a 64-bit number; nil, and counted, when the pool is empty.
  public mutating func drawNumber() -> UInt64? {
    guard 8 <= available else {
      refused += 1
      return nil
    }
    var value: UInt64 = 0
    for index in used..<used + 8 {
      value = value << 8 | UInt64(bytes[index])
      bytes[index] = 0
    }
    used += 8
    return value
  }
}
