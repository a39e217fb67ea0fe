import Glibc

/// Bytes that must not be seen: wiped when the last holder lets go, never printed, shared rather
/// than copied. Wiping is best effort; the running node keeps its own in locked memory
/// (TalkCrypto).
@safe package final class SecretBytes: Sendable, Equatable {
  private nonisolated(unsafe) let memory: UnsafeMutableRawBufferPointer

  /// Takes a copy of `bytes`; the caller wipes its own (`SecretBytes.wipe`).
  package init(_ bytes: [UInt8]) {
    unsafe memory = .allocate(byteCount: bytes.count, alignment: 16)
    for (index, byte) in bytes.enumerated() {
      unsafe memory.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
    }
  }

  deinit {
    if let base = unsafe memory.baseAddress { unsafe explicit_bzero(base, memory.count) }
    unsafe memory.deallocate()
  }

  /// How many bytes there are.
  package var count: Int { unsafe memory.count }

  /// A copy, for a key to be made of; wipe it after use.
  package func copy() -> [UInt8] { unsafe Array(memory) }

  /// Overwrites `bytes` with zeros (explicit_bzero(3)), which the optimiser may not leave out.
  package static func wipe(_ bytes: inout [UInt8]) {
    unsafe bytes.withUnsafeMutableBytes { buffer in
      if let base = buffer.baseAddress { unsafe explicit_bzero(base, buffer.count) }
    }
  }

  /// Compares all bytes, whatever the first difference.
  package static func == (left: SecretBytes, right: SecretBytes) -> Bool {
    guard left.count == right.count else { return false }
    var difference: UInt8 = 0
    for index in 0..<left.count {
      difference |= unsafe left.memory[index] ^ right.memory[index]
    }
    return difference == 0
  }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
  /// Says how many bytes, never which.
  package var description: String { "secret of \(count) bytes" }
  /// Shows no children to dump(_:).
  package var customMirror: Mirror { Mirror(self, children: []) }
}
