package import TalkCore
package import TalkCrypto
package import TalkWire

/// Why a HELLO is not listened to; each is dropped and counted, and answered with nothing.
package enum HelloDrop: Error, Equatable, Sendable {
  /// Not the length, type, version or zeros of a HELLO: noise, or a later version.
  case notHello
  /// Of no channel of ours: most often another group on the same network.
  case foreign
  /// The tag is one of ours but the seal is not: somebody copies tags.
  case forged
  /// A member sealed something that is no body: its program is broken, or later than ours.
  case malformed
}

/// Seals and opens HELLO datagrams (session.md, "Datagrams"; layout in `HelloDatagram`).
package enum Hello {
  /// Seals one HELLO: 256 bytes. Nil when the entropy pool has not the 24 bytes of a nonce.
  ///
  /// Seal each copy (one per link and group) with its own, rising counter: a receiver drops a
  /// counter that it has seen.
  package static func seal(
    _ body: HelloBody, keys: ChannelKeys, entropy: inout EntropyPool
  ) -> [UInt8]? {
    guard let nonce = entropy.draw(HelloDatagram.nonceSize) else { return nil }
    var head = [UInt8](repeating: 0, count: HelloDatagram.headerSize)
    head[0] = HelloDatagram.type
    head[1] = HelloDatagram.version
    head += nonce
    head += bigEndian(keys.tag(of: nonce))
    var text = [UInt8](repeating: 0, count: HelloBody.size)
    var span = text.mutableSpan
    var writer = ByteWriter(unsafe span.mutableBytes)
    body.write(to: &writer)
    return head
      + keys.hello.withBytes { AEAD.sealX(text, header: head, nonce: nonce, key: $0) }
  }

  /// Opens a datagram that may be a HELLO of any of `channels`.
  package static func open(
    _ datagram: RawSpan, channels: [(channel: ChannelID, keys: ChannelKeys)]
  ) throws(HelloDrop) -> (channel: ChannelID, body: HelloBody) {
    guard datagram.byteCount == HelloDatagram.size else { throw .notHello }
    var reader = ByteReader(datagram)
    guard reader.u8() == HelloDatagram.type, reader.u8() == HelloDatagram.version,
      reader.zeros(HelloDatagram.headerSize - 2),
      let nonce = reader.bytes(HelloDatagram.nonceSize), let tag = reader.u64()
    else { throw .notHello }
    let mine = channels.first { $0.keys.tag(of: nonce).byteSwapped == tag }
    guard let mine else { throw .foreign }
    var whole = ByteReader(datagram)
    guard let head = whole.bytes(HelloDatagram.sealedOffset),
      let sealed = whole.bytes(whole.remaining),
      let text = mine.keys.hello.withBytes({
        AEAD.openX(sealed, header: head, nonce: nonce, key: $0)
      })
    else { throw .forged }
    guard let body = unsafe HelloBody(reading: text.span.bytes) else { throw .malformed }
    return (mine.channel, body)
  }

  static func bigEndian(_ value: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: value >> UInt64(56 - 8 * $0)) }
  }
}

/// Which HELLOs of a channel are new: the highest counter of each boot instance heard lately.
///
/// Drive it so: ask `isNew` once for each HELLO that opened, before acting on it.
package struct HelloWindow: Sendable {
  /// The most boot instances that are remembered; the one heard longest ago makes room.
  package static let bootLimit = 256

  private struct Seen {
    var counter: UInt64
    var at: Instant
  }

  private var boots = OrderedTable<UInt64, Seen>(limit: bootLimit)

  /// A window that has seen nothing.
  package init() {}

  /// Whether a HELLO is newer than all seen of its boot instance; notes it if so.
  package mutating func isNew(_ body: HelloBody, now: Instant) -> Bool {
    if let index = boots.index(of: body.bootInstance) {
      guard body.counter > boots[at: index].counter else { return false }
      boots[at: index] = Seen(counter: body.counter, at: now)
      return true
    }
    if boots.isFull, let oldest = boots.indices.min(by: { boots[at: $0].at < boots[at: $1].at }) {
      boots[boots.entry(at: oldest).key] = nil
    }
    boots[body.bootInstance] = Seen(counter: body.counter, at: now)
    return true
  }
}
