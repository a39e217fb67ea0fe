import TalkCore
import TalkDiscovery
import TalkNet
import Testing

extension AvahiDiscoveryTests {
  /// What a neighbour sends that we must live with, beside two services that are right.
  private static let packets: [[UInt8]] = {
    func text(_ count: Int) -> [UInt8] { [UInt8(count)] + [UInt8](repeating: 7, count: count) }
    func hex(_ digit: Character) -> [UInt8] { Array(String(repeating: digit, count: 16).utf8) }
    var random = SeededGenerator(seed: 41_717)
    let names: [[UInt8]] = [
      Array("evil\nname\u{1b}[2J".utf8), [UInt8](repeating: UInt8(ascii: "a"), count: 63),
      [UInt8](repeating: 0xff, count: 16), Array("0123456789ABCDEF".utf8), Array(" ".utf8),
      Array("\u{202e}fedcba9876543".utf8), Array("[[[[[[[[".utf8), [0xc3],
      Array("0123456789abcde\0".utf8), Array("a.b\\.c".utf8),
    ]
    var packets = names.map { MDNSPacket(name: $0).bytes }
    packets.append(MDNSPacket(name: hex("1"), text: text(250) + text(250)).bytes)
    packets.append(MDNSPacket(name: hex("2"), port: 0).bytes)
    packets.append(MDNSPacket(name: hex("3"), text: [200, 1, 2]).bytes)
    packets.append(Array(MDNSPacket(name: hex("4")).bytes.dropLast(7)))
    for count in [0, 1, 11, 12, 13, 500, 1_400] {
      packets.append((0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) })
    }
    packets.append(MDNSPacket(name: hex("e"), text: [0]).bytes)
    packets.append(MDNSPacket(name: hex("f"), text: [3] + Array("v=1".utf8) + text(4)).bytes)
    return packets
  }()

  @Test func hostileServicesAreLeftOutAndTheGoodOnesFound() throws {
    let avahi = try PrivateAvahi()
    avahi.order("bus")
    avahi.order("avahi")
    let a = try AvahiDiscovery()
    try a.publish(instance: "00000000000000aa", port: 41_717, text: [])
    a.registered("00000000000000aa")
    let neighbour = HostileNeighbour(process: avahi.neighbour)
    #expect(try neighbour.send(Self.packets) == Self.packets.count)
    var found: [String: DiscoveredService] = [:]
    a.events("the good ones") {
      if case .found(let service) = $0 { found[service.instance] = service }
      return found["eeeeeeeeeeeeeeee"] != nil && found["ffffffffffffffff"] != nil
    }
    let good = found["ffffffffffffffff"]
    #expect(good?.endpoint == Endpoint(ipv4: 0x0a2a_0002, port: 9))
    #expect(good.map { Set($0.text) } == [Array("v=1".utf8), [7, 7, 7, 7]])
    #expect(found["eeeeeeeeeeeeeeee"]?.text == [])
    #expect(Set(found.keys).isDisjoint(with: ["1111111111111111", "2222222222222222"]))
    #expect(a.counters.ignored >= 6 && a.counters.clients == 1)
  }

  /// More resolvers than the 1,024 objects that the daemon allows a client; a hundred at a time,
  /// since its socket holds no more than some 160 packets.
  @Test func manyJoinsAndLeavesLeaveNoObjectBehind() throws {
    let avahi = try PrivateAvahi()
    avahi.order("bus")
    avahi.order("avahi")
    let a = try AvahiDiscovery()
    a.status(.running)
    let neighbour = HostileNeighbour(process: avahi.neighbour)
    var (found, lost) = (0, 0)
    for round in 0..<12 {
      let names = (0..<100).map { index in
        let digits = String(round * 100 + index, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
      }
      var open = Set(names)
      for ttl: UInt8 in [120, 0] {
        let packets = names.map { MDNSPacket(name: Array($0.utf8), ttl: ttl).bytes }
        #expect(try neighbour.send(packets) == 100)
        a.events("round \(round), ttl \(ttl)") {
          switch $0 {
          case .found(let service) where ttl > 0: open.remove(service.instance)
          case .lost(let instance) where ttl == 0: open.remove(instance)
          default: break
          }
          return open.isEmpty
        }
        if ttl > 0 { found += 100 - open.count } else { lost += 100 - open.count }
        open = Set(names)
      }
    }
    #expect(found == 1_200 && lost == 1_200)
    let counters = a.counters
    #expect(counters.resolvers >= 1_200 && counters.clients == 1)
    #expect(counters.mostResolvers <= 32 && counters.liveResolvers <= 1)
  }
}
