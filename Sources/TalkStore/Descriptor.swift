import Glibc

/// An open file or folder, closed when let go.
final class Descriptor: Sendable {
  let number: Int32

  init(_ number: Int32) { self.number = number }

  deinit { close(number) }

  /// fstat(2).
  func status(path: String) throws(StoreError) -> stat {
    var info = stat()
    guard unsafe fstat(number, &info) == 0 else { throw .of(errno, call: "fstat", path: path) }
    return info
  }

  /// fsync(2): returns once the disk has it.
  func sync(path: String) throws(StoreError) {
    guard fsync(number) == 0 else { throw .of(errno, call: "fsync", path: path) }
  }

  /// All bytes from the start; throws `tooLarge` beyond `limit`. The memory is reserved first, so
  /// that growing leaves no stray copies of secrets behind.
  func readAll(limit: Int, path: String) throws(StoreError) -> [UInt8] {
    let size = Int(try status(path: path).st_size)
    guard size <= limit else { throw .tooLarge(path) }
    var bytes = [UInt8](repeating: 0, count: size)
    var used = 0
    while used < size {
      let got = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe pread(number, buffer.baseAddress! + used, size - used, off_t(used))
      }
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else { throw .of(errno, call: "read", path: path) }
      guard got > 0 else { break }
      used += got
    }
    bytes.removeLast(size - used)
    return bytes
  }

  /// Writes all bytes; throws `diskFull` when there is no room.
  func writeAll(_ bytes: [UInt8], path: String) throws(StoreError) {
    var used = 0
    while used < bytes.count {
      let put = unsafe bytes.withUnsafeBytes { buffer in
        unsafe write(number, buffer.baseAddress! + used, buffer.count - used)
      }
      if put < 0, errno == EINTR { continue }
      guard put > 0 else { throw .of(put == 0 ? ENOSPC : errno, call: "write", path: path) }
      used += put
    }
  }
}

extension StoreError {
  /// The error that an errno of `call` stands for.
  static func of(_ number: Int32, call: String, path: String) -> StoreError {
    switch number {
    case EACCES, EPERM: .noPermission(path)
    case ELOOP: .symbolicLink(path)
    case EISDIR: .notAFile(path)
    case ENOTDIR: .notADirectory(path)
    // A full disk, a used-up quota, and RLIMIT_FSIZE (setrlimit(2)) have the same cure.
    case ENOSPC, EDQUOT, EFBIG: .diskFull(path)
    case EROFS: .readOnly(path)
    default: .failed(path, call: call, errno: number)
    }
  }
}
