import TalkCore
package import TalkCrypto
package import TalkWire

/// The keys of one session, with the counters of both directions: seals and opens DATA in place.
///
/// Nothing here allocates.
package struct TransportKeys {
  /// No counter reaches this: the session must have been replaced long before (session.md).
  package static let counterLimit: UInt64 = 1 << 48

  private let sending: Secret
  private let receiving: Secret
  private let remoteIndex: UInt32
  /// The counter of the next datagram that we seal.
  package internal(set) var nextCounter: UInt64 = 0
  private var window = ReplayWindow()

  /// Takes the keys of a finished handshake, and the index by which the peer knows the session.
  package init(sending: Secret, receiving: Secret, remoteIndex: UInt32) {
    self.sending = sending
    self.receiving = receiving
    self.remoteIndex = remoteIndex
  }

  /// The highest counter that the peer has proved to have used.
  package var highestReceived: UInt64 { window.highest }

  /// Seals in place: `datagram` is 16 bytes for the header, the plaintext, 16 bytes for the tag.
  /// False when the key has been used as often as it may.
  package mutating func seal(_ datagram: UnsafeMutableRawBufferPointer) -> Bool {
    guard nextCounter < Self.counterLimit else { return false }
    precondition(datagram.count >= DataDatagram.overhead, "DATA without room for a header")
    var writer = unsafe ByteWriter(datagram.mutableBytes)
    DataDatagram(receiver: remoteIndex, counter: nextCounter).write(to: &writer)
    let text = unsafe UnsafeMutableRawBufferPointer(rebasing: datagram[Datagrams.headerSize...])
    let header = unsafe UnsafeRawBufferPointer(rebasing: datagram[..<Datagrams.headerSize])
    let counter = nextCounter
    unsafe sending.withPointer { key in
      unsafe AEAD.seal(
        text, count: text.count - AEAD.tagSize, header: header, counter: counter, key: key)
    }
    nextCounter += 1
    return true
  }

  /// What became of a datagram that was to be opened.
  package enum Opened: Sendable {
    /// The plaintext is in place behind the header; `newest` when no later counter was seen.
    case plaintext(newest: Bool)
    /// The counter was seen before, is too old, or beyond what the key may be used for.
    case replayed
    /// The tag is wrong.
    case forged
  }

  /// Opens in place a datagram whose header was read as `header`.
  package mutating func open(
    _ datagram: UnsafeMutableRawBufferPointer, header: DataDatagram
  ) -> Opened {
    guard header.counter < Self.counterLimit, window.permits(header.counter) else {
      return .replayed
    }
    let text = unsafe UnsafeMutableRawBufferPointer(rebasing: datagram[Datagrams.headerSize...])
    let additional = unsafe UnsafeRawBufferPointer(rebasing: datagram[..<Datagrams.headerSize])
    let opened = unsafe receiving.withPointer { key in
      unsafe AEAD.open(text, header: additional, counter: header.counter, key: key)
    }
    guard opened else { return .forged }
    return .plaintext(newest: window.commit(header.counter))
  }
}
