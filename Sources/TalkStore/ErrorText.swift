import Glibc

/// What the C library says of an error number.
enum ErrorText {
  /// strerror_r(3) of `number`, in plain words.
  static func of(_ number: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 128)
    unsafe buffer.withUnsafeMutableBufferPointer { target in
      // The POSIX form fills the buffer, the GNU form may not; both leave a terminated string.
      _ = unsafe strerror_r(number, target.baseAddress!, target.count)
    }
    let bytes = buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
    let text = String(decoding: bytes, as: UTF8.self)
    return text.isEmpty ? "error \(number)" : text
  }
}
