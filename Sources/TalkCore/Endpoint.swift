/// Where datagrams go and come from: an address, a port, and the interface of a link-local address.
public struct Endpoint: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The IPv6 address; an IPv4 address is held as ::ffff:a.b.c.d (RFC 4291, section 2.5.5.2).
  public var address: Bytes16
  /// The UDP port.
  public var port: UInt16
  /// The interface index of a link-local address, else 0 (RFC 4007).
  public var scope: UInt32

  /// Makes an endpoint of its parts.
  public init(address: Bytes16, port: UInt16, scope: UInt32 = 0) {
    self.address = address
    self.port = port
    self.scope = scope
  }

  /// Makes an IPv4 endpoint; the address is read big-endian, so 127.0.0.1 is 0x7f000001.
  public init(ipv4: UInt32, port: UInt16) {
    self.init(address: Bytes16(high: 0, low: 0xffff_0000_0000 | UInt64(ipv4)), port: port)
  }

  /// The IPv4 address, read big-endian, if this is one.
  public var ipv4: UInt32? {
    guard address.high == 0, address.low >> 32 == 0xffff else { return nil }
    return UInt32(truncatingIfNeeded: address.low)
  }

  /// True for fe80::/10: such an address means something only on one interface.
  public var isLinkLocal: Bool { address.high >> 54 == 0xfe80 >> 6 }

  /// Orders by address, then port, then scope.
  public static func < (left: Endpoint, right: Endpoint) -> Bool {
    (left.address, left.port, left.scope) < (right.address, right.port, right.scope)
  }

  /// `a.b.c.d:port`, or `[hex groups]:port` with `%scope` where there is one.
  public var description: String {
    if let ipv4 {
      return "\(ipv4 >> 24).\(ipv4 >> 16 & 255).\(ipv4 >> 8 & 255).\(ipv4 & 255):\(port)"
    }
    let groups = [address.high, address.low].flatMap { half in
      stride(from: 48, through: 0, by: -16).map { String(half >> UInt64($0) & 0xffff, radix: 16) }
    }
    return "[\(groups.joined(separator: ":"))\(scope == 0 ? "" : "%\(scope)")]:\(port)"
  }
}
