import TalkCore

import CNGHTTP2

/// Writes requests as libnghttp2 wants them; one for all links of a thread, so that the memory is
/// taken once.
@safe final class RequestWriter {
  private static let names = [
    ":method", ":scheme", ":authority", ":path", "authorization", "apns-push-type", "apns-topic",
    "apns-priority", "apns-expiration", "apns-id", "apns-collapse-id",
  ]
  private static let digits = Array("0123456789abcdef".utf8)

  private let bundle: String
  private let namePointers: [UnsafeMutableBufferPointer<UInt8>]
  private var values: [UInt8] = []
  private var fields: [(name: Int, range: Range<Int>, unique: Bool)] = []
  private var table: [nghttp2_nv] = unsafe []

  /// A writer for an app.
  init(bundle: String) {
    self.bundle = bundle
    unsafe namePointers = Self.names.map { name in
      let pointer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: name.utf8.count)
      _ = unsafe pointer.initialize(from: name.utf8)
      return unsafe pointer
    }
  }

  deinit { unsafe namePointers.forEach { unsafe $0.deallocate() } }

  private func add(_ name: Int, unique: Bool = false, _ write: (inout [UInt8]) -> Void) {
    let start = values.count
    write(&values)
    fields.append((name, start..<values.count, unique))
  }

  /// Puts a request into a session; false when it takes none.
  ///
  /// Values that are the same for many pushes go into HPACK's table, so that the token costs a byte
  /// or two from the second request on; those that are not stay out, and push nothing out of it.
  func submit(
    _ push: Push, ticket: LaneTicket, authority: String, bearer: String?, on link: HTTP2Link
  ) -> Bool {
    gather(push, authority: authority, bearer: bearer)
    let stream = RequestStream(ticket: ticket, payload: push.payload)
    let pointer = unsafe Unmanaged.passUnretained(stream).toOpaque()
    var provider = unsafe nghttp2_data_provider()
    unsafe provider.source.ptr = pointer
    unsafe provider.read_callback = payloadRead
    let id = unsafe values.withUnsafeMutableBufferPointer { bytes in
      unsafe table.removeAll(keepingCapacity: true)
      for field in fields {
        let name = unsafe namePointers[field.name]
        let flags =
          NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue
          | (field.unique ? NGHTTP2_NV_FLAG_NO_INDEX.rawValue : 0)
        unsafe table.append(
          nghttp2_nv(
            name: name.baseAddress, value: bytes.baseAddress! + field.range.lowerBound,
            namelen: name.count, valuelen: field.range.count, flags: UInt8(flags)))
      }
      return unsafe nghttp2_submit_request(
        link.session, nil, table, table.count, &provider, nil)
    }
    guard id > 0 else { return false }
    link.streams[id] = stream
    return true
  }

  private func gather(_ push: Push, authority: String, bearer: String?) {
    values.removeAll(keepingCapacity: true)
    fields.removeAll(keepingCapacity: true)
    add(0) { $0.append(contentsOf: "POST".utf8) }
    add(1) { $0.append(contentsOf: "https".utf8) }
    add(2) { $0.append(contentsOf: authority.utf8) }
    add(3, unique: true) {
      $0.append(contentsOf: "/3/device/".utf8)
      for byte in push.token { Self.hex(byte, to: &$0) }
    }
    if let bearer {
      add(4) {
        $0.append(contentsOf: "bearer ".utf8)
        $0.append(contentsOf: bearer.utf8)
      }
    }
    add(5) { $0.append(contentsOf: push.kind.pushType.utf8) }
    add(6) { $0.append(contentsOf: push.kind.topic(bundle: bundle).utf8) }
    add(7) { $0.append(contentsOf: (push.priority == .immediate ? "10" : "5").utf8) }
    add(8, unique: push.expiration != 0) { $0.append(contentsOf: String(push.expiration).utf8) }
    add(9, unique: true) { Self.uuid(push.id, to: &$0) }
    if let id = push.collapseID { add(10, unique: true) { $0.append(contentsOf: id.utf8) } }
  }

  private static func hex(_ byte: UInt8, to bytes: inout [UInt8]) {
    bytes.append(digits[Int(byte >> 4)])
    bytes.append(digits[Int(byte & 15)])
  }

  /// 8-4-4-4-12 lower-case hex digits.
  private static func uuid(_ id: Bytes16, to bytes: inout [UInt8]) {
    for position in 0..<16 {
      let half = position < 8 ? id.high : id.low
      if position == 4 || position == 6 || position == 8 || position == 10 {
        bytes.append(UInt8(ascii: "-"))
      }
      hex(UInt8(truncatingIfNeeded: half >> UInt64(56 - 8 * (position & 7))), to: &bytes)
    }
  }
}

extension HTTP2Link {
  /// Puts a request into the output; false when HTTP/2 takes none any more.
  func send(_ push: Push, ticket: LaneTicket, bearer: String?, authority: String) -> Bool {
    guard state == .up else { return false }
    return writer.submit(push, ticket: ticket, authority: authority, bearer: bearer, on: self)
  }

  /// Resets the stream of a request, which is not told of any more.
  func cancel(_ ticket: LaneTicket) {
    guard state == .up, let id = streams.first(where: { $0.value.ticket == ticket })?.key else {
      return
    }
    // The stream stays in the table, unread, until libnghttp2 is done with its payload.
    _ = unsafe nghttp2_submit_rst_stream(
      session, UInt8(NGHTTP2_FLAG_NONE.rawValue), id, UInt32(NGHTTP2_CANCEL.rawValue))
  }
}
