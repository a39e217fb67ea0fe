package import TalkCore
package import TalkCrypto
package import TalkSession

/// The two datagrams that open a phone's leg: ATTACH from the phone, ATTACHED from the gateway.
/// Everything later is DATA of the mesh, keyed by the index in its header, from whatever address.
///
/// ATTACH, always 1,200 bytes, so that its answers may be as large:
///
/// | bytes | field |
/// |---|---|
/// | 1, 1, 2 | type 0x20, version 1, zero |
/// | 4 | the phone's index, not zero: the receiver index of DATA to it |
/// | 8 | zero |
/// | 1,168 | Noise message 1: ephemeral 32, static 48, sealed `AttachBody` with zeros 1,072 + 16 |
/// | 16 | mac: BLAKE2b-128(gateway's X25519 key, "talkaround attach v1" ‖ all before) |
///
/// ATTACHED, at most 1,200 bytes:
///
/// | bytes | field |
/// |---|---|
/// | 1, 1, 2 | type 0x21, version 1, zero |
/// | 4, 4 | the phone's index, the gateway's |
/// | 4 | zero |
/// | … | Noise message 2: ephemeral 32, sealed `AttachedBody` |
///
/// **Why not the mesh's own handshake.** XXpsk3 hides both identities and takes one and a half
/// round trips before the first sealed byte; a phone that was just woken has the first words to
/// play. The phone got the gateway's key with its QR code, so `Noise_IK` lets it send its ticket
/// sealed in the first datagram, and the gateway answer with voice in the second. The interpreter
/// of patterns, the transport keys, the replay window and DATA are the mesh's own. What IK gives
/// up: a copy of ATTACH can be replayed, so the gateway sends to an address that has shown nothing
/// at most three times what it got, and a ticket is void once its successor was used.
package enum AttachDatagrams {
  /// First byte of ATTACH.
  package static let attach: UInt8 = 0x20
  /// First byte of ATTACHED.
  package static let attached: UInt8 = 0x21
  /// Bytes of ATTACH.
  package static let size = 1_200
  /// Bytes of the header of either.
  package static let headerSize = 16
  /// Where the Noise message of ATTACH is.
  package static let message = 16..<1_184
  /// Where the mac of ATTACH is.
  package static let mac = 1_184..<1_200
  /// Bytes of the payload of ATTACH.
  package static let attachPayload = 1_072
  /// The most bytes of the payload of ATTACHED.
  package static let attachedPayload = size - headerSize - 48
  /// The pattern: the gateway's key is known, the phone's is sent sealed.
  package static let pattern = NoisePattern(
    name: "IK", responderPre: [.s], messages: [[.e, .es, .s, .ss], [.e, .ee, .se]])
  /// What both sides must agree on besides.
  package static let prologue = Array("Talkaround phone/1".utf8)

  /// The mac of an ATTACH's first 1,184 bytes: a stranger who lacks the gateway's key gets nothing,
  /// and costs one hash.
  package static func mac(of bytes: [UInt8], gateway key: Key32) -> Bytes16 {
    var hash = Blake2b(size: 16, key: key.bytes)
    hash.update("talkaround attach v1")
    hash.update(Array(bytes[..<mac.lowerBound]))
    return hash.finalize16()
  }

  /// A whole ATTACH.
  package static func attach(index: UInt32, message: [UInt8], gateway key: Key32) -> [UInt8] {
    precondition(message.count == Self.message.count, "ATTACH with \(message.count) bytes")
    var bytes = [attach, 1, 0, 0] + number(index) + [UInt8](repeating: 0, count: 8) + message
    bytes += mac(of: bytes + [UInt8](repeating: 0, count: 16), gateway: key).bytes
    return bytes
  }

  /// The phone's index and the mac of an ATTACH; nil when it is none, or not for this gateway.
  package static func read(
    attach bytes: [UInt8], gateway key: Key32
  ) -> (index: UInt32, mac: Bytes16)? {
    guard bytes.count == size, bytes[0] == attach, bytes[1] == 1 else { return nil }
    var reader = unsafe ByteReader(bytes.span.bytes)
    _ = reader.u16()
    guard reader.zeros(2), let index = reader.u32(), reader.zeros(8), index != 0 else {
      return nil
    }
    let (found, expected) = (Bytes16(Array(bytes[mac])), mac(of: bytes, gateway: key))
    // In constant time.
    let difference = (expected.high ^ found.high) | (expected.low ^ found.low)
    return difference == 0 ? (index, found) : nil
  }

  /// A whole ATTACHED.
  package static func attached(phone: UInt32, gateway: UInt32, message: [UInt8]) -> [UInt8] {
    [attached, 1, 0, 0] + number(phone) + number(gateway) + [0, 0, 0, 0] + message
  }

  /// Both indices and the Noise message of an ATTACHED; nil when it is none.
  package static func read(
    attached bytes: [UInt8]
  ) -> (phone: UInt32, gateway: UInt32, message: [UInt8])? {
    guard (headerSize + 48...size).contains(bytes.count), bytes[0] == attached, bytes[1] == 1
    else { return nil }
    var reader = unsafe ByteReader(bytes.span.bytes)
    _ = reader.u16()
    guard reader.zeros(2), let phone = reader.u32(), let gateway = reader.u32(), reader.zeros(4),
      phone != 0, gateway != 0
    else { return nil }
    return (phone, gateway, Array(bytes[headerSize...]))
  }

  private static func number(_ value: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt32(8 * $0)) }
  }
}
