import Glibc

/// The address of a socket in the file system (unix(7)).
struct UnixAddress {
  /// The most bytes of a path: sun_path holds 108 with the NUL.
  static let pathLimit = 107

  private var address = sockaddr_un()

  /// The address of `path`; throws when it is too long, as bind(2) would cut it silently.
  init(_ path: String) throws(ControlError) {
    let bytes = Array(path.utf8)
    guard bytes.count <= Self.pathLimit, !bytes.contains(0) else { throw .pathTooLong(path) }
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
  }

  /// Calls `body` with the address as bind(2) and connect(2) want it.
  func withPointer(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    unsafe withUnsafePointer(to: address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        unsafe body(generic, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  /// A stream socket that is closed on exec.
  static func makeSocket(path: String) throws(ControlError) -> Int32 {
    let number = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { throw .failed(path, call: "socket", errno: errno) }
    return number
  }

  /// Makes calls on a descriptor return instead of waiting.
  static func makeNonBlocking(_ number: Int32) {
    _ = fcntl(number, F_SETFL, fcntl(number, F_GETFL) | O_NONBLOCK)
  }
}

/// What the C library says of an error number.
enum SystemText {
  /// strerror_r(3) of `number`, in plain words.
  static func of(_ number: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 128)
    unsafe buffer.withUnsafeMutableBufferPointer { target in
      _ = unsafe strerror_r(number, target.baseAddress!, target.count)
    }
    let bytes = buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
    return bytes.isEmpty ? "error \(number)" : String(decoding: bytes, as: UTF8.self)
  }
}
