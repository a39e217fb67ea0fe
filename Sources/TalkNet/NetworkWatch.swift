import TalkCore

import CLinux

/// Says when links or addresses have changed (netlink(7)), after they have come to rest.
package final class NetworkWatch {
  /// How long nothing may change before it is told.
  package static let rest = Duration.milliseconds(250)
  /// The longest that a change is held back while others follow; a link that is gone is told after
  /// `rest` whatever follows, for somebody may be speaking into it.
  package static let patience = Duration.seconds(2)

  private let netlink: Descriptor
  private let loop: EventLoop
  private var timer: LoopTimer?
  private var firstChange: Instant?
  private let changed: ([Link]) -> Void
  /// The links as last told.
  package private(set) var links: [Link]

  /// Watches until `cancel`. `changed` gets the new links, and is called only when they differ: the
  /// kernel reports every renewed lifetime of an address as well.
  package init(loop: EventLoop, changed: @escaping ([Link]) -> Void) throws(NetError) {
    netlink = try Descriptor(talk_netlink(), of: "netlink")
    links = Link.current()
    self.loop = loop
    self.changed = changed
    timer = try LoopTimer(loop: loop) { [weak self] in self?.settle() }
    try loop.add(fd: netlink.number) { [weak self] in self?.notice() }
  }

  private func notice() {
    guard talk_netlink_drain(netlink.number) != 0 else { return }
    let now = BootClock.now()
    let first = firstChange ?? now
    firstChange = first
    let latest = first + (hasLostLink ? Self.rest : Self.patience)
    timer?.arm(after: min(Self.rest, max(.zero, latest - now)))
  }

  /// True when a link that carried datagrams no longer does: unplugged, switched off or removed.
  private var hasLostLink: Bool {
    let present = Link.current().map(\.index)
    return links.contains { !present.contains($0.index) }
  }

  private func settle() {
    firstChange = nil
    let current = Link.current()
    guard current != links else { return }
    links = current
    changed(current)
  }

  /// Ends the watch.
  package func cancel() {
    loop.remove(fd: netlink.number)
    timer?.cancel()
  }
}
