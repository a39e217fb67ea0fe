import COpenSSL
import Foundation

/// A P-256 key that signs provider tokens (ES256, RFC 7518 section 3.4), by libcrypto.
@safe final class SigningKey {
  private let key: OpaquePointer
  private let keyID: String
  private let teamID: String

  /// Reads Apple's .p8 file: PKCS #8 in PEM.
  init(file: String, keyID: String, teamID: String) throws(ProviderError) {
    let data: Data
    do { data = try Data(contentsOf: URL(fileURLWithPath: file)) } catch {
      throw .unreadable(file: file, code: errno)
    }
    guard data.count <= 65_536, let key = unsafe Self.read(Array(data)) else {
      throw .badKey(file: file)
    }
    guard unsafe talk_is_p256(key) == 1 else {
      unsafe EVP_PKEY_free(key)
      throw .badKey(file: file)
    }
    unsafe self.key = key
    (self.keyID, self.teamID) = (keyID, teamID)
  }

  deinit { unsafe EVP_PKEY_free(key) }

  private static func read(_ bytes: [UInt8]) -> OpaquePointer? {
    defer { ERR_clear_error() }
    guard let bio = unsafe BIO_new_mem_buf(bytes, Int32(bytes.count)) else { return nil }
    defer { unsafe BIO_free(bio) }
    // An encrypted key is none of Apple's; without this, OpenSSL would ask at the terminal.
    return unsafe PEM_read_bio_PrivateKey(bio, nil, { _, _, _, _ in -1 }, nil)
  }

  /// What the store knows this key by.
  var name: String { "\(teamID).\(keyID)" }

  /// A JWT issued at `unix` seconds; nil when libcrypto fails, for want of memory.
  func token(issuedAt unix: UInt64) -> String? {
    let header = Self.base64(Array(#"{"alg":"ES256","kid":"\#(keyID)"}"#.utf8))
    let claims = Self.base64(Array(#"{"iss":"\#(teamID)","iat":\#(unix)}"#.utf8))
    let text = "\(header).\(claims)"
    guard let signature = sign(Array(text.utf8)) else { return nil }
    return "\(text).\(Self.base64(signature))"
  }

  /// Base64 for URLs, without padding (RFC 7515, appendix C).
  private static func base64(_ bytes: [UInt8]) -> String {
    String(
      Data(bytes).base64EncodedString().compactMap { character -> Character? in
        switch character {
        case "+": "-"
        case "/": "_"
        case "=": nil
        default: character
        }
      })
  }

  /// The 64 bytes r and s: JWT wants those, not the ASN.1 that libcrypto makes.
  private func sign(_ text: [UInt8]) -> [UInt8]? {
    defer { ERR_clear_error() }
    guard let context = unsafe EVP_MD_CTX_new() else { return nil }
    defer { unsafe EVP_MD_CTX_free(context) }
    var encoded = [UInt8](repeating: 0, count: 128)
    var count = encoded.count
    guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
      unsafe EVP_DigestSign(context, &encoded, &count, text, text.count) == 1
    else { return nil }
    guard let parsed = unsafe Self.parse(encoded, count) else { return nil }
    defer { unsafe ECDSA_SIG_free(parsed) }
    var result = [UInt8](repeating: 0, count: 64)
    let written = unsafe result.withUnsafeMutableBufferPointer { buffer in
      unsafe BN_bn2binpad(ECDSA_SIG_get0_r(parsed), buffer.baseAddress, 32)
        + BN_bn2binpad(ECDSA_SIG_get0_s(parsed), buffer.baseAddress! + 32, 32)
    }
    return written == 64 ? result : nil
  }

  private static func parse(_ encoded: [UInt8], _ count: Int) -> OpaquePointer? {
    unsafe encoded.withUnsafeBufferPointer { buffer in
      var position = buffer.baseAddress
      return unsafe d2i_ECDSA_SIG(nil, &position, count)
    }
  }
}
