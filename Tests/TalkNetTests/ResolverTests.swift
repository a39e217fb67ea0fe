import TalkCore
import TalkNet
import Testing

@Suite struct ResolverTests {
  @Test func addressesAreReadAsPeopleWriteThem() throws {
    let cases: [(text: String, host: String, port: UInt16)] = [
      ("192.0.2.7", "192.0.2.7", 41_717),
      ("192.0.2.7:5000", "192.0.2.7", 5_000),
      ("anna.local", "anna.local", 41_717),
      ("anna.local:65535", "anna.local", 65_535),
      ("fe80::1%eth0", "fe80::1%eth0", 41_717),
      ("[fe80::1%eth0]:7", "fe80::1%eth0", 7),
      ("[2001:db8::1]", "2001:db8::1", 41_717),
      ("::1", "::1", 41_717),
      ("bücher.example:1", "bücher.example", 1),
    ]
    for test in cases {
      let name = try HostAndPort(test.text)
      #expect(name.host == test.host && name.port == test.port, "\(test.text)")
      #expect(try HostAndPort(name.description) == name)
    }
  }

  @Test func whatIsNoAddressIsRefusedWithTheReason() {
    let cases: [(String, AddressError)] = [
      ("", .empty), (":41717", .empty), ("[]:1", .empty),
      ("host:", .badPort("")), ("host:0", .badPort("0")), ("host:65536", .badPort("65536")),
      ("host:+1", .badPort("+1")), ("host:4x", .badPort("4x")), ("[::1]:", .badPort("")),
      ("[::1", .badBrackets("[::1")), ("[::1]x", .badBrackets("[::1]x")),
      ("a b", .badHost("a b")), ("http//host", .badHost("http//host")),
      ("a\u{1b}[0m", .badHost("a\u{1b}[0m")), ("a\0b:1", .badHost("a\0b:1")),
      (String(repeating: "a", count: 256), .badHost(String(repeating: "a", count: 256))),
    ]
    for (text, error) in cases {
      #expect(throws: error, "\(text)") { try HostAndPort(text) }
    }
  }

  @Test func aLiteralNeedsNoDNSAndKeepsItsInterface() throws {
    let cases: [(String, Endpoint?)] = [
      ("127.0.0.1:9", Endpoint(ipv4: loopback4, port: 9)),
      ("[::1]:9", loopback6(9)),
      ("[fe80::5%lo]:9", Endpoint(address: Bytes16(high: 0xfe80 << 48, low: 5), port: 9, scope: 1)),
      ("[fe80::5%no-such-link]:9", nil),
      ("[::ffff:10.0.0.1]:9", Endpoint(ipv4: 0x0a00_0001, port: 9)),
      ("localhost:9", nil),
      ("300.1.1.1:9", nil),
    ]
    for (text, endpoint) in cases { #expect(try HostAndPort(text).literal == endpoint, "\(text)") }
  }

  /// In a network without a way out DNS fails at once, so nothing here waits for a server.
  @Test(.enabled(if: isRoot, rootReason)) func namesAreLookedUpOnAnotherThread() throws {
    let results = try inPrivateNetwork {
      let resolver = try Resolver()
      let names = try ["localhost:5", "no-such-host.invalid", "127.0.0.1:6"].map {
        try HostAndPort($0)
      }
      for name in names { resolver.resolve(name) }
      var results: [Resolution] = []
      while results.count < 3 {
        resolver.results.wait(milliseconds: 30_000)
        resolver.results.drain { results.append($0) }
      }
      return results
    }
    func result(_ host: String) -> Resolution? { results.first { $0.name.host == host } }
    #expect(result("localhost")?.endpoints.contains(Endpoint(ipv4: loopback4, port: 5)) == true)
    #expect(result("localhost")?.code == 0)
    #expect(result("no-such-host.invalid")?.endpoints.isEmpty == true)
    #expect((result("no-such-host.invalid")?.code ?? 0) < 0)
    #expect(result("127.0.0.1")?.endpoints == [Endpoint(ipv4: loopback4, port: 6)])
  }

  @Test func tooManyNamesAreRefused() throws {
    let resolver = try Resolver()
    let name = try HostAndPort("127.0.0.1:1")
    let taken = (0..<Resolver.resultLimit + 1).map { _ in resolver.resolve(name) }
    #expect(taken.dropLast().allSatisfy { $0 } && taken.last == false)
  }
}
