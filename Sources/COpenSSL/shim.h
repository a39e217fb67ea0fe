// TLS and signatures of OpenSSL 3. What OpenSSL defines as macros is a function here, so that Swift
// can call it.
#ifndef TALKAROUND_COPENSSL_H
#define TALKAROUND_COPENSSL_H
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/// SSL_CTX_set_min_proto_version(3); 1 on success.
static inline int talk_ssl_ctx_minimum(SSL_CTX *context, int version) {
  return (int)SSL_CTX_set_min_proto_version(context, version);
}

/// SSL_CTX_set_mode(3): partial writes, and a buffer that may have moved when a write is repeated.
static inline void talk_ssl_ctx_write_modes(SSL_CTX *context) {
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
}

/// SSL_set_tlsext_host_name(3): the name in the ClientHello; 1 on success.
static inline int talk_ssl_server_name(SSL *ssl, const char *name) {
  return (int)SSL_set_tlsext_host_name(ssl, name);
}

/// 1 when the key is an elliptic-curve key on P-256, the only one that ES256 takes.
static inline int talk_is_p256(EVP_PKEY *key) {
  char name[32];
  size_t count = 0;
  if (EVP_PKEY_get_base_id(key) != EVP_PKEY_EC) return 0;
  if (EVP_PKEY_get_group_name(key, name, sizeof name, &count) != 1) return 0;
  return OBJ_sn2nid(name) == NID_X9_62_prime256v1;
}
#endif
