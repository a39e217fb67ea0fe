import COpenSSL
import Glibc

/// What all TLS connections of the provider share: authorities, our certificate, versions.
@safe final class TLSContext {
  private let context: OpaquePointer

  /// TLS 1.2 or newer; the system's authorities, or those of a PEM file; our certificate, if any.
  init(_ configuration: ProviderConfiguration) throws(ProviderError) {
    guard let context = unsafe SSL_CTX_new(TLS_client_method()) else {
      throw .system("no memory for TLS")
    }
    unsafe self.context = context
    guard unsafe talk_ssl_ctx_minimum(context, TLS1_2_VERSION) == 1 else {
      throw .system("this OpenSSL has no TLS 1.2")
    }
    unsafe talk_ssl_ctx_write_modes(context)
    unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    if let file = configuration.authorities {
      try Self.mustRead(file)
      guard unsafe SSL_CTX_load_verify_locations(context, file, nil) == 1 else {
        throw .badCertificate(file: file, why: TLSFault.reason())
      }
    } else if unsafe SSL_CTX_set_default_verify_paths(context) != 1 {
      throw .system("no certificate authorities: install ca-certificates")
    }
    guard case .certificate(let file, let keyFile) = configuration.credential else { return }
    try Self.mustRead(file)
    try Self.mustRead(keyFile)
    // An encrypted key must not make OpenSSL ask at the terminal.
    unsafe SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in -1 }
    guard unsafe SSL_CTX_use_certificate_chain_file(context, file) == 1 else {
      throw .badCertificate(file: file, why: TLSFault.reason())
    }
    guard unsafe SSL_CTX_use_PrivateKey_file(context, keyFile, SSL_FILETYPE_PEM) == 1,
      unsafe SSL_CTX_check_private_key(context) == 1
    else { throw .badCertificate(file: keyFile, why: TLSFault.reason()) }
  }

  deinit { unsafe SSL_CTX_free(context) }

  private static func mustRead(_ file: String) throws(ProviderError) {
    guard unsafe access(file, R_OK) == 0 else { throw .unreadable(file: file, code: errno) }
  }

  /// A client on a connected socket, which wants the host's certificate and ALPN h2.
  func client(host: String, socket: Int32) -> OpaquePointer? {
    guard let ssl = unsafe SSL_new(context) else { return nil }
    let isAddress = host.contains(":") || host.allSatisfy { $0.isNumber || $0 == "." }
    let alpn: [UInt8] = [2, UInt8(ascii: "h"), UInt8(ascii: "2")]
    let named =
      isAddress
      ? unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host)
      : unsafe talk_ssl_server_name(ssl, host) & SSL_set1_host(ssl, host)
    guard named == 1, unsafe SSL_set_alpn_protos(ssl, alpn, UInt32(alpn.count)) == 0,
      unsafe SSL_set_fd(ssl, socket) == 1
    else {
      unsafe SSL_free(ssl)
      return nil
    }
    unsafe SSL_set_connect_state(ssl)
    return unsafe ssl
  }
}

/// What OpenSSL says about its last failure.
enum TLSFault {
  /// OpenSSL's words for the last error of this thread, which is then forgotten.
  static func reason() -> String {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0, let text = unsafe ERR_reason_error_string(code) else { return "no reason" }
    return unsafe String(cString: text)
  }
}
