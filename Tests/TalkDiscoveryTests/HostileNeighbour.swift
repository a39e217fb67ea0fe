import CTestSupport
import Glibc
import TalkNet

/// Somebody on the other end of the cable who sends mDNS packets that no daemon would.
struct HostileNeighbour {
  /// A process in the neighbour's network.
  let process: Int32

  /// Sends packets to 224.0.0.251:5353 from port 5353; returns how many left.
  func send(_ packets: [[UInt8]]) throws -> Int {
    let process = process
    let count = Count()
    let thread = try NodeThread(name: "neighbour") {
      guard test_enter_network_of(process) == 0 else { return }
      let fd = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
      defer { close(fd) }
      var (one, ttl): (Int32, Int32) = (1, 255)
      setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, 4)
      setsockopt(fd, Int32(IPPROTO_IP), IP_MULTICAST_TTL, &ttl, 4)
      var own = in_addr(s_addr: UInt32(0x0a2a_0002).bigEndian)
      setsockopt(fd, Int32(IPPROTO_IP), IP_MULTICAST_IF, &own, 4)
      func address(_ ip: UInt32) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(5_353).bigEndian
        address.sin_addr.s_addr = ip.bigEndian
        return address
      }
      func with<R>(_ ip: UInt32, _ body: (UnsafePointer<sockaddr>) -> R) -> R {
        withUnsafePointer(to: address(ip)) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
        }
      }
      guard with(0x0a2a_0002, { bind(fd, $0, 16) }) == 0 else { return }
      for packet in packets {
        if with(0xe000_00fb, { sendto(fd, packet, packet.count, 0, $0, 16) }) == packet.count {
          count.value += 1
        }
      }
    }
    thread.join()
    return count.value
  }

  private final class Count: @unchecked Sendable { var value = 0 }
}

/// Builds an mDNS response (RFC 6762; RFC 1035, section 4.1).
struct MDNSPacket {
  static let type = [Array("_talkaround".utf8), Array("_udp".utf8), Array("local".utf8)]

  private var records: [UInt8] = []
  private var count: UInt16 = 0

  /// The bytes of the packet.
  var bytes: [UInt8] { [0, 0, 0x84, 0, 0, 0] + Self.u16(count) + [0, 0, 0, 0] + records }

  /// A whole service: PTR, SRV, TXT, A. `ttl` 0 says goodbye. `text` is the record's raw data.
  init(
    name: [UInt8], port: UInt16 = 9, text: [UInt8] = [0], ttl: UInt8 = 120,
    host: String = "neighbour"
  ) {
    let instance = [name] + Self.type
    let host = [Array(host.utf8), Array("local".utf8)]
    add(Self.type, 12, isUnique: false, ttl, Self.labels(instance))
    add(instance, 33, isUnique: true, ttl, [0, 0, 0, 0] + Self.u16(port) + Self.labels(host))
    add(instance, 16, isUnique: true, ttl, text)
    if ttl > 0 { add(host, 1, isUnique: true, ttl, [10, 42, 0, 2]) }
  }

  private mutating func add(
    _ name: [[UInt8]], _ type: UInt16, isUnique: Bool, _ ttl: UInt8, _ data: [UInt8]
  ) {
    records += Self.labels(name) + Self.u16(type) + [isUnique ? 0x80 : 0, 1, 0, 0, 0, ttl]
    records += Self.u16(UInt16(data.count)) + data
    count += 1
  }

  private static func u16(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }

  private static func labels(_ name: [[UInt8]]) -> [UInt8] {
    name.flatMap { [UInt8($0.count)] + $0 } + [0]
  }
}
