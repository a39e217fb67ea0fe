package import TalkCore

import CLinux

/// One datagram in a `ReceiveBatch`.
@safe package struct ReceivedDatagram {
  /// Its bytes, in place and to be opened in place; valid until the batch receives again.
  package let bytes: UnsafeMutableRawBufferPointer
  /// Who sent it: IPv4 as ::ffff:a.b.c.d, scope for link-local addresses alone.
  package let source: Endpoint
  /// The index of the interface that it came in by.
  package let interface: UInt32
  /// When the kernel took it.
  package let time: Instant
  /// True when it was sent to a multicast or broadcast address.
  package let toMany: Bool
}

/// Buffers for one recvmmsg(2), taken once; several sockets of a thread can share one.
@safe package final class ReceiveBatch {
  /// How many datagrams one call takes.
  package static let limit = 64
  /// The longest datagram that is taken, in bytes; ours have at most 1,200.
  package static let datagramLimit = 2_048

  let pointer: OpaquePointer
  /// How many datagrams the last `receive` left here, the truncated ones included.
  private var count = 0

  /// An empty batch; traps when there is no memory at the start of the program.
  package init() {
    guard
      let pointer = unsafe talk_receive_batch_make(
        UInt32(Self.limit), Self.datagramLimit)
    else { fatalError("no memory for a receive batch") }
    unsafe self.pointer = pointer
  }

  deinit { unsafe talk_receive_batch_free(pointer) }

  /// Fills the batch from a socket; returns how many datagrams came, -1 on a failure.
  func fill(from fd: Int32) -> Int {
    let got = Int(unsafe talk_receive(fd, pointer))
    count = max(0, got)
    return got
  }

  /// How many of the datagrams were too long, and are skipped by `forEach`.
  var truncated: Int {
    var sum = 0
    for index in 0..<count {
      if unsafe talk_received_info(pointer, UInt32(index))!.pointee.truncated != 0 { sum += 1 }
    }
    return sum
  }

  /// Calls `body` with each whole datagram, in order of arrival.
  package func forEach(_ body: (ReceivedDatagram) -> Void) {
    for index in 0..<count {
      let info = unsafe talk_received_info(pointer, UInt32(index))!.pointee
      guard info.truncated == 0 else { continue }
      let bytes = unsafe UnsafeMutableRawBufferPointer(
        start: talk_received_bytes(pointer, UInt32(index)), count: Int(info.count))
      unsafe body(
        ReceivedDatagram(
          bytes: bytes, source: Endpoint(info.source), interface: info.interface_index,
          time: Instant(nanoseconds: info.time), toMany: info.many != 0))
    }
  }
}

extension Endpoint {
  /// From the C form.
  init(_ c: talk_endpoint) {
    self.init(address: Bytes16(high: c.high, low: c.low), port: c.port, scope: c.scope)
  }

  /// The C form.
  var c: talk_endpoint {
    talk_endpoint(high: address.high, low: address.low, scope: scope, port: port)
  }
}
