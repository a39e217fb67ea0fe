import CSodium

/// A long-lived secret of 32 bytes in guarded, locked memory (sodium_malloc(3)), zeroed when it
/// goes. The simulator uses ordinary memory: hundreds of nodes would exhaust the lockable pages.
@safe package final class Secret: Sendable {
  /// Where the bytes of secrets are kept.
  package enum Memory: Sendable {
    /// Guard pages around it, not swapped, not in core dumps.
    case guarded
    /// The heap: for simulations.
    case ordinary
  }

  private nonisolated(unsafe) let base: UnsafeMutablePointer<UInt8>
  private let memory: Memory

  /// Copies 32 bytes into memory of the given kind; nil for another length, or when guarded memory
  /// can't be had.
  package init?(_ bytes: [UInt8], memory: Memory = .guarded) {
    guard bytes.count == 32 else { return nil }
    switch memory {
    case .guarded:
      guard let block = unsafe sodium_malloc(32) else { return nil }
      unsafe base = block.bindMemory(to: UInt8.self, capacity: 32)
    case .ordinary:
      unsafe base = .allocate(capacity: 32)
    }
    self.memory = memory
    for index in 0..<32 { unsafe base[index] = bytes[index] }
  }

  deinit {
    switch memory {
    case .guarded: unsafe sodium_free(base)
    case .ordinary:
      unsafe sodium_memzero(base, 32)
      unsafe base.deallocate()
    }
  }

  /// Lends a copy of the bytes, which is zeroed afterwards.
  package func withBytes<Result>(_ body: ([UInt8]) throws -> Result) rethrows -> Result {
    var copy = unsafe [UInt8](UnsafeBufferPointer(start: base, count: 32))
    defer { Self.wipe(&copy) }
    return try body(copy)
  }

  /// Lends the place of the bytes: for AEAD keys on the hot path.
  package func withPointer<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
    unsafe body(UnsafePointer(base))
  }

  /// Zeroes bytes in a way that the compiler keeps (sodium_memzero(3)).
  package static func wipe(_ bytes: inout [UInt8]) {
    unsafe bytes.withUnsafeMutableBytes { buffer in
      if let base = buffer.baseAddress { unsafe sodium_memzero(base, buffer.count) }
    }
  }

  /// False when this process may not lock memory, so that secrets could reach the swap; the shell
  /// says so once.
  package static var canLockMemory: Bool {
    let page = 4_096
    guard let block = unsafe sodium_malloc(page) else { return false }
    defer { unsafe sodium_free(block) }
    return unsafe sodium_mlock(block, page) == 0
  }
}
