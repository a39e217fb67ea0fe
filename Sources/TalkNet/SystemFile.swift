import Glibc

/// Small files that the system writes, such as those of /proc, which have no size to ask for.
package enum SystemFile {
  /// More of a file is not looked at.
  private static let limit = 4 << 20

  /// A file as text; empty when it can't be read. A pipe in its place is not waited for.
  package static func text(of path: String) -> String {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while bytes.count < limit {
      let got = unsafe chunk.withUnsafeMutableBytes { buffer in
        unsafe read(descriptor, buffer.baseAddress, buffer.count)
      }
      guard got > 0 else { break }
      bytes += chunk[..<got]
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
