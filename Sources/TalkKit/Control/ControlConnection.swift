import Glibc
import TalkStore

/// One client of the control socket, on the server's thread only.
struct ControlConnection {
  let id: ControlClientID
  let descriptor: Int32
  /// Bytes of lines that are not complete yet.
  private var input: [UInt8] = []
  /// Bytes that the client has not taken yet.
  private(set) var output: [UInt8] = []
  /// Requests that wait for an answer.
  var waiting = 0
  /// True once it asked anything of the node: only then does the node hear of its end.
  var isKnown = false
  /// Which events it gets.
  var subscription = Subscription.none
  /// True once the client sends no more.
  private(set) var inputEnded = false
  /// True once the connection is of no more use.
  private(set) var isBroken = false

  enum Subscription {
    case none
    /// Asked for; the snapshot is on its way.
    case pending(levels: Bool)
    case events(levels: Bool)
  }

  init(id: ControlClientID, descriptor: Int32) {
    self.id = id
    self.descriptor = descriptor
  }

  /// True when more lines may be read.
  var mayRead: Bool { !inputEnded && waiting < ControlLimits.waitingRequests }

  /// True once nothing more can come of it.
  var isOver: Bool {
    if isBroken { return true }
    guard inputEnded, output.isEmpty, waiting == 0 else { return false }
    if case .none = subscription { return true }
    return false
  }

  /// Takes in what has come, at most a line's worth; then `nextLine` gives the whole lines.
  mutating func read() {
    var chunk = [UInt8](repeating: 0, count: 16 * 1_024)
    defer { SecretBytes.wipe(&chunk) }
    let got = unsafe chunk.withUnsafeMutableBytes { buffer in
      unsafe recv(descriptor, buffer.baseAddress!, buffer.count, Int32(MSG_DONTWAIT))
    }
    if got > 0 {
      input.append(contentsOf: chunk[..<got])
    } else if got == 0 {
      inputEnded = true
    } else if errno != EAGAIN, errno != EINTR {
      isBroken = true
    }
  }

  /// The next whole line, without its end; a last line needs none. Nil when there is none.
  mutating func nextLine() -> [UInt8]? {
    guard let end = input.firstIndex(of: UInt8(ascii: "\n")) else {
      guard inputEnded, !input.isEmpty else { return nil }
      defer { wipeInput(through: input.count) }
      return input
    }
    defer { wipeInput(through: end + 1) }
    return Array(input[..<end])
  }

  /// True when a line grew beyond the limit before its end came.
  var lineIsTooLong: Bool { input.count > ControlLimits.lineSize }

  /// Drops input that has been used; it may have held an invite.
  private mutating func wipeInput(through end: Int) {
    var rest = Array(input[end...])
    SecretBytes.wipe(&input)
    swap(&input, &rest)
  }

  /// Queues a line; a client that leaves too much unread is broken.
  mutating func send(_ line: [UInt8]) {
    guard !isBroken else { return }
    guard output.count + line.count < ControlLimits.unreadSize else {
      isBroken = true
      return
    }
    output.append(contentsOf: line)
    output.append(UInt8(ascii: "\n"))
  }

  /// Hands over as much of the output as the client takes now.
  mutating func flush() {
    guard !output.isEmpty, !isBroken else { return }
    let put = unsafe output.withUnsafeBytes { buffer in
      unsafe Glibc.send(
        descriptor, buffer.baseAddress!, buffer.count,
        Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
    }
    if put == output.count {
      SecretBytes.wipe(&output)
      output.removeAll(keepingCapacity: true)
    } else if put > 0 {
      output.removeFirst(put)
    } else if errno != EAGAIN, errno != EINTR {
      isBroken = true
    }
  }

  /// The client hung up: it takes nothing more, though lines of it may be left to read.
  mutating func hangUp() {
    if inputEnded || !mayRead { isBroken = true }
  }

  /// Ends the connection, whatever waits.
  mutating func breakOff() { isBroken = true }
}
