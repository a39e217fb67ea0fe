import TalkCore

import CNGHTTP2

/// One request on its way.
final class RequestStream {
  let ticket: LaneTicket
  let payload: [UInt8]
  var sent = 0
  var status = 0
  var body: [UInt8] = []
  var date: String?
  var retryAfter: String?

  init(ticket: LaneTicket, payload: [UInt8]) { (self.ticket, self.payload) = (ticket, payload) }

  var answer: ProviderAnswer {
    if status == 200 { return ProviderAnswer(status: 200) }
    return ProviderAnswer(status: status, body: body, date: date, retryAfter: retryAfter)
  }
}

/// What libnghttp2 calls back: file-scope functions, which find their link by the user data.
enum HTTP2Callbacks {
  /// libnghttp2's words for an error code.
  static func words(_ code: Int) -> String {
    unsafe String(cString: nghttp2_strerror(Int32(truncatingIfNeeded: code)))
  }

  /// A client session whose callbacks reach `link`, with our SETTINGS submitted.
  static func session(of link: HTTP2Link) -> OpaquePointer? {
    var callbacks: OpaquePointer?
    guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0 else { return nil }
    defer { unsafe nghttp2_session_callbacks_del(callbacks) }
    unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frameReceived)
    unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, headerReceived)
    unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, dataReceived)
    unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, streamClosed)
    var session: OpaquePointer?
    let context = unsafe Unmanaged.passUnretained(link).toOpaque()
    guard unsafe nghttp2_session_client_new(&session, callbacks, context) == 0 else { return nil }
    var settings = nghttp2_settings_entry(
      settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0)
    guard
      unsafe nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &settings, 1) == 0
    else {
      unsafe nghttp2_session_del(session)
      return nil
    }
    return unsafe session
  }
}

private func link(_ context: UnsafeMutableRawPointer?) -> HTTP2Link {
  unsafe Unmanaged<HTTP2Link>.fromOpaque(context!).takeUnretainedValue()
}

private func frameReceived(
  _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?,
  _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard let frame = unsafe frame else { return 0 }
  let link = unsafe link(context)
  let acknowledges = unsafe frame.pointee.hd.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
  switch unsafe UInt32(frame.pointee.hd.type) {
  case NGHTTP2_SETTINGS.rawValue where !acknowledges:
    let streams = unsafe nghttp2_session_get_remote_settings(
      session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
    link.events.append(.allowed(Int(streams)))
  case NGHTTP2_PING.rawValue where acknowledges: link.events.append(.pong)
  case NGHTTP2_GOAWAY.rawValue:
    let goaway = unsafe frame.pointee.goaway
    let debug = unsafe Array(
      UnsafeBufferPointer(start: goaway.opaque_data, count: goaway.opaque_data_len))
    link.events.append(.goaway(reason: ProviderAnswer.goawayReason(debug)))
  default: break
  }
  return 0
}

private func headerReceived(
  _ session: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?,
  _ name: UnsafePointer<UInt8>?, _ nameCount: Int,
  _ value: UnsafePointer<UInt8>?, _ valueCount: Int, _ flags: UInt8,
  _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard let frame = unsafe frame, let name = unsafe name, let value = unsafe value else { return 0 }
  guard let stream = unsafe link(context).streams[frame.pointee.hd.stream_id] else { return 0 }
  let text = unsafe UnsafeBufferPointer(start: value, count: valueCount)
  if unsafe name[0] == UInt8(ascii: ":") {
    // Three digits: libnghttp2 refuses anything else.
    stream.status = unsafe text.reduce(0) { min($0 * 10 + Int($1) - 48, 9_999) }
    return 0
  }
  guard stream.status != 200, valueCount <= 64 else { return 0 }
  let header = unsafe String(
    decoding: UnsafeBufferPointer(start: name, count: nameCount), as: UTF8.self)
  switch header {
  case "date": stream.date = unsafe String(decoding: text, as: UTF8.self)
  case "retry-after": stream.retryAfter = unsafe String(decoding: text, as: UTF8.self)
  default: break
  }
  return 0
}

private func dataReceived(
  _ session: OpaquePointer?, _ flags: UInt8, _ id: Int32, _ data: UnsafePointer<UInt8>?,
  _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard let stream = unsafe link(context).streams[id], let data = unsafe data else { return 0 }
  let room = ProviderLimits.answerBytes - stream.body.count
  unsafe stream.body.append(
    contentsOf: UnsafeBufferPointer(start: data, count: max(0, min(room, count))))
  return 0
}

private func streamClosed(
  _ session: OpaquePointer?, _ id: Int32, _ code: UInt32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  let link = unsafe link(context)
  guard let stream = link.streams.removeValue(forKey: id) else { return 0 }
  switch code {
  case UInt32(NGHTTP2_NO_ERROR.rawValue) where stream.status != 0:
    link.events.append(.answered(stream.ticket, stream.answer))
  case UInt32(NGHTTP2_REFUSED_STREAM.rawValue):
    link.events.append(.unprocessed(stream.ticket))
  default: link.events.append(.broken(stream.ticket, code: code))
  }
  return 0
}

/// Hands libnghttp2 the next bytes of a payload.
func payloadRead(
  _ session: OpaquePointer?, _ id: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ size: Int,
  _ flags: UnsafeMutablePointer<UInt32>?, _ source: UnsafeMutablePointer<nghttp2_data_source>?,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let pointer = unsafe source?.pointee.ptr, let buffer = unsafe buffer else { return 0 }
  let stream = unsafe Unmanaged<RequestStream>.fromOpaque(pointer).takeUnretainedValue()
  let count = min(size, stream.payload.count - stream.sent)
  unsafe stream.payload.withUnsafeBufferPointer { bytes in
    unsafe buffer.update(from: bytes.baseAddress! + stream.sent, count: count)
  }
  stream.sent += count
  if stream.sent == stream.payload.count {
    unsafe flags?.pointee |= UInt32(NGHTTP2_DATA_FLAG_EOF.rawValue)
  }
  return count
}
