import TalkCore
import TalkCrypto
import TalkFloor
import TalkMesh
import TalkSession
import TalkWire

/// The life of sessions: who is let in, who is here, who has gone.
extension Node {
  /// A peer proved its keys; the roster decides whether it is let in. Comes again with each repeat,
  /// so one who is not known yet is simply left waiting for its ADMITs.
  func judge(_ pending: PendingID, _ introduction: Introduction, _ step: Step) {
    guard let channel = channels[introduction.channel] else {
      sessions.refuse(pending)
      return
    }
    let peer = introduction.peer
    if channel.roster.member(peer)?.identity == introduction.identity {
      sessions.accept(pending, now: step.now, slab: step.slab)
      return
    }
    guard !channel.joining, channel.roster.isMember(me), introduction.joining else { return }
    guard channel.window.mayAdmit(now: step.now),
      (try? channel.roster.admit(introduction.identity, by: identity)) != nil
    else {
      step.record(.tell(.wantsIn(channel.id, peer, nickname: introduction.nickname)))
      return
    }
    channel.window.admitted()
    channel.nicknames[peer] = introduction.nickname
    rosterChanged(channel, [peer], step)
    sessions.accept(pending, now: step.now, slab: step.slab)
    step.record(.tell(.admitted(channel.id, peer)))
    for body in channel.roster.chain(for: peer) { sendToAll(.admit, body, channel, step) }
  }

  /// A session with a member is up, or a restarted one is back.
  func linkUp(_ link: LinkID, _ introduction: Introduction, _ step: Step) {
    guard let channel = channels[introduction.channel] else { return }
    let peer = introduction.peer
    channel.peers[peer] = Channel.Peer(
      link: link, nickname: introduction.nickname, endpoint: introduction.endpoint,
      boot: introduction.boot)
    channel.nicknames[peer] = introduction.nickname
    channel.away[peer] = nil
    candidates.authenticated(
      peer, at: introduction.endpoint, of: channel.id, now: step.now)
    channel.presence.sessionUp(peer, now: step.now)
    channel.floor.setPresent(peer, true, now: step.now)
    if channel.roster.member(peer)?.admittedBy == me {
      // The newcomer needs its own chain, whoever called whom.
      for body in channel.roster.chain(for: peer) { send(.admit, body, to: link, step) }
    }
    performFloor(channel, step)
    performPresence(channel, step)
    step.record(.tell(.member(channel.id, peer)))
  }

  /// A dialed endpoint turned out to be another way to a peer that is here.
  func linkAlias(_ link: LinkID, _ endpoint: Endpoint, _ step: Step) {
    guard let state = sessions.state(of: link) else { return }
    candidates.authenticated(state.peer, at: endpoint, of: state.channel, now: step.now)
  }

  /// A session ended.
  func linkDown(_ link: LinkID, _ reason: DownReason, _ step: Step) {
    for channel in channels.values {
      guard
        let index = channel.peers.indices.first(where: { channel.peers[at: $0].link == link })
      else { continue }
      forget(channel.peers.entry(at: index).key, of: channel, leaving: reason == .bye, step)
    }
  }

  /// A member's session is gone: everything that stands on it ends.
  func forget(_ peer: PeerID, of channel: Channel, leaving: Bool, _ step: Step) {
    channel.peers[peer] = nil
    channel.away[peer] = nil
    channel.presence.sessionDown(peer, now: step.now)
    channel.sync.forget(peer)
    candidates.sessionEnded(with: peer, in: channel.id, leaving: leaving, now: step.now)
    channel.floor.setPresent(peer, false, now: step.now)
    performFloor(channel, step)
    performPresence(channel, step)
    step.record(.tell(.member(channel.id, peer)))
  }

  /// A peer's datagrams come from elsewhere now.
  func linkMoved(_ link: LinkID, _ endpoint: Endpoint, _ step: Step) {
    guard let state = sessions.state(of: link), let channel = channels[state.channel],
      let index = channel.peers.index(of: state.peer)
    else { return }
    channel.peers[at: index].endpoint = endpoint
    candidates.authenticated(state.peer, at: endpoint, of: channel.id, now: step.now)
  }

  /// Sends what presence wants sent and follows who came and went.
  func performPresence(_ channel: Channel, _ step: Step) {
    let status = OwnStatus(
      rosterDigest: channel.roster.digest, isDeaf: !hasSpeaker, hasMicrophone: hasMicrophone)
    while let (peer, body) = channel.presence.nextKeepalive(now: step.now, status: status) {
      guard let link = channel.peers[peer]?.link else { continue }
      seal(.presence, to: link, step) { body.write(to: &$0) }
    }
    followPresence(channel, step)
  }

  /// Follows who came and went.
  func followPresence(_ channel: Channel, _ step: Step) {
    while let event = channel.presence.nextEvent() {
      switch event {
      case .changed(let peer, let isPresent):
        candidates.setPath(of: peer, in: channel.id, works: isPresent, now: step.now)
        if isPresent {
          channel.away[peer] = nil
        } else if channel.peers[peer] != nil {
          channel.away[peer] = step.now
        }
        channel.floor.setPresent(
          peer, isPresent && channel.peers[peer] != nil, now: step.now)
        performFloor(channel, step)
        step.record(.tell(.member(channel.id, peer)))
      case .notice(let peer, let isPresent):
        presenceTone(isPresent ? .came : .left, of: peer, channel, step)
      }
    }
  }

  /// Ends the sessions of peers that have been away for long.
  func forgetLongAway(_ channel: Channel, _ step: Step) {
    for index in channel.away.indices.reversed() {
      let (peer, since) = channel.away.entry(at: index)
      guard since + Node.forgetAway <= step.now else { continue }
      channel.away[peer] = nil
      guard let link = channel.peers[peer]?.link else { continue }
      let nothing: [UInt8] = []
      unsafe sessions.close(link, bye: nothing.span.bytes, now: step.now, slab: step.slab)
      linkDown(link, .timeout, step)
    }
  }

  // MARK: The roster

  /// An ADMIT came, in a chain or from a member.
  func mergeAdmit(_ body: UnsafeRawBufferPointer, _ id: ChannelID, _ step: Step) {
    guard let channel = channels[id] else { return }
    let result = unsafe channel.roster.merge([Array(body)])
    counters.malformed += result.refused.count
    guard result.accepted > 0 else { return }
    rosterChanged(channel, result.changed, step)
  }

  /// Members were added or changed: the floor, the sessions and the disk learn of it.
  func rosterChanged(_ channel: Channel, _ changed: [PeerID], _ step: Step) {
    for peer in changed {
      guard peer != me, let member = channel.roster.member(peer) else { continue }
      channel.tellFloor(of: member)
      step.record(.tell(.member(channel.id, peer)))
    }
    if channel.joining, channel.roster.isMember(me) {
      channel.joining = false
      step.record(.tell(.joined(channel.id)))
    }
    proveOurselves(channel)
    step.record(.saveChannel(channel.id))
  }

  /// Tells the sessions what we prove of ourselves on a channel.
  func proveOurselves(_ channel: Channel) {
    sessions.setOwnChain(
      channel.id, channel.joining ? [] : channel.roster.chain(for: me),
      joining: channel.joining)
    sessions.setRosterDigest(channel.id, channel.roster.digest)
  }

  /// Sends what roster sync wants sent.
  func performSync(_ channel: Channel, _ step: Step) {
    while let effect = channel.sync.next(now: step.now, roster: channel.roster) {
      switch effect {
      case .pull(let peer):
        let body = RosterPullBody(digest: channel.roster.digest)
        guard let link = channel.peers[peer]?.link else { continue }
        seal(.rosterPull, to: link, step) { body.write(to: &$0) }
      case .push(let peer, let cursor):
        guard let link = channel.peers[peer]?.link, let body = channel.roster.record(at: cursor)
        else { continue }
        send(.admit, body, to: link, step)
      case .end(let peer, let count):
        let body = RosterDigestBody(digest: channel.roster.digest, count: count)
        guard let link = channel.peers[peer]?.link else { continue }
        seal(.rosterDigest, to: link, step) {
          body.write(to: &$0)
        }
      }
    }
  }

  // MARK: Sending

  /// Encodes a body once and seals it for one session.
  func seal(
    _ kind: Kind, to link: LinkID, _ step: Step, _ write: (inout ByteWriter) -> Void
  ) {
    let count = scratch.encode(write)
    sealScratch(kind, count, to: link, step)
  }

  /// Encodes a body once and seals it for every session of a channel.
  func sealForAll(
    _ kind: Kind, _ channel: Channel, _ step: Step, _ write: (inout ByteWriter) -> Void
  ) {
    let count = scratch.encode(write)
    for index in channel.peers.indices {
      sealScratch(kind, count, to: channel.peers[at: index].link, step)
    }
  }

  private func sealScratch(_ kind: Kind, _ count: Int, to link: LinkID, _ step: Step) {
    let body = unsafe RawSpan(_unsafeBytes: scratch.bytes(count))
    guard
      let sealed = sessions.seal(
        kind: kind, flags: 0, body: body, padded: kind != .voice, to: link, slab: step.slab,
        now: step.now)
    else {
      counters.unsealed += 1
      return
    }
    step.send(sealed.range, to: sealed.endpoint)
  }

  /// Seals finished bytes for one session.
  func send(_ kind: Kind, _ body: [UInt8], to link: LinkID, _ step: Step) {
    seal(kind, to: link, step) { $0.bytes(body) }
  }

  /// Seals finished bytes for every session of a channel.
  func sendToAll(_ kind: Kind, _ body: [UInt8], _ channel: Channel, _ step: Step) {
    sealForAll(kind, channel, step) { $0.bytes(body) }
  }
}

/// Memory in which a body is encoded once, to be sealed for one peer or many.
@safe final class BodyScratch {
  private let memory: UnsafeMutableRawBufferPointer

  /// Room for the longest body.
  init() {
    unsafe memory = .allocate(byteCount: 2_048, alignment: 16)
    unsafe memory.initializeMemory(as: UInt8.self, repeating: 0)
  }

  deinit { unsafe memory.deallocate() }

  /// Lets `write` fill the memory from its start; returns how many bytes that took.
  func encode(_ write: (inout ByteWriter) -> Void) -> Int {
    var writer = unsafe ByteWriter(memory.mutableBytes)
    write(&writer)
    precondition(!writer.failed, "a body of more than \(unsafe memory.count) bytes")
    return writer.offset
  }

  /// The first `count` bytes.
  func bytes(_ count: Int) -> UnsafeRawBufferPointer {
    unsafe UnsafeRawBufferPointer(rebasing: memory[..<count])
  }
}
