import Glibc

/// Which machine this is, in a form that gives nothing away (machine-id(5) asks that the id itself
/// be kept from others).
package enum MachineID {
  /// Bytes of a hash.
  package static let size = 16

  /// BLAKE2b-128("talkaround machine v1" ‖ content of `path`); all zero when it cannot be read.
  package static func hash(path: String = "/etc/machine-id") -> [UInt8] {
    let none = [UInt8](repeating: 0, count: size)
    let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return none }
    defer { close(descriptor) }
    var text = [UInt8](repeating: 0, count: 64)
    let got = unsafe text.withUnsafeMutableBytes { buffer in
      unsafe read(descriptor, buffer.baseAddress!, buffer.count)
    }
    let digits = text.prefix(max(0, got)).filter { Character(UnicodeScalar($0)).isHexDigit }
    guard digits.count == 32 else { return none }
    return Checksum.of(Array("talkaround machine v1".utf8) + digits, size: size)
  }
}
