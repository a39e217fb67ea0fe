import Glibc
package import TalkCore

import CLinux

/// What a socket has seen since it was made.
package struct UDPCounters: Hashable, Sendable {
  /// Whole datagrams received.
  package var received = 0
  /// Datagrams longer than `ReceiveBatch.datagramLimit`, dropped.
  package var truncated = 0
  /// Datagrams that the kernel took.
  package var sent = 0
  /// Datagrams whose destination refused (ECONNREFUSED).
  package var refused = 0
  /// Datagrams with no way to their destination (ENETUNREACH, EHOSTUNREACH, ENETDOWN, …).
  package var unreachable = 0
  /// Datagrams dropped because the kernel's queue stayed full (EAGAIN, ENOBUFS).
  package var overflowed = 0
  /// Datagrams that failed for another reason; `lastError` names it.
  package var failed = 0
  /// The errno of the last failed receive or send; 0 when there was none.
  package var lastError: Int32 = 0
}

/// The one UDP socket of a node: voice, control and HELLO leave by it and come back to it.
///
/// Dual-stack, non-blocking, DSCP EF. Nothing that a destination causes is an error to the caller:
/// it is counted. After the first batch neither receiving nor sending allocates.
@safe package final class UDPSocket {
  /// Which port a socket asks for.
  package enum Port: Hashable, Sendable {
    /// This port or an error: a person set it.
    case fixed(UInt16)
    /// The first free one of a range.
    case automatic(ClosedRange<UInt16>)
  }

  /// The port of every node (mesh.md), so that one firewall rule opens everything.
  package static let port: UInt16 = 41_717
  /// The default: our port, or the next free one for another node on this machine.
  package static let automatic = Port.automatic(port...port + 15)
  /// How many datagrams one sendmmsg(2) takes.
  package static let batchLimit = 64
  /// How long a full send queue is waited for, in milliseconds, once per flush.
  private static let patience: Int32 = 2

  private let descriptor: Descriptor
  private let mark: Descriptor
  private let batch: OpaquePointer
  private var staged = 0
  /// True where the kernel has no IPv6, or none was wanted.
  package let isIPv4Only: Bool
  /// The port that the socket is bound to.
  package let port: UInt16
  /// What has been seen.
  package private(set) var counters = UDPCounters()

  /// Makes and binds the socket; `ipv4Only` does without IPv6 as if the kernel had none.
  package init(port: Port = automatic, ipv4Only: Bool = false) throws(NetError) {
    let made = talk_udp_socket(ipv4Only ? 1 : 0)
    descriptor = try Descriptor(made.fd, of: "socket")
    isIPv4Only = made.ipv4 != 0
    switch port {
    case .fixed(let number):
      guard let mark = try Self.claim(number, for: descriptor, isIPv4Only) else {
        throw .portTaken(number, owner: PortOwner.find(number))
      }
      (self.mark, self.port) = (mark, number)
    case .automatic(let range):
      (mark, self.port) = try Self.claimFirst(of: range, for: descriptor, isIPv4Only)
    }
    guard let batch = unsafe talk_send_batch_make(UInt32(Self.batchLimit), made.ipv4) else {
      throw .system(call: "calloc", code: ENOMEM)
    }
    unsafe self.batch = batch
  }

  deinit { unsafe talk_send_batch_free(batch) }

  private static func claimFirst(
    of range: ClosedRange<UInt16>, for descriptor: Descriptor, _ isIPv4Only: Bool
  ) throws(NetError) -> (Descriptor, UInt16) {
    for number in range {
      if let mark = try claim(number, for: descriptor, isIPv4Only) { return (mark, number) }
    }
    throw .noPortFree(range)
  }

  /// Binds to `port` if nobody has it; nil when somebody does.
  ///
  /// SO_REUSEADDR is needed beside the receive-only sockets of other nodes, and hides a taken port:
  /// so other nodes are told by an abstract socket's name, other programs by a trial bind.
  private static func claim(
    _ port: UInt16, for descriptor: Descriptor, _ isIPv4Only: Bool
  ) throws(NetError) -> Descriptor? {
    let mark = talk_port_mark(port)
    if mark < 0, errno == EADDRINUSE { return nil }
    let owner = try Descriptor(mark, of: "bind")
    if talk_udp_port_taken(port) != 0 { return nil }
    guard talk_udp_bind(descriptor.number, isIPv4Only ? 1 : 0, port) == 0 else {
      if errno == EADDRINUSE { return nil }
      throw .system(call: "bind", code: errno)
    }
    return owner
  }

  /// Readable while datagrams wait; for `EventLoop.add`.
  package var fd: Int32 { descriptor.number }

  /// Takes up to `ReceiveBatch.limit` datagrams that wait; false when there were none. The loop
  /// calls again while there are more.
  @discardableResult
  package func receive(into batch: ReceiveBatch) -> Bool {
    let got = batch.fill(from: fd)
    guard got > 0 else {
      if got < 0 { counters.lastError = errno }
      return false
    }
    let truncated = batch.truncated
    counters.truncated += truncated
    counters.received += got - truncated
    return true
  }

  /// Puts a datagram into the batch, without copying it: the bytes must stay as they are until
  /// `flush`, which a full batch calls by itself. With `interface` (an index) it leaves by that
  /// interface, for multicast and broadcast; IPv4 then leaves from `source4` if that is not 0.
  package func append(
    _ bytes: UnsafeRawBufferPointer, to endpoint: Endpoint, interface: UInt32 = 0,
    source4: UInt32 = 0
  ) {
    var c = endpoint.c
    let taken = unsafe talk_send_stage(
      batch, UInt32(staged), bytes.baseAddress, bytes.count, &c, interface, source4)
    guard taken == 0 else {
      counters.unreachable += 1
      return
    }
    staged += 1
    if staged == Self.batchLimit { flush() }
  }

  /// Sends the batch (sendmmsg(2)). A destination that fails is counted and passed over; a full
  /// queue is waited for once, for 2 ms, and then the rest is dropped: old voice is worth nothing.
  package func flush() {
    var first = 0
    var waited = false
    while first < staged {
      let sent = unsafe talk_send(fd, batch, UInt32(first), UInt32(staged - first))
      if sent > 0 {
        first += Int(sent)
        counters.sent += Int(sent)
        continue
      }
      counters.lastError = errno
      switch errno {
      case EAGAIN, ENOBUFS:
        guard !waited else {
          counters.overflowed += staged - first
          staged = 0
          return
        }
        waited = true
        talk_wait_writable(fd, Self.patience)
        continue
      case ECONNREFUSED: counters.refused += 1
      case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL, ENODEV, EPERM, EACCES:
        counters.unreachable += 1
      default: counters.failed += 1
      }
      first += 1
    }
    staged = 0
  }
}
