import TalkVoice
package import TalkWire
package import TalkCore
package import TalkFloor
import TalkMesh

/// What a person may know of a member.
package struct MemberView: Hashable, Sendable {
  /// Who.
  package var id: PeerID
  /// As it calls itself; untrusted.
  package var nickname: String
  /// True while it is heard.
  package var isPresent: Bool
  /// It said lately that it hears us.
  package var hearsMe: Bool
  /// We heard it lately.
  package var iHear: Bool
  /// The round trip, once measured.
  package var roundTrip: Duration?
  /// The part of what we send that it misses, 0 to 1.
  package var lossTo: Double?
  /// The part of what it sends that we miss, 0 to 1.
  package var lossFrom: Double?
  /// Its person wants to hear nothing.
  package var isDeaf: Bool
  /// Where it is reached; nil without a session.
  package var endpoint: Endpoint?
  /// For how long nothing of it has come; nil when nothing ever did.
  package var silentFor: Duration?
}

/// Looking at the node.
extension Node {
  /// What people call us.
  package var nickname: String { configuration.nickname }

  /// How many HELLOs were sealed since the start.
  package var sentHellos: Int { Int(clamping: helloCounter) }

  /// The name of a channel; empty when there is none.
  package func name(of id: ChannelID) -> String { channels[id]?.name ?? "" }

  /// True while nobody has admitted us.
  package func isJoining(_ id: ChannelID) -> Bool { channels[id]?.joining ?? false }

  /// The floor of a channel.
  package func floor(of id: ChannelID) -> FloorSnapshot? { channels[id]?.floor.snapshot }

  /// How a member calls itself, ourselves included.
  package func nickname(of peer: PeerID, on id: ChannelID) -> String {
    peer == me ? nickname : channels[id]?.nickname(peer) ?? peer.short
  }

  /// The names of a channel's members as they last told them, in the order of their ids.
  package func rememberedNames(of id: ChannelID) -> [(peer: PeerID, name: String)] {
    guard let channel = channels[id] else { return [] }
    return channel.nicknames.indices.map(channel.nicknames.entry(at:)).filter {
      channel.roster.isMember($0.key)
    }.map { (peer: $0.key, name: $0.value) }
  }

  /// What a member called itself in an earlier run.
  package func remember(_ name: String, of peer: PeerID, on id: ChannelID) {
    guard let channel = channels[id], channel.roster.isMember(peer),
      !channel.nicknames.isFull
    else { return }
    channel.nicknames[peer] = name
  }

  /// True while frames of our voice leave.
  package var isTransmitting: Bool { uplink.token != nil }

  /// The burst that leaves or is heard now, with its channel.
  package var activeBurst: (channel: ChannelID, token: TokenID)? {
    if let token = uplink.token, let channel = uplink.channel { return (channel, token.id) }
    guard let burst = downlink.burst, !burst.done else { return nil }
    return (burst.channel, burst.token.id)
  }

  /// How loud our voice is, or the voice that is heard, in dB below full scale.
  package var level: Double { uplink.token == nil ? downlink.level.rms : uplink.level.rms }

  /// The members of a channel besides us, in the order of their ids.
  package func members(of id: ChannelID, now: Instant) -> [MemberView] {
    guard let channel = channels[id] else { return [] }
    return channel.roster.members.filter { $0.id != me }.map { member in
      let view = channel.presence.view(of: member.id, now: now)
      return MemberView(
        id: member.id, nickname: channel.nickname(member.id),
        isPresent: view?.isPresent ?? false, hearsMe: view?.hearsMe ?? false,
        iHear: view?.iHear ?? false, roundTrip: view?.roundTrip, lossTo: view?.lossTo,
        lossFrom: view?.lossFrom, isDeaf: view?.isDeaf ?? false,
        endpoint: channel.peers[member.id]?.endpoint,
        silentFor: view.map { now - $0.lastHeard })
    }
  }
}
