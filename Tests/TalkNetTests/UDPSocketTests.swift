import CAllocationProbe
import CTestSupport
import Glibc
import TalkCore
import TalkNet
import Testing

/// What a test keeps of a datagram.
struct Heard: Equatable, Sendable {
  var bytes: [UInt8]
  var source: Endpoint
  var interface: UInt32
  var toMany: Bool
}

extension UDPSocket {
  /// Sends one datagram.
  func send(_ bytes: [UInt8], to endpoint: Endpoint) {
    bytes.withUnsafeBytes { buffer in
      append(buffer, to: endpoint)
      flush()
    }
  }

  /// Everything that waits.
  func hear(_ batch: ReceiveBatch = ReceiveBatch()) -> [Heard] {
    var heard: [Heard] = []
    while receive(into: batch) { heard += batch.heard }
    return heard
  }
}

extension ReceiveBatch {
  /// The datagrams in it, copied.
  var heard: [Heard] {
    var heard: [Heard] = []
    forEach {
      heard.append(
        Heard(
          bytes: Array($0.bytes), source: $0.source, interface: $0.interface, toMany: $0.toMany))
    }
    return heard
  }
}

let loopback4: UInt32 = 0x7f00_0001
func loopback6(_ port: UInt16) -> Endpoint {
  Endpoint(address: Bytes16(high: 0, low: 1), port: port)
}

@Suite(.enabled(if: isRoot, rootReason)) struct UDPSocketTests {
  @Test func batchesGoThereAndSayWhereTheyComeFrom() throws {
    for useIPv6 in [false, true] {
      let (heard, ports, sent) = try inPrivateNetwork {
        let (a, b) = (try UDPSocket(), try UDPSocket())
        let to = useIPv6 ? loopback6(b.port) : Endpoint(ipv4: loopback4, port: b.port)
        let slab = Slab()
        for index in 0..<200 {
          let range = slab.reserve(100 + index)!
          slab[range].copyBytes(from: [UInt8](repeating: UInt8(index), count: range.count))
          a.append(UnsafeRawBufferPointer(slab[range]), to: to)
        }
        a.flush()
        return (b.hear(), (a.port, b.port), a.counters)
      }
      #expect(ports == (41_717, 41_718))
      #expect(heard.count == 200 && sent.sent == 200 && sent.lastError == 0)
      let source =
        useIPv6 ? loopback6(ports.0) : Endpoint(ipv4: loopback4, port: ports.0)
      for (index, datagram) in heard.enumerated() {
        #expect(datagram.bytes == [UInt8](repeating: UInt8(index), count: 100 + index))
        #expect(datagram.source == source && datagram.interface == 1 && !datagram.toMany)
      }
    }
  }

  @Test func withoutIPv6TheRestWorks() throws {
    for isSwitchedOff in [false, true] {
      let (heard, counters, hellos) = try inPrivateNetwork {
        if isSwitchedOff { _ = system("sysctl -qw net.ipv6.conf.all.disable_ipv6=1") }
        let node = try HelloNode(links: Link.current())
        let a = try UDPSocket(ipv4Only: !isSwitchedOff)
        let to = Endpoint(ipv4: loopback4, port: node.socket.port)
        a.send([1], to: to)
        a.send([2], to: loopback6(node.socket.port))
        let from = try HelloLinks(
          socket: a, links: Link.current(), loop: EventLoop(), batch: ReceiveBatch()
        ) { _ in }
        let hello: [UInt8] = [3]
        for link in from.links { hello.withUnsafeBytes { from.sendHello($0, on: link) } }
        try node.turn()
        return (node.heard, a.counters, (a.isIPv4Only, from.failures))
      }
      #expect(heard.map(\.bytes) == [[1], [3]])
      #expect(heard.allSatisfy { $0.source.ipv4 == loopback4 && $0.source.port == 41_718 })
      #expect(counters.sent == 2 && counters.unreachable == 1)
      #expect(hellos == (!isSwitchedOff, 0))
    }
  }

  @Test func aDatagramBeyondTheLimitIsDroppedAndCounted() throws {
    let (heard, counters) = try inPrivateNetwork {
      let (a, b) = (try UDPSocket(), try UDPSocket())
      for count in [0, 2_048, 2_049, 60_000, 1] {
        a.send([UInt8](repeating: 1, count: count), to: Endpoint(ipv4: loopback4, port: b.port))
      }
      return (b.hear(), b.counters)
    }
    #expect(heard.map(\.bytes.count) == [0, 2_048, 1])
    #expect(counters.truncated == 2 && counters.received == 3)
  }

  @Test func aDestinationThatFailsIsCountedAndPassedOver() throws {
    let (heard, counters) = try inPrivateNetwork {
      let (a, b) = (try UDPSocket(), try UDPSocket())
      let good = Endpoint(ipv4: loopback4, port: b.port)
      let bad = [
        Endpoint(ipv4: 0x0a00_0001, port: 9), Endpoint(address: .zero, port: 0),
        Endpoint(address: Bytes16(high: 0xfe80 << 48, low: 1), port: 9),
        Endpoint(address: Bytes16(high: 0xfe80 << 48, low: 1), port: 9, scope: 99),
        Endpoint(address: Bytes16(high: 0x2001 << 48, low: 1), port: 9),
      ]
      let bytes: [UInt8] = [1, 2, 3]
      bytes.withUnsafeBytes { buffer in
        for endpoint in bad {
          a.append(buffer, to: endpoint)
          a.append(buffer, to: good)
        }
        a.flush()
      }
      return (b.hear(), a.counters)
    }
    #expect(heard.count == 5)
    #expect(counters.sent == 5 && counters.unreachable + counters.failed == 5)
    #expect(counters.lastError != 0)
  }

  @Test func anExplicitPortThatIsTakenIsAnError() throws {
    let errors: [NetError?] = try inPrivateNetwork {
      let first = try UDPSocket(port: .fixed(41_717))
      defer { withExtendedLifetime(first) {} }
      var errors: [NetError?] = []
      for port in [UDPSocket.Port.fixed(41_717), .automatic(41_717...41_717), .fixed(41_718)] {
        do throws(NetError) {
          _ = try UDPSocket(port: port)
          errors.append(nil)
        } catch { errors.append(error) }
      }
      return errors
    }
    let ours = try #require(errors.first??.owner)
    #expect(ours.process == getpid())
    #expect(
      errors == [
        .portTaken(41_717, owner: ours), .noPortFree(41_717...41_717), nil,
      ])
  }

  @Test func anotherProgramsPortIsTakenHoweverItIsShared() throws {
    struct Case: Sendable {
      var family: Int32
      var option: Int32?
    }
    let cases = [AF_INET, AF_INET6].flatMap { family in
      [nil, SO_REUSEADDR, SO_REUSEPORT].map { Case(family: family, option: $0) }
    }
    let ports = try inPrivateNetwork {
      try cases.map { test in
        let fd = socket(test.family, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(fd) }
        var one: Int32 = 1
        if let option = test.option { setsockopt(fd, SOL_SOCKET, option, &one, 4) }
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(test.family)
        address.sin6_port = UDPSocket.port.bigEndian
        let bound = withUnsafePointer(to: &address) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(fd, $0, test.family == AF_INET ? 16 : 28)
          }
        }
        return bound == 0 ? try UDPSocket().port : 0
      }
    }
    #expect(ports == [UInt16](repeating: 41_718, count: cases.count))
  }

  @Test func theRangeIsUsedUpInOrderAndThenRefused() throws {
    let (ports, error): ([UInt16], NetError?) = try inPrivateNetwork {
      var sockets: [UDPSocket] = []
      for _ in 0..<16 { sockets.append(try UDPSocket()) }
      do throws(NetError) {
        _ = try UDPSocket()
        return ([], nil)
      } catch { return (sockets.map(\.port), error) }
    }
    #expect(ports == Array(41_717...41_732))
    #expect(error == .noPortFree(41_717...41_732))
  }

  @Test func sendingAndReceivingAllocateNothing() throws {
    let (allocations, received) = try inPrivateNetwork {
      let (a, b) = (try UDPSocket(), try UDPSocket())
      let (batch, slab) = (ReceiveBatch(), Slab())
      let to = Endpoint(ipv4: loopback4, port: b.port)
      var sum = 0
      func round() {
        for _ in 0..<100 {
          let range = slab.reserve(112)!
          a.append(UnsafeRawBufferPointer(slab[range]), to: to)
        }
        a.flush()
        slab.removeAll()
        while b.receive(into: batch) { batch.forEach { sum += $0.bytes.count } }
      }
      round()
      let before = talk_probe_allocations()
      for _ in 0..<100 { round() }
      return (talk_probe_allocations() - before, sum)
    }
    #expect(allocations == 0)
    #expect(received == 101 * 100 * 112)
  }

  @Test func aLinkLocalSourceHasItsInterface() throws {
    let (heard, scopes) = try inPrivateNetwork {
      try makePair()
      let (a, b) = (try UDPSocket(), try UDPSocket())
      let (left, right) = (if_nametoindex("v0"), if_nametoindex("v1"))
      let to = Endpoint(
        address: Bytes16(high: 0xfe80 << 48, low: 2), port: b.port, scope: left)
      a.send([7], to: to)
      // Neighbour discovery takes a moment: wait for the datagram itself.
      var poller = pollfd(fd: b.fd, events: Int16(POLLIN), revents: 0)
      poll(&poller, 1, 5_000)
      return (b.hear(), (left, right, a.port))
    }
    #expect(
      heard == [
        Heard(
          bytes: [7],
          source: Endpoint(
            address: Bytes16(high: 0xfe80 << 48, low: 1), port: scopes.2, scope: scopes.1),
          interface: scopes.1, toMany: false)
      ])
  }

  @Test func theReceiveTimeIsTheKernels() throws {
    let (sent, read, time) = try inPrivateNetwork {
      let (a, b) = (try UDPSocket(), try UDPSocket())
      a.send([1], to: Endpoint(ipv4: loopback4, port: b.port))
      let sent = BootClock.now()
      while BootClock.now() - sent < .milliseconds(20) {}
      let batch = ReceiveBatch()
      b.receive(into: batch)
      var time = Instant.zero
      batch.forEach { time = $0.time }
      return (sent, BootClock.now(), time)
    }
    #expect(time <= sent + .milliseconds(1) && read - time >= .milliseconds(19))
  }
}

/// Two ends of a cable in this namespace, v0 and v1, with fe80::1 and fe80::2 and IPv4 addresses.
func makePair() throws {
  try ip("link add v0 type veth peer name v1")
  for (name, host) in [("v0", 1), ("v1", 2)] {
    try ip("link set \(name) addrgenmode none up")
    try ip("addr add fe80::\(host)/64 dev \(name) nodad")
    try ip("addr add 10.41.\(host).1/24 dev \(name) brd +")
  }
  try waitForLinks(["v0", "v1"])
}

/// Waits until interfaces run: the kernel says so a moment after they are set up.
func waitForLinks(_ names: [String]) throws {
  let start = BootClock.now()
  while !Set(names).isSubset(of: Link.current().map(\.name)) {
    guard BootClock.now() - start < .seconds(10) else {
      throw NetError.system(call: "ip link set \(names) up", code: ETIMEDOUT)
    }
  }
}

extension NetError {
  /// Who has the taken port.
  fileprivate var owner: PortOwner? {
    if case .portTaken(_, let owner) = self { return owner }
    return nil
  }
}
