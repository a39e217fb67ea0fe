import Glibc
import TalkCore
import TalkNet
import Testing

/// One node's network side, on a loop that the test turns.
final class HelloNode {
  let loop: EventLoop
  let socket: UDPSocket
  let batch = ReceiveBatch()
  var hellos: HelloLinks?
  var heard: [Heard] = []

  init(links: [Link]) throws {
    loop = try EventLoop()
    socket = try UDPSocket()
    try loop.add(fd: socket.fd) { [unowned self] in
      if socket.receive(into: batch) { heard += batch.heard }
    }
    hellos = try HelloLinks(socket: socket, links: links, loop: loop, batch: batch) {
      [unowned self] in heard += $0.heard
    }
  }

  func send(_ bytes: [UInt8]) {
    for link in hellos!.links {
      bytes.withUnsafeBytes { hellos!.sendHello($0, on: link) }
    }
  }

  /// Handles what has come, for `duration` at most, until `enough`.
  func turn(for duration: Duration = .zero, until enough: (HelloNode) -> Bool = { _ in false })
    throws
  {
    let end = BootClock.now() + duration
    repeat {
      loop.arm(BootClock.now())
      try loop.run(due: { _ in loop.stop() }, late: { _ in })
    } while BootClock.now() < end && !enough(self)
  }

  func heardBytes(_ bytes: [UInt8]) -> [Heard] { heard.filter { $0.bytes == bytes } }
}

@Suite(.enabled(if: isRoot, rootReason)) struct HelloLinksTests {
  @Test func threeNodesOnOneMachineHearOneAnotherByLoopback() throws {
    let (heard, ports) = try inPrivateNetwork {
      let nodes = try (0..<3).map { _ in try HelloNode(links: Link.current()) }
      for (index, node) in nodes.enumerated() { node.send([UInt8(index)]) }
      for node in nodes { try node.turn() }
      return (nodes.map(\.heard), nodes.map(\.socket.port))
    }
    #expect(ports == [41_717, 41_718, 41_719])
    for hearer in 0..<3 {
      for sender in 0..<3 {
        let endpoint = Endpoint(ipv4: loopback4, port: ports[sender])
        #expect(
          heard[hearer].contains {
            $0.bytes == [UInt8(sender)] && $0.source == endpoint && $0.interface == 1 && $0.toMany
          }, "node \(hearer) hears node \(sender)")
      }
    }
  }

  @Test func aSecondNodesReceiversTakeNoUnicastFromTheFirst() throws {
    let heard = try inPrivateNetwork {
      let nodes = try (0..<3).map { _ in try HelloNode(links: Link.current()) }
      let client = try UDPSocket(port: .fixed(50_000))
      for to in [Endpoint(ipv4: loopback4, port: 41_717), loopback6(41_717)] {
        for _ in 0..<50 { client.send([9], to: to) }
      }
      for node in nodes { try node.turn() }
      return nodes.map { $0.heardBytes([9]).count }
    }
    #expect(heard == [100, 0, 0])
  }

  @Test func theFirstNodeRestartsBesideASecond() throws {
    let (port, heard) = try inPrivateNetwork {
      var first: HelloNode? = try HelloNode(links: Link.current())
      let second = try HelloNode(links: Link.current())
      first!.hellos!.cancel()
      first = nil
      let again = try HelloNode(links: Link.current())
      again.send([5])
      try second.turn()
      return (again.socket.port, second.heardBytes([5]).count)
    }
    #expect(port == 41_717)
    #expect(heard > 0)
  }

  /// Across a cable the two ends hear IPv4 multicast, broadcast and IPv6 multicast.
  @Test func aLinkCarriesAllThreeWays() throws {
    let (heard, index) = try inPrivateNetwork {
      try makePair()
      // In one namespace the kernel takes its own address from outside only when told to.
      _ = system(
        "sysctl -qw net.ipv4.conf.v1.accept_local=1 net.ipv4.conf.all.rp_filter=0"
          + " net.ipv4.conf.v1.rp_filter=0")
      let links = Link.current()
      let sender = try UDPSocket(port: .fixed(50_000))
      let hearer = try HelloNode(links: links.filter { $0.name == "v1" })
      let loop = try EventLoop()
      let from = try HelloLinks(
        socket: sender, links: links.filter { $0.name == "v0" }, loop: loop, batch: ReceiveBatch()
      ) { _ in }
      let bytes: [UInt8] = [3]
      bytes.withUnsafeBytes { from.sendHello($0, on: from.links[0]) }
      let index = if_nametoindex("v1")
      try hearer.turn(for: .seconds(5)) { node in
        Set(node.heard.filter { $0.interface == index }.map(\.source)).count == 2
          && node.heard.count { $0.interface == index } == 3
      }
      return (hearer.heard.filter { $0.interface == index }, index)
    }
    #expect(heard.count == 3 && heard.allSatisfy(\.toMany))
    let v4 = Endpoint(ipv4: 0x0a29_0101, port: 50_000)
    let v6 = Endpoint(address: Bytes16(high: 0xfe80 << 48, low: 1), port: 50_000, scope: index)
    #expect(heard.map(\.source).sorted() == [v4, v4, v6].sorted())
  }

  @Test func rejoiningKeepsTheGroupsAndLeaksNoDescriptor() throws {
    let (heard, failures, descriptors) = try inPrivateNetwork {
      let nodes = try (0..<2).map { _ in try HelloNode(links: Link.current()) }
      let before = dup(0)
      close(before)
      for _ in 0..<100 { for node in nodes { node.hellos!.rejoin() } }
      let after = dup(0)
      close(after)
      nodes[0].send([1])
      for node in nodes { try node.turn() }
      return (
        nodes.map { $0.heardBytes([1]).count }, nodes.map { $0.hellos!.failures },
        (before, after)
      )
    }
    #expect(heard[0] > 0 && heard[1] > 0)
    #expect(failures == [0, 0])
    // Other tests open descriptors meanwhile: a leak would be four per rejoin.
    #expect(descriptors.1 - descriptors.0 < 100)
  }
}
