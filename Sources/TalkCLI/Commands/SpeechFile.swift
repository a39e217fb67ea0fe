import Glibc

/// A sound file under a path that the node can open: the file's own, or, for standard input, one
/// that exists only as long as this process.
struct SpeechFile {
  /// The most bytes that are taken from standard input: five minutes of 48 kHz stereo.
  static let sizeLimit = 64 << 20

  /// An absolute path.
  let path: String
  private let descriptor: Int32?

  /// Finds the file `name`, or takes in standard input for `-`.
  init(_ name: String, _ context: Context) throws(CommandError) {
    if name == "-" {
      let number = try Self.spool(context.input)
      descriptor = number
      path = "/proc/\(getpid())/fd/\(number)"
      return
    }
    guard let real = unsafe realpath(name, nil) else {
      throw .usage("\(name): \(unsafe String(cString: strerror(errno))); name a sound file")
    }
    defer { unsafe free(real) }
    path = unsafe String(cString: real)
    descriptor = nil
    guard unsafe access(path, R_OK) == 0 else {
      throw CommandError(
        message: "\(name): cannot be read; check its mode", exitCode: ExitCode.noPermission)
    }
  }

  /// Lets go of the file.
  func end() {
    if let descriptor { close(descriptor) }
  }

  /// Copies `input` into a file without a name; a WAV's length stands at its start, so the node
  /// reads a file rather than a pipe.
  private static func spool(_ input: Int32) throws(CommandError) -> Int32 {
    var template = Array("/tmp/talkaround-XXXXXX".utf8CString)
    let number = unsafe mkstemp(&template)
    guard number >= 0 else {
      throw .usage("/tmp: \(unsafe String(cString: strerror(errno))); free some space")
    }
    unsafe unlink(template)
    var chunk = [UInt8](repeating: 0, count: 64 * 1_024)
    var total = 0
    while true {
      let got = unsafe chunk.withUnsafeMutableBytes { buffer in
        unsafe read(input, buffer.baseAddress!, buffer.count)
      }
      if got < 0, errno == EINTR { continue }
      guard got > 0 else { break }
      total += got
      guard total <= sizeLimit else {
        throw .usage("standard input: more than \(sizeLimit >> 20) MiB; speak a shorter file")
      }
      guard Context.write(Array(chunk[..<got]), to: number) else {
        throw .usage("/tmp: the disk is full; free some space")
      }
    }
    guard total > 0 else { throw .usage("standard input: empty; pipe a WAV file in") }
    return number
  }
}
