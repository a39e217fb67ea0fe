import Glibc
package import TalkCore

import CLinux

/// A network interface as it is, in use or not; `Link` holds those that can carry datagrams.
package struct Interface: Hashable, Sendable {
  /// Its name, for people.
  package var name: String
  /// The kernel's number of it.
  package var index: UInt32
  /// What it is like.
  package var kind: Link.Kind
  /// True when it is switched on.
  package var isUp: Bool
  /// True when it has a cable with something at its end, or an access point.
  package var hasCarrier: Bool
  /// True for Wi-Fi.
  package var isWireless: Bool

  /// An interface of its parts.
  package init(
    name: String, index: UInt32, kind: Link.Kind, isUp: Bool = true, hasCarrier: Bool = true,
    isWireless: Bool = false
  ) {
    self.name = name
    self.index = index
    self.kind = kind
    self.isUp = isUp
    self.hasCarrier = hasCarrier
    self.isWireless = isWireless
  }

  /// The most interfaces that are looked at.
  private static let limit = 256

  /// All interfaces, those that are switched off or have no address included.
  package static func all() -> [Interface] {
    var rows = [talk_interface](repeating: talk_interface(), count: limit)
    let count = unsafe talk_interfaces(&rows, Int32(limit))
    guard count > 0 else { return [] }
    return rows[..<Int(count)].map { row in
      let name = unsafe withUnsafeBytes(of: row.name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      return Interface(
        name: name, index: row.index, kind: Link.Kind(flags: row.flags),
        isUp: row.flags & UInt32(TALK_UP) != 0, hasCarrier: row.carrier != 0,
        isWireless: row.wireless != 0)
    }
  }
}

extension Link.Kind {
  /// What the flags of `talk_address` and `talk_interface` say.
  init(flags: UInt32) {
    if flags & UInt32(TALK_LOOPBACK) != 0 {
      self = .loopback
    } else if flags & UInt32(TALK_BRIDGED) != 0 {
      self = .bridge
    } else {
      self = flags & UInt32(TALK_POINT_TO_POINT) != 0 ? .tunnel : .usual
    }
  }
}

/// Which way datagrams would take.
package enum Route {
  /// The address that a datagram to `endpoint` would leave from, by the kernel's whole rules
  /// (connect(2) on UDP sends nothing); nil where there is no way.
  package static func source(toward endpoint: Endpoint) -> Bytes16? {
    var to = endpoint.c
    var source = talk_endpoint()
    guard unsafe talk_route_source(&to, &source) == 0 else { return nil }
    return Endpoint(source).address
  }

  /// The interface that traffic to the wide world leaves by; nil where there is no way.
  package static func defaultInterface(among links: [Link]) -> String? {
    // TEST-NET-2 and the documentation prefix (RFC 5737, RFC 3849): in nobody's network.
    let far = [
      Endpoint(ipv4: 0xc633_6401, port: 9),
      Endpoint(address: Bytes16(high: 0x2001_0db8 << 32, low: 1), port: 9),
    ]
    for endpoint in far {
      guard let source = source(toward: endpoint) else { continue }
      if let link = links.first(where: { $0.addresses.contains { $0.address == source } }) {
        return link.name
      }
    }
    return nil
  }
}
