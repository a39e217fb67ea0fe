package import TalkCore
import TalkCrypto
package import TalkMesh
import TalkSession
import TalkWire

/// Finding peers: HELLOs, mDNS, static endpoints; and calling them.
extension Node {
  private var channelKeys: [(channel: ChannelID, keys: ChannelKeys)] {
    channels.values.map { ($0.id, $0.keys) }
  }

  /// A HELLO came: a member of some channel of ours is there.
  func receiveHello(_ datagram: UnsafeRawBufferPointer, from endpoint: Endpoint, _ step: Step) {
    let opened: (channel: ChannelID, body: HelloBody)
    do {
      opened = unsafe try Hello.open(datagram.bytes, channels: channelKeys)
    } catch {
      counters.droppedHellos += 1
      return
    }
    guard opened.body.bootInstance != configuration.boot else {
      counters.ownHellos += 1
      return
    }
    guard let channel = channels[opened.channel],
      channel.helloWindow.isNew(opened.body, now: step.now)
    else {
      counters.droppedHellos += 1
      return
    }
    counters.heardHellos += 1
    counters.lastHello = step.now
    var source = endpoint
    source.port = opened.body.port
    // What the table refuses needs no answer: it is full, or the address is no peer's.
    try? candidates.heardHello(
      from: source, of: channel.id, bootInstance: opened.body.bootInstance, now: step.now)
    candidates.addExchange(opened.body.entries, of: channel.id, now: step.now)
    wakeDiscovery(step)
  }

  /// A service record was found over mDNS at `endpoints`.
  package func found(
    instance: String, txt: [[UInt8]], at endpoints: [Endpoint], _ step: Step
  ) {
    for id in ServiceRecord.matches(txt: txt, instance: instance, channels: channelKeys) {
      for endpoint in endpoints {
        try? candidates.add(endpoint, of: id, from: .mdns, now: step.now)
      }
    }
    wakeDiscovery(step)
  }

  /// A peer at a fixed endpoint, for every channel.
  package func addStaticPeer(_ endpoint: Endpoint, _ step: Step) {
    guard !staticPeers.contains(endpoint), staticPeers.count < Node.staticPeerLimit else {
      return
    }
    staticPeers.append(endpoint)
    for channel in channels.values {
      try? candidates.add(endpoint, of: channel.id, from: .staticPeer, now: step.now)
    }
    wakeDiscovery(step)
  }

  /// A peer that was at this endpoint in an earlier run.
  package func addRemembered(_ endpoint: Endpoint, of channel: ChannelID, _ step: Step) {
    guard channels[channel] != nil else { return }
    try? candidates.add(endpoint, of: channel, from: .remembered, now: step.now)
    wakeDiscovery(step)
  }

  /// A fixed endpoint is none any more: its name stands for another one now.
  package func removeStaticPeer(_ endpoint: Endpoint, _ step: Step) {
    staticPeers.removeAll { $0 == endpoint }
    for channel in channels.values {
      candidates.withdraw(endpoint, of: channel.id, from: .staticPeer)
    }
  }

  /// The links of the machine changed: everything is announced anew. Peers on a link that is gone
  /// are away at once, and whoever speaks into it learns that nobody hears.
  package func linksChanged(_ links: [LinkAddress], _ step: Step) {
    let near = channels.values.flatMap { channel in
      channel.peers.indices.map { (channel, channel.peers.entry(at: $0)) }
        .filter { candidates.isOnLink($0.1.value.endpoint) }
    }
    candidates.setLinks(links, ownPort: configuration.port, now: step.now)
    for (channel, peer) in near where !candidates.isOnLink(peer.value.endpoint) {
      channel.presence.linkLost(to: peer.key, now: step.now)
      followPresence(channel, step)
    }
    for channel in channels.values { channel.helloSchedule.restart(now: step.now) }
    serviceSchedule.restart(now: step.now)
    wakeDiscovery(step)
  }

  /// Somebody else has our mDNS instance: take another one.
  package func renewServiceRecord(_ step: Step) {
    serviceSchedule.restart(now: step.now)
    wakeDiscovery(step)
  }

  /// Announces and calls what is due.
  func wakeDiscovery(_ step: Step) {
    for channel in channels.values {
      if channel.helloSchedule.isDue(now: step.now, memberCount: channel.roster.memberCount),
        configuration.sendsHellos
      {
        sendHello(channel, step)
      }
    }
    if announces, serviceSchedule.isDue(now: step.now) { publish(step) }
    while let dial = candidates.nextDial(now: step.now) {
      guard let channel = channels[dial.channel] else { continue }
      if let peer = dial.knownAs, channel.peers[peer]?.endpoint == dial.endpoint,
        channel.away[peer] == nil
      {
        continue
      }
      // The table has counted in the 0.3 s for which the larger boot instance waits.
      sessions.dial(
        dial.channel, dial.endpoint, waitFirst: false, attempts: dial.inits, now: step.now)
    }
  }

  private func sendHello(_ channel: Channel, _ step: Step) {
    helloCounter += 1
    let body = HelloBody(
      bootInstance: configuration.boot, counter: helloCounter, port: configuration.port,
      entries: candidates.exchange(of: channel.id, now: step.now) {
        channel.presence.lastHeard($0)
      })
    guard let bytes = Hello.seal(body, keys: channel.keys, entropy: &step.entropy),
      let range = step.slab.reserve(bytes.count)
    else {
      counters.unsentHellos += 1
      return
    }
    unsafe step.slab[range].copyBytes(from: bytes)
    step.hello(range)
    for endpoint in alsoByUnicast(channel) { step.send(range, to: endpoint) }
  }

  /// Two members at a time get the HELLO by unicast too: where multicast dies or a router is
  /// between us, what it says of others still goes round (mesh.md, peer exchange).
  private func alsoByUnicast(_ channel: Channel) -> [Endpoint] {
    let present = channel.peers.indices.map(channel.peers.entry(at:)).filter {
      channel.away[$0.key] == nil
    }.map(\.value.endpoint)
    let first = Int(truncatingIfNeeded: 2 * helloCounter) % max(1, present.count)
    return Array((present[first...] + present[..<first]).prefix(2))
  }

  private func publish(_ step: Step) {
    guard
      let record = ServiceRecord(
        keys: channels.values.map(\.keys), entropy: &step.entropy)
    else {
      serviceSchedule.restart(now: step.now + .seconds(1))
      return
    }
    step.record(.publish(instance: record.instance, txt: record.txt))
  }

  /// The endpoints where members of a channel proved themselves, for the next run.
  package func knownPaths(of channel: ChannelID) -> [KnownPath] {
    candidates.knownPaths(of: channel)
  }
}
