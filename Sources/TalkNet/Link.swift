package import TalkCore

import CLinux

/// One network interface that can carry datagrams, with its addresses.
package struct Link: Hashable, Sendable {
  /// An address and the length of its prefix.
  package struct Address: Hashable, Sendable {
    /// The address; IPv4 as ::ffff:a.b.c.d.
    package let address: Bytes16
    /// How many leading bits of the 128 all hosts of the link share.
    package let prefix: Int

    /// An address of the link; `prefix` counts in 128 bits for IPv4 too.
    package init(address: Bytes16, prefix: Int) {
      (self.address, self.prefix) = (address, prefix)
    }

    /// True when `other` is on the same subnet.
    package func contains(_ other: Bytes16) -> Bool {
      guard prefix > 0 else { return false }
      let high: UInt64 = prefix >= 64 ? .max : .max << UInt64(64 - prefix)
      let low: UInt64 = prefix <= 64 ? 0 : .max << UInt64(128 - prefix)
      return (address.high ^ other.high) & high == 0 && (address.low ^ other.low) & low == 0
    }
  }

  /// What an interface is like; candidates on later ones are tried later, none is left out: test
  /// hosts have nothing but veth links (mesh.md).
  package enum Kind: Int, Hashable, Comparable, Sendable {
    /// A card, or what looks like one.
    case usual
    /// A tunnel: a VPN.
    case tunnel
    /// A bridge, a port of one, or a container's end.
    case bridge
    /// This machine alone.
    case loopback

    /// Orders by how early a candidate on it is tried.
    package static func < (left: Kind, right: Kind) -> Bool { left.rawValue < right.rawValue }
  }

  /// The most interfaces that we use: the kernel allows 20 IPv4 groups per socket.
  package static let limit = 16
  /// The most addresses that we look at, of all interfaces.
  static let addressLimit = 256

  /// The kernel's number of the interface.
  package let index: UInt32
  /// Its name, for people.
  package let name: String
  /// What it is like.
  package let kind: Kind
  /// True when it takes multicast.
  package let isMulticast: Bool
  /// True when it takes broadcast.
  package let isBroadcast: Bool
  /// Its addresses, in rising order, so that equal lists compare equal.
  package var addresses: [Address]

  /// Its first IPv4 address, if it has one, as a big-endian number.
  package var ipv4: UInt32? {
    addresses.first { $0.isIPv4 }.map { UInt32(truncatingIfNeeded: $0.address.low) }
  }
  /// True when it has an IPv4 address.
  package var hasIPv4: Bool { ipv4 != nil }
  /// True when it has an IPv6 address.
  package var hasIPv6: Bool { addresses.contains { !$0.isIPv4 } }

  /// The interfaces that are up and have addresses, best kind first; at most `limit`.
  package static func current() -> [Link] {
    var rows = [talk_address](repeating: talk_address(), count: addressLimit)
    let count = unsafe talk_addresses(&rows, Int32(addressLimit))
    guard count > 0 else { return [] }
    var links: [Link] = []
    for row in rows[..<Int(count)] where row.flags & UInt32(TALK_UP) != 0 {
      let address = Address(row)
      if let known = links.firstIndex(where: { $0.index == row.index }) {
        links[known].addresses.append(address)
      } else {
        links.append(Link(row, address))
      }
    }
    for index in links.indices { links[index].addresses.sort { $0.order < $1.order } }
    links.sort { ($0.kind, $0.index) < ($1.kind, $1.index) }
    return Array(links.prefix(limit))
  }

  private init(_ row: talk_address, _ address: Address) {
    index = row.index
    name = unsafe withUnsafeBytes(of: row.name) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    kind = Kind(flags: row.flags)
    let isLoopback = kind == .loopback
    // The loopback interface has no such flag and carries IPv4 multicast all the same.
    isMulticast = isLoopback || row.flags & UInt32(TALK_MULTICAST) != 0
    isBroadcast = row.flags & UInt32(TALK_BROADCAST) != 0
    addresses = [address]
  }
}

extension Link.Address {
  /// True for IPv4.
  package var isIPv4: Bool { address.high == 0 && address.low >> 32 == 0xffff }

  /// From a row of `talk_addresses`.
  init(_ row: talk_address) {
    let v4 = row.high == 0 && row.low >> 32 == 0xffff
    self.init(
      address: Bytes16(high: row.high, low: row.low), prefix: Int(row.prefix) + (v4 ? 96 : 0))
  }

  /// What addresses are sorted by.
  fileprivate var order: (Bytes16, Int) { (address, prefix) }
}
