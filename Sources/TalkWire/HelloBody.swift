package import TalkCore

/// The layout of a HELLO datagram: "I am here", for members of one channel only (session.md).
///
/// type 5, version 1, zero 14 ‖ nonce 24 ‖ tag 8 ‖ XChaCha20-Poly1305(body 192) with its 16-byte
/// tag. The first 48 bytes are the additional data. Always 256 bytes, so its length tells nothing.
package enum HelloDatagram {
  /// The type byte.
  package static let type: UInt8 = 0x05
  /// The version byte.
  package static let version: UInt8 = 1
  /// Bytes of type, version and zeros.
  package static let headerSize = 16
  /// Bytes of the nonce, which follows the header.
  package static let nonceSize = 24
  /// Bytes of the tag that members recognise, which follows the nonce.
  package static let tagSize = 8
  /// Where the ciphertext starts, and the length of the additional data.
  package static let sealedOffset = headerSize + nonceSize + tagSize
  /// The whole datagram.
  package static let size = sealedOffset + HelloBody.size + 16
}

/// One member that the sender of a HELLO has an authenticated session with, and where.
///
/// It is hearsay: believed only after a handshake of our own.
package struct PeerExchangeEntry: Equatable, Sendable {
  /// Bytes on the wire: PeerID 16, address 16, port 2, age 2.
  package static let size = 36

  /// Who is said to be there.
  package var peer: PeerID
  /// Where; never a link-local address, which means nothing on another link.
  package var endpoint: Endpoint
  /// Seconds since the sender last heard the member; saturates at 65,535.
  package var age: UInt16

  /// Makes an entry of its parts.
  package init(peer: PeerID, endpoint: Endpoint, age: UInt16) {
    self.peer = peer
    self.endpoint = endpoint
    self.age = age
  }
}

/// What a HELLO says once it is opened.
///
/// | field | bytes |
/// |---|---|
/// | boot instance | 8 |
/// | counter of this boot | 8 |
/// | UDP port | 2 |
/// | number of peer-exchange entries, 0 to 4 | 1 |
/// | entries: PeerID 16, address 16, port 2, age 2 | 36 each |
/// | zero | to 192 |
package struct HelloBody: Equatable, Sendable {
  /// Bytes on the wire.
  package static let size = 192
  /// The most peer-exchange entries in one HELLO.
  package static let entryLimit = 4

  /// A random number that the sender drew when it started.
  package var bootInstance: UInt64
  /// Rises with each HELLO of that boot.
  package var counter: UInt64
  /// The port that the sender takes datagrams on; the address is the datagram's source.
  package var port: UInt16
  /// Members that the sender has sessions with; at most `entryLimit`.
  package var entries: [PeerExchangeEntry]

  /// Makes a body; entries beyond `entryLimit` are left out.
  package init(
    bootInstance: UInt64, counter: UInt64, port: UInt16, entries: [PeerExchangeEntry] = []
  ) {
    self.bootInstance = bootInstance
    self.counter = counter
    self.port = port
    self.entries = Array(entries.prefix(Self.entryLimit))
  }

  /// Reads a body; nil when the length, the port, the number of entries or the padding is wrong.
  package init?(reading span: RawSpan) {
    guard span.byteCount == Self.size else { return nil }
    var reader = ByteReader(span)
    guard let bootInstance = reader.u64(), let counter = reader.u64(), let port = reader.u16(),
      port != 0, let count = reader.u8(), count <= Self.entryLimit
    else { return nil }
    self.init(bootInstance: bootInstance, counter: counter, port: port)
    for _ in 0..<count {
      guard let peer = reader.bytes16(), let address = reader.bytes16(),
        let port = reader.u16(), let age = reader.u16()
      else { return nil }
      let endpoint = Endpoint(address: address, port: port)
      entries.append(PeerExchangeEntry(peer: PeerID(peer), endpoint: endpoint, age: age))
    }
    guard reader.zeros(reader.remaining) else { return nil }
  }

  /// Appends the `size` bytes of the body.
  package func write(to writer: inout ByteWriter) {
    writer.u64(bootInstance)
    writer.u64(counter)
    writer.u16(port)
    writer.u8(UInt8(entries.count))
    for entry in entries {
      writer.bytes16(entry.peer.value)
      writer.bytes16(entry.endpoint.address)
      writer.u16(entry.endpoint.port)
      writer.u16(entry.age)
    }
    let fixed = 19 + entries.count * PeerExchangeEntry.size
    writer.zeros(Self.size - fixed)
  }
}
