import Glibc

/// Takes an invite from a prompt, a pipe or a file: never from an argument.
enum InviteInput {
  /// What every invite begins with, in either case.
  static let prefix = "talk1"
  /// The most bytes that are read: an invite has some 200.
  static let sizeLimit = 4_096

  /// True when `text` holds the start of an invite and enough base32 digits behind it that it is no
  /// word or file name.
  static func looksLikeInvite(_ text: String) -> Bool {
    let lower = Array(text.lowercased().utf8)
    let mark = Array(prefix.utf8)
    guard lower.count >= mark.count + 32 else { return false }
    for start in 0...(lower.count - mark.count) where lower[start...].starts(with: mark) {
      let digits = lower[(start + mark.count)...].prefix { isDigit($0) }
      if digits.count >= 32 { return true }
    }
    return false
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
      || (UInt8(ascii: "2")...UInt8(ascii: "7")).contains(byte)
  }

  /// The invite in `bytes`: the first word that begins as one.
  static func find(in bytes: [UInt8], source: String) throws(CommandError) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    let word = text.split(whereSeparator: \.isWhitespace).first {
      $0.lowercased().hasPrefix(prefix)
    }
    guard let word else {
      throw .usage("\(source): no invite in it; an invite begins with \(prefix)")
    }
    return String(word)
  }

  /// The invite in what a person pasted, which a terminal may have broken into lines.
  static func joined(_ text: String) -> String? {
    let letters = text.filter { !$0.isWhitespace }
    return letters.lowercased().hasPrefix(prefix) ? letters : nil
  }

  /// Reads an invite from the file at `path`.
  static func read(file path: String) throws(CommandError) -> String {
    let number = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else {
      let why = unsafe String(cString: strerror(errno))
      throw .usage("\(path): \(why); name a file that holds an invite")
    }
    defer { close(number) }
    return try read(descriptor: number, source: path)
  }

  /// Reads an invite from a pipe or an open file, to its end.
  static func read(descriptor: Int32, source: String) throws(CommandError) -> String {
    var bytes = readAll(descriptor, limit: sizeLimit) { _ in false }
    defer { wipe(&bytes) }
    return try find(in: bytes, source: source)
  }

  /// Asks on the terminal, without an echo, and reads one line.
  static func prompt(_ context: Context) throws(CommandError) -> String {
    let terminal = TerminalMode(context.input, .noEcho)
    Context.write(Array("Invite (paste it; it does not show): ".utf8), to: context.error)
    var bytes = readAll(context.input, limit: sizeLimit) { $0.contains(UInt8(ascii: "\n")) }
    terminal.restore()
    context.tell("")
    defer { wipe(&bytes) }
    return try find(in: bytes, source: "the line")
  }

  private static func readAll(
    _ descriptor: Int32, limit: Int, until isDone: ([UInt8]) -> Bool
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(limit)
    var chunk = [UInt8](repeating: 0, count: 512)
    defer { wipe(&chunk) }
    while bytes.count < limit, !isDone(bytes) {
      let room = min(chunk.count, limit - bytes.count)
      let got = unsafe chunk.withUnsafeMutableBytes { buffer in
        unsafe Glibc.read(descriptor, buffer.baseAddress!, room)
      }
      if got < 0, errno == EINTR { continue }
      guard got > 0 else { break }
      bytes.append(contentsOf: chunk[..<got])
    }
    return bytes
  }

  private static func wipe(_ bytes: inout [UInt8]) {
    unsafe bytes.withUnsafeMutableBytes { buffer in
      if let base = buffer.baseAddress { unsafe explicit_bzero(base, buffer.count) }
    }
  }
}
