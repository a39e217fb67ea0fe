package import TalkCore
package import TalkCrypto
import TalkFloor
import TalkMesh
import TalkSession
package import TalkVoice
import TalkWire

/// One running Talkaround: every machine of it, with no I/O, no clock and no randomness of its own.
///
/// How to drive it (architecture.md, "The loop contract"): give each input with a `Step` that holds
/// the time and entropy (`receive`, `wake`, `captured`, the commands); perform what the step
/// recorded, in order; call `wake` at `deadline`. Start and stop the devices as `wantsCapture` and
/// `wantsPlayback` say, and fill the speaker with `render`. Where things are: datagrams in
/// `+Receive`, sessions' life in `+Sessions`, the floor's effects in `+Floor`, the key and our
/// voice in `+Talk`, channels and joining in `+Channels`, finding peers in `+Discovery`.
package final class Node {
  /// What a node is told when it starts.
  package struct Configuration: Sendable {
    /// What people call us.
    package var nickname: String
    /// Random, new at each start: which of two nodes calls the other.
    package var boot: UInt64
    /// The number of this start, from disk: request ids rise with it.
    package var startCount: UInt32
    /// Seeds jitter, never secrets.
    package var seed: UInt64
    /// The port that our datagrams leave from.
    package var port: UInt16
    /// True when HELLOs are to be sent.
    package var sendsHellos: Bool
    /// Where secrets are kept.
    package var memory: Secret.Memory
    /// How many times as loud as usual tones are; 0 is silence.
    package var toneGain = 1.0

    /// Makes a configuration of its parts.
    package init(
      nickname: String, boot: UInt64, startCount: UInt32, seed: UInt64, port: UInt16,
      sendsHellos: Bool = true, memory: Secret.Memory = .guarded
    ) {
      self.nickname = nickname
      self.boot = boot
      self.startCount = startCount
      self.seed = seed
      self.port = port
      self.sendsHellos = sendsHellos
      self.memory = memory
    }
  }

  /// The most endpoints that are tried for every channel.
  package static let staticPeerLimit = 64
  /// The most channels of one node.
  package static let channelLimit = 16
  /// A peer that is away so long loses its session; it is looked for anew.
  static let forgetAway = Duration.seconds(20)

  /// A loop that is later than this was not only busy: the machine slept.
  static let longAbsence = Duration.seconds(10)

  /// Our own identity.
  package let me: PeerID
  let identity: Identity
  var configuration: Configuration
  var generator: SeededGenerator
  var sessions: SessionTable
  var candidates: CandidateTable
  var channels = OrderedTable<ChannelID, Channel>(limit: channelLimit)
  /// The channel that commands mean when they name none.
  package internal(set) var current: ChannelID?
  var keys = KeyTable()
  /// What the keys asked of the floor.
  var pressed: KeyTable.Target?
  let uplink: Uplink
  let downlink: Downlink
  var serviceSchedule: ServiceRecordSchedule
  var helloCounter: UInt64 = 0
  var nextRequestBase: UInt64
  /// Endpoints that are tried for every channel.
  var staticPeers: [Endpoint] = []
  /// Where a body is encoded before it is sealed for each listener.
  let scratch = BodyScratch()
  /// True when there is something to speak into.
  package var hasMicrophone = true
  /// True when there is something to play on: without it we hear nobody, and say so.
  package var hasSpeaker = true
  /// What happens without a sound. Came and left are off unless wanted (surface.md, "Tones").
  package var silentTones: [ToneEvent] = [.came, .left]
  /// True while discovery over mDNS is wanted.
  package var announces = true
  /// What was dropped, by reason.
  package internal(set) var counters = NodeCounters()

  /// A node with the channels that it had.
  package init(
    identity: Identity, configuration: Configuration, channels records: [ChannelRecord],
    current: ChannelID?, now: Instant
  ) throws(NodeStartError) {
    self.identity = identity
    self.configuration = configuration
    me = identity.publicIdentity.peerID
    generator = SeededGenerator(seed: configuration.seed)
    sessions = SessionTable(
      identity: identity, boot: configuration.boot, nickname: configuration.nickname,
      seed: configuration.seed ^ 0x5e55)
    candidates = CandidateTable(
      own: me, bootInstance: configuration.boot, seed: configuration.seed ^ 0xca4d)
    serviceSchedule = ServiceRecordSchedule(now: now)
    nextRequestBase = UInt64(configuration.startCount) << 32
    do {
      uplink = try Uplink()
      downlink = try Downlink(toneGain: configuration.toneGain)
    } catch {
      throw .codec(error)
    }
    for record in records {
      guard add(record, now: now) != nil else { throw .secretMemory }
    }
    self.current =
      current.flatMap { self.channels[$0] == nil ? nil : $0 } ?? records.first?.id
  }

  /// Builds a channel and tells the machines that cover all channels.
  func add(_ record: ChannelRecord, now: Instant) -> Channel? {
    nextRequestBase += 1 << 24
    guard
      let channel = Channel(
        record, identity: identity, firstRequest: nextRequestBase,
        memory: configuration.memory, seed: generator.next(), now: now)
    else { return nil }
    channels[record.id] = channel
    sessions.addChannel(record.id, epoch: record.epoch, keys: channel.keys)
    proveOurselves(channel)
    serviceSchedule.restart(now: now)
    for endpoint in staticPeers {
      try? candidates.add(endpoint, of: record.id, from: .staticPeer, now: now)
    }
    return channel
  }

  /// When `wake` wants to be called; none means never.
  package var deadline: Instant? {
    var earliest = Instant.earliest(sessions.deadline, candidates.deadline)
    func consider(_ instant: Instant?) { earliest = .earliest(earliest, instant) }
    for channel in channels.values { consider(channel.deadline) }
    consider(keys.deadline)
    consider(uplink.tailEnd)
    if announces { consider(serviceSchedule.deadline) }
    return earliest
  }

  /// Does what is due.
  package func wake(_ step: Step) {
    sessions.wake(now: step.now, entropy: &step.entropy, slab: step.slab)
    unsafe drainSessions(step, datagram: nil)
    keys.expire(now: step.now)
    followKeys(step)
    if let end = uplink.tailEnd, end <= step.now { endTail(step) }
    for channel in channels.values { wake(channel, step) }
    wakeDiscovery(step)
    unsafe drainSessions(step, datagram: nil)
  }

  private func wake(_ channel: Channel, _ step: Step) {
    channel.floor.wake(now: step.now)
    performFloor(channel, step)
    channel.presence.tick(now: step.now)
    performPresence(channel, step)
    performSync(channel, step)
    if let deadline = channel.window.deadline, deadline <= step.now { channel.window.close() }
    if let until = channel.ownBurst?.until, until <= step.now { tellWhoHeard(channel, step) }
    forgetLongAway(channel, step)
  }

  /// The loop ran late: what was not read in that time is nobody's fault (floor.md). After a sleep
  /// of the machine every session key is dropped, and the members are called anew (session.md).
  package func loopWasLate(by lateness: Duration, _ step: Step) {
    guard lateness < Self.longAbsence else { return wakeUp(step) }
    for channel in channels.values {
      channel.floor.loopWasLate(by: lateness)
      channel.presence.excuse(lateness)
    }
  }

  private func wakeUp(_ step: Step) {
    sessions.dropAll()
    for channel in channels.values {
      for peer in Array(channel.peers.keys) { forget(peer, of: channel, leaving: false, step) }
      channel.helloSchedule.restart(now: step.now)
    }
    serviceSchedule.restart(now: step.now)
    wakeDiscovery(step)
  }
}

/// Why a node cannot start.
package enum NodeStartError: Error, Sendable {
  /// libopus gives no encoder or decoder.
  case codec(VoiceError)
  /// No memory for secrets: raise the limit of locked memory (`ulimit -l`).
  case secretMemory
}

/// What a node dropped, by reason; for status and for tests.
package struct NodeCounters: Hashable, Sendable {
  /// Bodies that were authenticated and made no sense.
  package var malformed = 0
  /// Voice that did not belong to the floor's token.
  package var refusedVoice = 0
  /// HELLOs of strangers, or old ones.
  package var droppedHellos = 0
  /// Bodies that could not be sealed: no room in the slab, or keys at their end.
  package var unsealed = 0
  /// HELLOs that could not be sent: no room in the slab, or no entropy.
  package var unsentHellos = 0
}
