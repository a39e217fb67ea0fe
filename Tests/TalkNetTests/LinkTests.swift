import Glibc
import TalkCore
import TalkNet
import Testing

@Suite(.enabled(if: isRoot, rootReason)) struct LinkTests {
  @Test func linksHaveTheirAddressesAndKinds() throws {
    let (links, indices) = try inPrivateNetwork {
      try makeNetwork()
      return (Link.current(), [if_nametoindex("v0"), if_nametoindex("v1"), if_nametoindex("br0")])
    }
    #expect(links.map(\.name) == ["v0", "v1", "br0", "lo"])
    #expect(links.map(\.kind) == [.usual, .bridge, .bridge, .loopback])
    #expect(Set(links.map(\.index)).isSuperset(of: indices))
    let cable = links[0]
    #expect(cable.isMulticast && cable.isBroadcast && cable.hasIPv4 && cable.hasIPv6)
    #expect(
      cable.addresses.contains {
        $0.address == Endpoint(ipv4: 0x0a29_0101, port: 0).address && $0.prefix == 96 + 24
      })
    #expect(links[3].addresses.count == 2 && links[3].isMulticast && !links[3].isBroadcast)
  }

  /// A cable v0–v1 whose far end is a port of a bridge, as a container's is.
  private func makeNetwork() throws {
    try makePair()
    try ip("link add br0 type bridge")
    try ip("link set v1 master br0")
    try ip("addr add 172.17.0.1/16 dev br0")
    try ip("link set br0 up")
    try waitForLinks(["br0"])
  }

  @Test func aSubnetHoldsItsHostsAndNoOthers() {
    func v4(_ value: UInt32) -> Bytes16 { Endpoint(ipv4: value, port: 0).address }
    struct Case {
      var address: Bytes16
      var prefix: Int
      var other: Bytes16
      var inside: Bool
    }
    let site = Bytes16(high: 0x2001_0db8_0000_0001, low: 1)
    let cases = [
      Case(address: v4(0x0a00_0001), prefix: 120, other: v4(0x0a00_00ff), inside: true),
      Case(address: v4(0x0a00_0001), prefix: 120, other: v4(0x0a00_01ff), inside: false),
      Case(address: v4(0x0a00_0001), prefix: 128, other: v4(0x0a00_0001), inside: true),
      Case(address: v4(0x0a00_0001), prefix: 128, other: v4(0x0a00_0000), inside: false),
      Case(address: site, prefix: 64, other: Bytes16(high: site.high, low: .max), inside: true),
      Case(address: site, prefix: 64, other: Bytes16(high: site.high + 1, low: 1), inside: false),
      Case(address: site, prefix: 48, other: Bytes16(high: site.high + 1, low: 1), inside: true),
      Case(address: site, prefix: 0, other: site, inside: false),
    ]
    for test in cases {
      let subnet = Link.Address(address: test.address, prefix: test.prefix)
      #expect(subnet.contains(test.other) == test.inside, "\(test)")
    }
  }

  @Test func aNewAddressIsToldOnceAndARenewedLifetimeNotAtAll() throws {
    let (told, links): ([[Link]], [Link]) = try inPrivateNetwork {
      let loop = try EventLoop()
      var told: [[Link]] = []
      let watch = try NetworkWatch(loop: loop) { links in
        told.append(links)
        loop.stop()
      }
      // A lifetime alone: reported by the kernel, and no change to us.
      try ip("addr change 127.0.0.1/8 dev lo valid_lft 1000 preferred_lft 1000")
      loop.arm(BootClock.now() + NetworkWatch.rest + .milliseconds(100))
      try loop.run(due: { _ in loop.stop() }, late: { _ in })
      guard told.isEmpty else { return (told, []) }
      for host in 2...9 { try ip("addr add 127.0.0.\(host)/8 dev lo") }
      loop.arm(BootClock.now() + .seconds(10))
      try loop.run(due: { _ in loop.stop() }, late: { _ in })
      defer { watch.cancel() }
      return (told, watch.links)
    }
    #expect(told.count == 1)
    #expect(told.last == links && links.first?.addresses.count == 10)
  }

  @Test func anUnpluggedCableIsToldAfterTheRestWhateverElseChanges() throws {
    let took: Double? = try inPrivateNetwork {
      try ip("link add here type veth peer name there")
      try ip("link set here up")
      try ip("link set there up")
      try ip("addr add 10.9.0.1/24 dev here")
      let loop = try EventLoop()
      var told: Instant?
      let watch = try NetworkWatch(loop: loop) { links in
        guard !links.contains(where: { $0.name == "here" }) else { return }
        told = BootClock.now()
        loop.stop()
      }
      defer { watch.cancel() }
      guard watch.links.contains(where: { $0.name == "here" }) else { return nil }
      try ip("link set there down")
      let unplugged = BootClock.now()
      var host = 2
      loop.arm(unplugged + .milliseconds(50))
      try loop.run(
        due: { now in
          guard host < 100 else { return loop.stop() }
          try? ip("addr add 127.0.0.\(host)/8 dev lo")
          host += 1
          loop.arm(BootClock.now() + .milliseconds(50))
        }, late: { _ in })
      return told.map { ($0 - unplugged).milliseconds }
    }
    let milliseconds = try #require(took, "not told")
    print("unplugged to told: \(Int(milliseconds)) ms")
    #expect(milliseconds < 700)
  }
}
