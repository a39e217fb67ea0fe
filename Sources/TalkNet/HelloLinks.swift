import Glibc
package import TalkCore

import CLinux

/// Sends HELLOs to everybody on each link, and hears those of others, whatever our port is.
///
/// They leave by the node's own socket, so that answers, media and HELLOs share one port. A node on
/// port 41717 hears them on that socket too; one on another port holds receive-only sockets bound
/// to the group and broadcast addresses alone, which take no unicast from the port's owner.
package final class HelloLinks {
  /// 239.255.41.17, in the range for an organisation's own use (RFC 2365).
  package static let group4: UInt32 = 0xefff_2911
  /// ff02::4117, link-local (RFC 4291, section 2.7).
  package static let group6 = Bytes16(high: 0xff02 << 48, low: 0x4117)
  /// How often groups are joined anew: snooping switches without a querier forget (mesh.md).
  package static let rejoinInterval = Duration.seconds(60)

  private let socket: UDPSocket
  private let loop: EventLoop
  private let received: (ReceiveBatch) -> Void
  private let batch: ReceiveBatch
  private var receivers: [Descriptor] = []
  private var joined: [Link] = []
  private var timer: LoopTimer?
  /// The links that HELLOs go to.
  package private(set) var links: [Link] = []
  /// How many joins and receive-only sockets failed since the start.
  package private(set) var failures = 0

  /// Joins on `links` until `cancel`; `received` gets what the receive-only sockets hear, in the
  /// batch that is passed here.
  package init(
    socket: UDPSocket, links: [Link], loop: EventLoop, batch: ReceiveBatch,
    received: @escaping (ReceiveBatch) -> Void
  ) throws(NetError) {
    self.socket = socket
    self.loop = loop
    self.batch = batch
    self.received = received
    timer = try LoopTimer(loop: loop) { [weak self] in self?.rejoin() }
    update(links)
  }

  /// Takes new links, after a network change, and joins anew on all.
  package func update(_ links: [Link]) {
    self.links = links.filter { $0.isMulticast || $0.isBroadcast }
    rejoin()
  }

  /// Leaves and joins the groups on every link, so that switches are told again.
  package func rejoin() {
    if socket.port == UDPSocket.port { rejoinOwn() } else { reopenReceivers() }
    timer?.arm(after: Self.rejoinInterval)
  }

  /// Leaves the groups.
  package func cancel() {
    links = []
    if socket.port == UDPSocket.port { rejoinOwn() } else { closeReceivers() }
    timer?.cancel()
  }

  private func rejoinOwn() {
    for link in joined { setMembership(of: socket.fd, on: link, leave: true) }
    joined = links
    for link in links { setMembership(of: socket.fd, on: link, leave: false) }
  }

  private func setMembership(of fd: Int32, on link: Link, leave: Bool) {
    guard link.isMulticast else { return }
    // Leaving fails where the link is gone; that is no failure.
    if link.hasIPv4, talk_join4(fd, Self.group4, link.index, leave ? 1 : 0) != 0, !leave {
      failures += 1
    }
    if link.hasIPv6, !socket.isIPv4Only,
      talk_join6(fd, Self.group6.high, Self.group6.low, link.index, leave ? 1 : 0) != 0, !leave
    {
      failures += 1
    }
  }

  private func closeReceivers() {
    for receiver in receivers { loop.remove(fd: receiver.number) }
    receivers.removeAll()
  }

  private func reopenReceivers() {
    closeReceivers()
    if let fd = open(talk_udp_group4(Self.group4, UDPSocket.port)) {
      for link in links where link.isMulticast && link.hasIPv4 {
        if talk_join4(fd, Self.group4, link.index, 0) != 0 { failures += 1 }
      }
    }
    _ = open(talk_udp_group4(INADDR_BROADCAST, UDPSocket.port))
    for link in links where link.isMulticast && link.hasIPv6 {
      let (high, low) = (Self.group6.high, Self.group6.low)
      if let fd = open(talk_udp_group6(high, low, UDPSocket.port, link.index)),
        talk_join6(fd, high, low, link.index, 0) != 0
      {
        failures += 1
      }
    }
  }

  /// Puts a receive-only socket on the loop; nil, and counted, where that fails: another program
  /// may have the port for itself, and then the next rejoin tries again.
  private func open(_ number: Int32) -> Int32? {
    guard let descriptor = try? Descriptor(number, of: "bind"),
      (try? loop.add(
        fd: number,
        { [weak self] in
          guard let self, self.batch.fill(from: number) > 0 else { return }
          self.received(self.batch)
        })) != nil
    else {
      failures += 1
      return nil
    }
    receivers.append(descriptor)
    return number
  }

  /// Sends a HELLO on one link: to the IPv4 group, the IPv4 broadcast address and the IPv6 group,
  /// as far as the link has them. The bytes are sent when this returns.
  package func sendHello(_ bytes: UnsafeRawBufferPointer, on link: Link) {
    let port = UDPSocket.port
    if let own = link.ipv4 {
      // The source is named because the kernel takes no host-scope address, as loopback's, itself.
      if link.isMulticast {
        unsafe socket.append(
          bytes, to: Endpoint(ipv4: Self.group4, port: port), interface: link.index,
          source4: own)
      }
      if link.isBroadcast {
        unsafe socket.append(
          bytes, to: Endpoint(ipv4: INADDR_BROADCAST, port: port), interface: link.index,
          source4: own)
      }
    }
    if link.hasIPv6, link.isMulticast, !socket.isIPv4Only {
      unsafe socket.append(
        bytes, to: Endpoint(address: Self.group6, port: port, scope: link.index),
        interface: link.index)
    }
    socket.flush()
  }
}
