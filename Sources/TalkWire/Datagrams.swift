package import TalkCore

/// What a datagram is, by its first byte (session.md, "Datagrams"). A number is never used again
/// for something else. 0x20 and 0x21 are a phone's ATTACH and its answer (TalkGateway).
package enum DatagramType: UInt8, Sendable {
  /// The first Noise message, from the initiator.
  case initiation = 1
  /// The second Noise message, from the responder.
  case response = 2
  /// The third Noise message, from the initiator.
  case final = 3
  /// Kept for cookie replies.
  case cookie = 4
  /// A sealed HELLO to everybody on a link.
  case hello = 5
  /// Sealed content between two nodes.
  case data = 0x10
  /// Kept for multicast bursts.
  case multicastBurst = 0x11

  /// The type of a whole datagram, decided by its first byte, version and size alone; nil for
  /// whatever this version doesn't know.
  package init?(of datagram: RawSpan) {
    guard datagram.byteCount >= Datagrams.headerSize,
      let type = DatagramType(
        rawValue: unsafe datagram.unsafeLoad(fromByteOffset: 0, as: UInt8.self)),
      unsafe datagram.unsafeLoad(fromByteOffset: 1, as: UInt8.self) == Datagrams.version,
      type.sizes.contains(datagram.byteCount)
    else { return nil }
    self = type
  }

  /// The sizes that a datagram of this type can have, in bytes.
  package var sizes: ClosedRange<Int> {
    switch self {
    case .initiation, .response, .final: HandshakeDatagram.size...HandshakeDatagram.size
    case .cookie: Datagrams.cookieSize...Datagrams.cookieSize
    case .hello: HelloDatagram.size...HelloDatagram.size
    case .data: DataDatagram.leastSize...Datagrams.limit
    case .multicastBurst: Datagrams.headerSize + 16 + 64...Datagrams.limit
    }
  }
}

/// What all datagrams have in common.
package enum Datagrams {
  /// The version that this program speaks; byte 1 of every datagram.
  package static let version: UInt8 = 1
  /// The most bytes of a datagram: it passes every network without being cut.
  package static let limit = 1_200
  /// Bytes of the header of every type.
  package static let headerSize = 16
  /// Bytes of a COOKIE.
  package static let cookieSize = 72
}

/// INIT, RESP and FINAL: type, version, zero 2, sender index 4, receiver index 4, zero 4, Noise
/// message 144, mac1 16, mac2 16. All three have one size, so an answer is never larger than what
/// it answers.
package struct HandshakeDatagram: Hashable, Sendable {
  /// Bytes of the whole datagram.
  package static let size = 192
  /// Where the Noise message is.
  package static let message = 16..<160
  /// What mac1 covers.
  package static let macCovered = 0..<160
  /// Where mac1 is.
  package static let mac1 = 160..<176
  /// Where mac2 is: kept for cookies, and zero as long as nobody hands them out.
  package static let mac2 = 176..<192

  /// Which of the three.
  package var type: DatagramType
  /// The sender's session index, not zero.
  package var sender: UInt32
  /// The receiver's session index: zero in INIT, else not.
  package var receiver: UInt32

  /// Makes a header.
  package init(type: DatagramType, sender: UInt32, receiver: UInt32) {
    self.type = type
    self.sender = sender
    self.receiver = receiver
  }

  /// The size to which the payload of a type's Noise message is padded with zeros, so that the
  /// message has 144 bytes: 32 for each public key, 16 for each tag.
  package static func payloadSize(_ type: DatagramType) -> Int {
    switch type {
    case .initiation: 96
    case .response: 48
    default: 80
    }
  }

  /// Reads the header of a whole datagram; nil when size, type, version, a zero byte, mac2 or an
  /// index is not as it must be.
  package init?(_ datagram: RawSpan) {
    guard let type = DatagramType(of: datagram) else { return nil }
    var reader = ByteReader(datagram)
    _ = reader.u16()
    guard reader.zeros(2), let sender = reader.u32(), let receiver = reader.u32(),
      reader.zeros(4), sender != 0
    else { return nil }
    switch type {
    case .initiation: guard receiver == 0 else { return nil }
    case .response, .final: guard receiver != 0 else { return nil }
    default: return nil
    }
    _ = reader.range(Self.mac1.upperBound - reader.offset)
    guard reader.zeros(Self.mac2.count) else { return nil }
    self.init(type: type, sender: sender, receiver: receiver)
  }

  /// Appends the 16 bytes of the header.
  package func write(to writer: inout ByteWriter) {
    writer.u8(type.rawValue)
    writer.u8(Datagrams.version)
    writer.zeros(2)
    writer.u32(sender)
    writer.u32(receiver)
    writer.zeros(4)
  }
}

/// DATA: type, version, zero 2, receiver index 4, counter 8, then ciphertext and tag 16. The header
/// is the additional data of the seal, the counter its nonce.
package struct DataDatagram: Hashable, Sendable {
  /// Bytes that DATA adds to a plaintext.
  package static let overhead = 32
  /// The least size: an empty body.
  package static let leastSize = overhead + Plaintext.headerSize
  /// The most bytes of a plaintext, its header included.
  package static let plaintextLimit = Datagrams.limit - overhead

  /// The receiver's session index.
  package var receiver: UInt32
  /// The number of this datagram under its key, from 0.
  package var counter: UInt64

  /// Makes a header.
  package init(receiver: UInt32, counter: UInt64) {
    self.receiver = receiver
    self.counter = counter
  }

  /// Reads the header of a whole datagram; nil when size, type, version or a zero byte is not as it
  /// must be.
  package init?(_ datagram: RawSpan) {
    guard DatagramType(of: datagram) == .data,
      unsafe datagram.unsafeLoadUnaligned(fromByteOffset: 2, as: UInt16.self) == 0
    else { return nil }
    receiver = UInt32(
      littleEndian: unsafe datagram.unsafeLoadUnaligned(fromByteOffset: 4, as: UInt32.self))
    counter = UInt64(
      littleEndian: unsafe datagram.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt64.self))
  }

  /// Appends the 16 bytes of the header.
  package func write(to writer: inout ByteWriter) {
    writer.u8(DatagramType.data.rawValue)
    writer.u8(Datagrams.version)
    writer.zeros(2)
    writer.u32(receiver)
    writer.u64(counter)
  }
}
