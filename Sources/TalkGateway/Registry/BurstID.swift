package import TalkCore
import TalkCrypto
package import TalkWire

/// Which burst, the same on every gateway that hears it, and for the phone's eyes too: it names
/// nobody.
package struct BurstID: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The sixteen bytes.
  package var value: Bytes16

  /// Takes an id as it was kept or sent.
  package init(_ value: Bytes16) { self.value = value }

  /// BLAKE2b-128("talkaround burst v1" ‖ channel ‖ turn 6 ‖ holder ‖ seat 2).
  package init(of token: TokenID, on channel: ChannelID) {
    var hash = Blake2b(size: 16)
    hash.update("talkaround burst v1")
    hash.update(channel.value)
    hash.update(token.turn, width: 6)
    hash.update(token.holder.value)
    hash.update(UInt64(token.seat), width: 2)
    value = hash.finalize16()
  }

  /// No burst: what a phone says that has heard none.
  package static let none = BurstID(.zero)

  /// Orders by the bytes, the first one first.
  package static func < (left: BurstID, right: BurstID) -> Bool { left.value < right.value }

  /// Thirty-two hex digits.
  package var description: String { value.hex }
}
