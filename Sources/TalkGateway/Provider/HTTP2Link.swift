import COpenSSL
import Glibc
import TalkCore
import TalkNet

import CNGHTTP2

/// What a link has to tell.
enum LinkEvent {
  /// TLS is up, and the server speaks HTTP/2.
  case opened
  /// SETTINGS allow so many streams.
  case allowed(Int)
  /// Bytes came.
  case heard
  /// A PING was answered.
  case pong
  /// GOAWAY, with Apple's reason. The streams that were not processed follow as `unprocessed`.
  case goaway(reason: String)
  /// A request was answered.
  case answered(LaneTicket, ProviderAnswer)
  /// A request was not processed.
  case unprocessed(LaneTicket)
  /// A stream was broken off.
  case broken(LaneTicket, code: UInt32)
  /// The connection is gone; nothing follows.
  case lost(reason: String)
}

/// One connection: a socket, TLS by OpenSSL and HTTP/2 by libnghttp2. It decides nothing.
///
/// How to drive it: poll `socket` for `pollEvents`; call `ready` when the poll says so, `flush`
/// after requests were put in, `tick` at times while it dials; then take `events`. All on one
/// thread, whose SIGPIPE is blocked: OpenSSL writes with write(2).
@safe final class HTTP2Link {
  enum State { case dialing, handshaking, up, gone }

  /// What has happened, in order; the owner takes it.
  var events: [LinkEvent] = []
  private(set) var state = State.dialing
  private(set) var socket: Int32 = -1
  private let host: HostAndPort
  private let tls: TLSContext
  private var endpoints: ArraySlice<Endpoint>
  private var dialedAt = Instant.zero
  private var ssl: OpaquePointer?
  private(set) var session: OpaquePointer?
  private var wantsWrite = false
  /// What libnghttp2 wants sent and TLS has not taken yet.
  private var output: [UInt8] = []
  private var outputSent = 0
  private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 16)
  /// Requests that are unanswered, by stream.
  var streams: [Int32: RequestStream] = [:]
  let writer: RequestWriter
  private static let record = 16_384

  /// A link that has not dialled yet.
  init(host: HostAndPort, endpoints: [Endpoint], tls: TLSContext, writer: RequestWriter) {
    (self.host, self.endpoints, self.tls) = (host, endpoints[...], tls)
    self.writer = writer
  }

  deinit {
    shut()
    unsafe input.deallocate()
  }

  /// What to poll for.
  var pollEvents: Int16 {
    switch state {
    case .dialing: Int16(POLLOUT)
    case .handshaking, .up: Int16(POLLIN) | (wantsWrite ? Int16(POLLOUT) : 0)
    case .gone: 0
    }
  }

  // MARK: dialling

  /// Connects to the next address of the host.
  func dial(at now: Instant) {
    closeSocket()
    guard let endpoint = endpoints.popFirst() else {
      return fail("cannot connect to \(host): \(lastFault)")
    }
    dialedAt = now
    let code = connectSocket(to: endpoint)
    if code != 0, code != EINPROGRESS {
      lastFault = unsafe String(cString: strerror(code))
      dial(at: now)
    }
  }
  private var lastFault = "it has no address"

  private func connectSocket(to endpoint: Endpoint) -> Int32 {
    let isIPv4 = endpoint.ipv4 != nil
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    socket = Glibc.socket(
      isIPv4 ? AF_INET : AF_INET6, kind | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { return errno }
    var one: Int32 = 1
    _ = unsafe setsockopt(
      socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    let result = unsafe SocketAddress.with(endpoint) { address, size in
      unsafe connect(socket, address, size)
    }
    return result == 0 ? 0 : errno
  }

  /// Tries the next address when one takes long.
  func tick(at now: Instant) {
    guard state == .dialing, now >= dialedAt + ProviderLimits.dialOneAddress else { return }
    guard !endpoints.isEmpty else { return }
    lastFault = "no answer within 2 s"
    dial(at: now)
  }

  private func connected(at now: Instant) {
    var code: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    _ = unsafe getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &size)
    guard code == 0 else {
      lastFault = unsafe String(cString: strerror(code))
      return dial(at: now)
    }
    guard let client = unsafe tls.client(host: host.host, socket: socket) else {
      return fail("no memory for TLS")
    }
    unsafe ssl = client
    state = .handshaking
    handshake()
  }

  private func handshake() {
    ERR_clear_error()
    let result = unsafe SSL_do_handshake(ssl)
    if result == 1 { return begin() }
    switch unsafe SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ: wantsWrite = false
    case SSL_ERROR_WANT_WRITE: wantsWrite = true
    default: fail("no TLS with \(host): \(handshakeFault())")
    }
  }

  private func handshakeFault() -> String {
    let verdict = unsafe SSL_get_verify_result(ssl)
    guard verdict != X509_V_OK else {
      let reason = TLSFault.reason()
      return reason == "no reason" ? "the server hung up" : reason
    }
    ERR_clear_error()
    let words = unsafe X509_verify_cert_error_string(Int(verdict))
    guard let words = unsafe words else { return "its certificate is not good" }
    return unsafe String(cString: words)
  }

  private func begin() {
    var name: UnsafePointer<UInt8>?
    var count: UInt32 = 0
    unsafe SSL_get0_alpn_selected(ssl, &name, &count)
    guard count == 2, let name = unsafe name, unsafe name[0] == UInt8(ascii: "h"),
      unsafe name[1] == UInt8(ascii: "2")
    else { return fail("\(host) speaks no HTTP/2") }
    guard let made = unsafe HTTP2Callbacks.session(of: self) else {
      return fail("no memory for HTTP/2")
    }
    unsafe session = made
    state = .up
    wantsWrite = false
    events.append(.opened)
    flush()
  }

  // MARK: traffic

  /// The poll says that something can be done.
  func ready(at now: Instant) {
    switch state {
    case .dialing: connected(at: now)
    case .handshaking: handshake()
    case .up:
      read()
      flush()
    case .gone: break
    }
  }

  /// Reads what there is, but lets others have a turn after 16 records. The buffer takes a whole
  /// record (RFC 8446, section 5.1), so TLS holds nothing back that no poll would tell of.
  private func read() {
    for _ in 0..<16 {
      ERR_clear_error()
      let count = unsafe SSL_read(ssl, input.baseAddress, Int32(input.count))
      guard count > 0 else { return readEnded(count) }
      events.append(.heard)
      let taken = unsafe nghttp2_session_mem_recv(
        session, input.baseAddress?.assumingMemoryBound(to: UInt8.self), Int(count))
      guard taken >= 0 else {
        return fail("\(host) broke HTTP/2: \(HTTP2Callbacks.words(taken))")
      }
      guard state == .up else { return }
    }
  }

  private func readEnded(_ count: Int32) {
    switch unsafe SSL_get_error(ssl, count) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: break
    case SSL_ERROR_ZERO_RETURN: fail("\(host) closed the connection")
    case SSL_ERROR_SSL: fail("TLS with \(host) broke: \(TLSFault.reason())")
    default: fail("the connection to \(host) broke")
    }
  }

  /// Writes what waits, as far as the socket takes it.
  func flush() {
    guard state == .up else { return }
    wantsWrite = false
    while fill() {
      ERR_clear_error()
      let count = unsafe output.withUnsafeBytes { bytes in
        unsafe SSL_write(
          ssl, bytes.baseAddress! + outputSent, Int32(output.count - outputSent))
      }
      guard count > 0 else { return writeEnded(count) }
      outputSent += Int(count)
    }
    if unsafe nghttp2_session_want_read(session) == 0,
      unsafe nghttp2_session_want_write(session) == 0
    {
      fail("\(host) ended HTTP/2")
    }
  }

  private func writeEnded(_ count: Int32) {
    switch unsafe SSL_get_error(ssl, count) {
    case SSL_ERROR_WANT_WRITE: wantsWrite = true
    case SSL_ERROR_WANT_READ: break
    default:
      ERR_clear_error()
      fail("the connection to \(host) broke")
    }
  }

  /// Gathers frames into one TLS record; false when nothing is left to send.
  private func fill() -> Bool {
    if outputSent < output.count { return true }
    output.removeAll(keepingCapacity: true)
    outputSent = 0
    while output.count < Self.record {
      var data: UnsafePointer<UInt8>?
      let count = unsafe nghttp2_session_mem_send(session, &data)
      guard count > 0, let data = unsafe data else { break }
      unsafe output.append(contentsOf: UnsafeBufferPointer(start: data, count: count))
    }
    return !output.isEmpty
  }

  /// Puts a PING into the output.
  func ping() {
    guard state == .up else { return }
    _ = unsafe nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
  }

  // MARK: the end

  /// Says that the connection is gone, once.
  func fail(_ reason: String) {
    guard state != .gone else { return }
    state = .gone
    events.append(.lost(reason: reason))
  }

  /// Ends the connection: with a word to the server if it still listens.
  func shut() {
    if state == .up {
      _ = unsafe nghttp2_session_terminate_session(session, UInt32(NGHTTP2_NO_ERROR.rawValue))
      flush()
      unsafe SSL_shutdown(ssl)
      ERR_clear_error()
    }
    state = .gone
    if let live = unsafe session { unsafe nghttp2_session_del(live) }
    unsafe session = nil
    streams.removeAll()
    closeSocket()
  }

  private func closeSocket() {
    if let live = unsafe ssl { unsafe SSL_free(live) }
    unsafe ssl = nil
    if socket >= 0 { close(socket) }
    socket = -1
  }
}

/// An endpoint as connect(2) wants it.
enum SocketAddress {
  /// Calls `body` with the address of the endpoint and its size.
  static func with(
    _ endpoint: Endpoint, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    if let ipv4 = endpoint.ipv4 {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = endpoint.port.bigEndian
      address.sin_addr.s_addr = ipv4.bigEndian
      return unsafe withUnsafeBytes(of: &address) { bytes in
        unsafe body(
          bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
      }
    }
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = endpoint.port.bigEndian
    address.sin6_scope_id = endpoint.scope
    unsafe withUnsafeMutableBytes(of: &address.sin6_addr) { bytes in
      unsafe bytes.copyBytes(from: endpoint.address.bytes)
    }
    return unsafe withUnsafeBytes(of: &address) { bytes in
      unsafe body(
        bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
  }
}
