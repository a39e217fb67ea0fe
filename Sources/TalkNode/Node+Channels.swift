package import TalkCore
import TalkCrypto
import TalkFloor
package import TalkMesh
import TalkSession

/// Why a command on a channel has no effect.
package enum ChannelRefusal: Error, Hashable, Sendable {
  /// No channel is called that.
  case unknown(String)
  /// A channel of that name is here already.
  case nameTaken(String)
  /// The name has nothing visible in it.
  case nameEmpty
  /// The node has as many channels as it takes.
  case tooMany
  /// The entropy pool was empty; try again.
  case entropy
  /// No memory for secrets: raise the limit of locked memory (`ulimit -l`).
  case secretMemory
  /// We are a member already.
  case alreadyMember(String)
  /// We are not a member yet, so we can't invite.
  case notMember
}

/// Channels: making, joining, inviting, leaving.
extension Node {
  /// The channels in the order of their names.
  package var channelNames: [(id: ChannelID, name: String)] {
    channels.values.map { ($0.id, $0.name) }.sorted { ($0.1, $0.0) < ($1.1, $1.0) }
  }

  /// The channel of that name or UUID, or the current one when none is named.
  package func find(_ name: String?) throws(ChannelRefusal) -> ChannelID {
    guard let name else {
      guard let current else { throw .unknown("") }
      return current
    }
    if let id = ChannelID(name), channels[id] != nil { return id }
    guard let channel = channels.values.first(where: { $0.name == name }) else {
      throw .unknown(name)
    }
    return channel.id
  }

  /// Makes a channel with ourselves as its root and first keeper.
  package func createChannel(
    _ text: String, rules: ChannelRules = [], _ step: Step
  ) throws(ChannelRefusal) -> ChannelID {
    guard let name = SafeText.name(text) else { throw .nameEmpty }
    guard !channels.values.contains(where: { $0.name == name }) else { throw .nameTaken(name) }
    guard !channels.isFull else { throw .tooMany }
    guard let drawn = step.entropy.draw(16), var secretBytes = step.entropy.draw(32) else {
      throw .entropy
    }
    defer { Secret.wipe(&secretBytes) }
    guard let secret = Secret(secretBytes, memory: configuration.memory) else {
      throw .secretMemory
    }
    let creator = identity.publicIdentity.fingerprint
    let random = rules.mark(Bytes16(drawn))
    let id = ChannelID(creator: creator, random: random)
    let record = ChannelRecord(
      id: id, name: name, creator: creator, random: random, epoch: 0, secret: secret,
      admits: Roster(channel: id, createdBy: identity).bodies, turnReserve: 0, joining: false,
      inviter: nil)
    guard let channel = add(record, now: step.now) else { throw .secretMemory }
    channel.floor.becomeFirstKeeper(now: step.now)
    if current == nil { current = id }
    performFloor(channel, step)
    step.record(.saveChannel(id))
    step.record(.tell(.channels))
    return id
  }

  /// Opens the admit window of a channel and gives the invite's line.
  package func invite(
    _ id: ChannelID, for duration: Duration, admitting number: Int, _ step: Step
  ) throws(ChannelRefusal) -> String {
    guard let channel = channels[id] else { throw .unknown(id.description) }
    guard channel.roster.isMember(me) else { throw .notMember }
    channel.window.open(for: duration, admitting: number, now: step.now)
    return Invite(
      creator: channel.creator, random: channel.random, epoch: channel.epoch,
      secret: channel.secret, inviter: me, name: channel.name
    ).text()
  }

  /// Starts to join the channel of an invite: it is looked for until a member with an open admit
  /// window answers.
  package func join(_ invite: Invite, _ step: Step) throws(ChannelRefusal) -> ChannelID {
    let id = invite.channel
    if let known = channels[id] {
      guard known.joining else { throw .alreadyMember(known.name) }
      return id
    }
    guard !channels.isFull else { throw .tooMany }
    var name = SafeText.name(invite.name) ?? "channel"
    if channels.values.contains(where: { $0.name == name }) {
      // Two channels of one name would be one on every screen.
      name = SafeText.cut(name, to: SafeText.nameLimit - 9) + " " + id.value.hex.prefix(8)
    }
    let record = ChannelRecord(
      id: id, name: name, creator: invite.creator, random: invite.random, epoch: invite.epoch,
      secret: invite.secret, admits: [], turnReserve: 0, joining: true, inviter: invite.inviter)
    guard add(record, now: step.now) != nil else { throw .secretMemory }
    if current == nil { current = id }
    step.record(.saveChannel(id))
    step.record(.tell(.channels))
    wakeDiscovery(step)
    return id
  }

  /// Makes a channel the one that commands mean.
  package func use(_ id: ChannelID, _ step: Step) {
    guard channels[id] != nil, current != id else { return }
    let before = current
    current = id
    // Both, since which one is current is kept with each.
    if let before { step.record(.saveChannel(before)) }
    step.record(.saveChannel(id))
    step.record(.tell(.channels))
  }

  /// Leaves a channel: the floor is passed on, the sessions end with a word, the secret is
  /// forgotten.
  package func leave(_ id: ChannelID, _ step: Step) {
    guard let channel = channels[id] else { return }
    keys.releaseAll(on: id)
    followKeys(step)
    sayGoodbye(channel, step)
    downlink.cutAll(now: step.now)
    closeUplink(of: channel)
    channels[id] = nil
    candidates.removeChannel(id)
    if current == id { current = channelNames.first?.id }
    serviceSchedule.restart(now: step.now)
    step.record(.forgetChannel(id))
    step.record(.tell(.channels))
  }

  /// The node ends: every floor is passed on and every session ends with a word.
  package func stop(_ step: Step) {
    for source in channels.values { keys.releaseAll(on: source.id) }
    followKeys(step)
    for channel in channels.values { sayGoodbye(channel, step) }
  }

  private func sayGoodbye(_ channel: Channel, _ step: Step) {
    if uplink.channel == channel.id { endTail(step) }
    channel.floor.leave(now: step.now)
    performFloor(channel, step)
    let nothing: [UInt8] = []
    unsafe sessions.removeChannel(
      channel.id, bye: nothing.span.bytes, now: step.now, slab: step.slab)
    unsafe drainSessions(step, datagram: nil)
  }

  /// What must be kept of a channel.
  package func record(of id: ChannelID) -> ChannelRecord? { channels[id]?.record }

  /// Turns up to `turn` may be used on a channel: the disk has it.
  package func turnsReserved(_ id: ChannelID, through turn: UInt64) {
    guard let channel = channels[id] else { return }
    channel.floor.turnsReserved(through: turn)
  }

  /// The disk did not take a reserve of turns: it is asked for again at the next turn.
  package func turnsNotReserved(_ id: ChannelID, _ step: Step) {
    channels[id]?.floor.reserveFailed()
  }

  /// The reserve that is being written for a channel, so that what is saved names it.
  package func willReserveTurns(_ id: ChannelID, through turn: UInt64) {
    guard let channel = channels[id] else { return }
    channel.turnReserve = max(channel.turnReserve, turn)
  }
}
