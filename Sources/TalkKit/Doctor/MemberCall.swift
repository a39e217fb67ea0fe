import TalkCore
import TalkCrypto
import TalkNet
import TalkSession

/// What the doctor knows of a channel of ours, to know its members and to call them.
struct DoctorChannel {
  let id: ChannelID
  let epoch: UInt64
  let keys: ChannelKeys
}

/// Somebody who may be a member of a channel.
struct DoctorContact: Hashable {
  let channel: ChannelID
  let endpoint: Endpoint
}

/// Makes the first datagram of a handshake, as a node that calls a member. Who answers it has
/// shown that both ways work; nothing more is said, and its half of the handshake lapses.
struct MemberCall {
  let identity: Identity
  let channels: [DoctorChannel]

  /// An INIT for a contact; nil when its channel is none of ours, or entropy is lacking.
  func datagram(to contact: DoctorContact, entropy: inout EntropyPool) -> [UInt8]? {
    guard let channel = channels.first(where: { $0.id == contact.channel }) else { return nil }
    let now = BootClock.now()
    let slab = Slab(capacity: 4_096)
    var table = SessionTable(identity: identity, boot: 0, nickname: "", seed: Entropy.number())
    table.addChannel(channel.id, epoch: channel.epoch, keys: channel.keys)
    table.dial(channel.id, contact.endpoint, waitFirst: false, attempts: 1, now: now)
    table.wake(now: now, entropy: &entropy, slab: slab)
    guard let datagram = table.popOutgoing() else { return nil }
    return unsafe Array(slab[datagram.range])
  }
}
