package import TalkCore

import CLinux

/// Why an address that a person wrote is none.
package enum AddressError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Nothing was written, or nothing but a port.
  case empty
  /// What follows the colon is no number from 1 to 65535.
  case badPort(String)
  /// A `[` without its `]`, or text after it that is no port.
  case badBrackets(String)
  /// Something that stands in no host name: a blank, a slash, a control character.
  case badHost(String)

  /// One line for a person.
  package var description: String {
    switch self {
    case .empty: "the address is empty: write host, host:port or [IPv6 address]:port"
    case .badPort(let text): "\"\(SafeText.escaped(text))\" is no port: use 1 to 65535"
    case .badBrackets(let text):
      "\"\(SafeText.escaped(text))\": write an IPv6 address with a port as [address]:port"
    case .badHost(let text): "\"\(SafeText.escaped(text))\" is no host name or address"
    }
  }
}

/// A host and a port as a person writes them: `host:port`, a name, an IPv4 or IPv6 address,
/// `[fe80::1%eth0]:port`; without a port it is ours.
package struct HostAndPort: Hashable, Sendable, CustomStringConvertible {
  /// The longest host that is taken, in bytes: a DNS name with a scope has fewer.
  package static let hostLimit = 255

  /// A name or an address, an IPv6 one with its `%interface` if it had one.
  package let host: String
  /// The UDP port.
  package let port: UInt16

  /// Reads what a person wrote.
  package init(_ text: String, defaultPort: UInt16 = UDPSocket.port) throws(AddressError) {
    let (host, port) = try Self.split(text)
    guard !host.isEmpty else { throw .empty }
    guard host.utf8.count <= Self.hostLimit, host.utf8.allSatisfy(Self.isAllowed) else {
      throw .badHost(text)
    }
    self.host = String(host)
    guard let port else {
      self.port = defaultPort
      return
    }
    guard port.utf8.allSatisfy({ (48...57).contains($0) }), let number = UInt16(port), number > 0
    else { throw .badPort(String(port)) }
    self.port = number
  }

  private static func split(_ text: String) throws(AddressError) -> (Substring, Substring?) {
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else { throw .badBrackets(text) }
      let host = text[text.index(after: text.startIndex)..<end]
      let rest = text[text.index(after: end)...]
      if rest.isEmpty { return (host, nil) }
      guard rest.hasPrefix(":") else { throw .badBrackets(text) }
      return (host, rest.dropFirst())
    }
    let colons = text.utf8.count { $0 == UInt8(ascii: ":") }
    // Two colons and no brackets: an IPv6 address without a port.
    guard colons == 1, let colon = text.firstIndex(of: ":") else { return (text[...], nil) }
    return (text[..<colon], text[text.index(after: colon)...])
  }

  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "%"), 0x80...:
      true
    default: false
    }
  }

  /// As it can be read again.
  package var description: String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }

  /// The endpoint, where the host is an address and its interface exists; never asks DNS.
  package var literal: Endpoint? { resolve(numeric: true).endpoints.first }

  /// The endpoints that getaddrinfo(3) finds, at most `Resolver.endpointLimit`, and its EAI_ code.
  func resolve(numeric: Bool) -> (endpoints: [Endpoint], code: Int32) {
    var found = [talk_endpoint](repeating: talk_endpoint(), count: Resolver.endpointLimit)
    let count = unsafe talk_resolve(
      host, port, numeric ? 1 : 0, &found, Int32(Resolver.endpointLimit))
    guard count > 0 else { return ([], count) }
    return (found[..<Int(count)].map { Endpoint($0) }, 0)
  }
}
