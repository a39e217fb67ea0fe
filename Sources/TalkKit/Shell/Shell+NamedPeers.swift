import TalkCore
import TalkNet
import TalkNode

/// Peers that the person named with `--peer`.
extension Shell {
  /// Starts to look them up.
  func connectNamedPeers() throws {
    guard !options.staticPeers.isEmpty else { return }
    namedPeers = NamedPeers(try options.staticPeers.map { try HostAndPort($0) })
    let resolver = try Resolver()
    self.resolver = resolver
    namesTimer = try LoopTimer(loop: loop) { [unowned self] in self.lookUpPeers() }
    try loop.add(fd: resolver.results.fd) { [unowned self] in
      resolver.results.drain { self.lookedUp($0) }
    }
    lookUpPeers()
  }

  /// Looks up what is due.
  func lookUpPeers() {
    guard let resolver else { return }
    for name in namedPeers.due(now: BootClock.now()) { resolver.resolve(name) }
    armNames()
  }

  private func lookedUp(_ resolution: Resolution) {
    let change = namedPeers.settle(resolution, now: BootClock.now())
    if let line = change.line { Log.line(line) }
    input { step in
      for endpoint in change.removed { self.node.removeStaticPeer(endpoint, step) }
      for endpoint in change.added { self.node.addStaticPeer(endpoint, step) }
    }
    armNames()
  }

  private func armNames() {
    guard let deadline = namedPeers.deadline else { return }
    namesTimer?.arm(after: max(.zero, deadline - BootClock.now()))
  }
}
