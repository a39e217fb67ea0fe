import TalkCore
import Testing

@testable import TalkNet

/// Peers named by `--peer`.
@Suite struct NamedPeersTests {
  private static func seconds(_ value: Int64) -> Instant {
    Instant.zero + .seconds(1_000 + value)
  }

  private static func endpoint(_ low: UInt32) -> Endpoint {
    Endpoint(ipv4: 0x0a4d_0000 + low, port: 41_717)
  }

  private static func answer(_ name: HostAndPort, _ endpoints: Endpoint...) -> Resolution {
    Resolution(name: name, endpoints: endpoints, code: endpoints.isEmpty ? -2 : 0)
  }

  @Test func aNameThatIsNotFoundIsLookedUpAgainEverLaterAndSaidOnce() throws {
    let ben = try HostAndPort("ben-laptop")
    var peers = NamedPeers([ben, ben])
    var (now, times, lines): (Int64, [Int64], [String]) = (0, [], [])
    while now < 1_300 {
      if !peers.due(now: Self.seconds(now)).isEmpty {
        times.append(now)
        let change = peers.settle(Self.answer(ben), now: Self.seconds(now))
        if let line = change.line { lines.append(line) }
      }
      now += 1
    }
    #expect(times == [0, 2, 6, 14, 30, 62, 126, 254, 510, 810, 1_110])
    #expect(lines == ["peer ben-laptop:41717: no address found; it is looked up again"])
    let found = peers.settle(Self.answer(ben, Self.endpoint(2)), now: Self.seconds(now))
    #expect(found.line == "peer ben-laptop:41717: found")
    #expect(found.added == [Self.endpoint(2)])
  }

  @Test func aNameThatMovesTakesItsNewAddressAndGivesUpTheOldOne() throws {
    let ben = try HostAndPort("ben-laptop")
    var peers = NamedPeers([ben])
    #expect(peers.due(now: Self.seconds(0)) == [ben])
    let first = peers.settle(Self.answer(ben, Self.endpoint(2)), now: Self.seconds(0))
    #expect(first == NamedPeers.Change(added: [Self.endpoint(2)]))
    #expect(peers.deadline == Self.seconds(300))
    #expect(peers.due(now: Self.seconds(299)).isEmpty)
    #expect(peers.due(now: Self.seconds(300)) == [ben])
    let moved = peers.settle(Self.answer(ben, Self.endpoint(9)), now: Self.seconds(301))
    #expect(moved.added == [Self.endpoint(9)])
    #expect(moved.removed == [Self.endpoint(2)])
    #expect(moved.line == nil)
  }

  @Test func aNetworkChangeLooksEveryNameUpAtOnce() throws {
    let names = [try HostAndPort("ben-laptop"), try HostAndPort("10.77.0.3:41718")]
    var peers = NamedPeers(names)
    _ = peers.due(now: Self.seconds(0))
    for name in names {
      _ = peers.settle(Self.answer(name, Self.endpoint(3)), now: Self.seconds(0))
    }
    #expect(peers.due(now: Self.seconds(10)).isEmpty)
    peers.networkChanged()
    #expect(peers.due(now: Self.seconds(10)) == names)
  }

  @Test func aNameServerThatGoesAwayTakesNoAddressWithIt() throws {
    let ben = try HostAndPort("ben-laptop")
    var peers = NamedPeers([ben])
    _ = peers.settle(Self.answer(ben, Self.endpoint(2)), now: Self.seconds(0))
    let lost = peers.settle(Self.answer(ben), now: Self.seconds(300))
    #expect(lost.added.isEmpty && lost.removed.isEmpty)
    #expect(lost.line == "peer ben-laptop:41717: no address found; the last one stays")
    let again = peers.settle(Self.answer(ben), now: Self.seconds(302))
    #expect(again == NamedPeers.Change())
  }

  @Test func anAddressThatTwoNamesShareStaysWhileOneOfThemHasIt() throws {
    let (ben, room) = (try HostAndPort("ben-laptop"), try HostAndPort("room-3"))
    var peers = NamedPeers([ben, room])
    for name in [ben, room] { _ = peers.settle(Self.answer(name, Self.endpoint(2)), now: .zero) }
    let moved = peers.settle(Self.answer(ben, Self.endpoint(5)), now: .zero)
    #expect(moved.removed.isEmpty && moved.added == [Self.endpoint(5)])
  }
}
