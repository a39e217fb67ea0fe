import CSodium

/// What can be wrong with cryptography before any message is handled.
package enum CryptoError: Error, Hashable, Sendable {
  /// libsodium could not start; the installation or the kernel's entropy is broken.
  case unavailable
}

/// The library's start.
package enum Crypto {
  /// Prepares libsodium; call once before anything else here, again is harmless (sodium_init(3)).
  package static func start() throws(CryptoError) {
    guard sodium_init() >= 0 else { throw .unavailable }
  }
}
