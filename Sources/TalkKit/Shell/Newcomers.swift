import TalkCore

/// A member of one channel.
struct MemberKey: Hashable {
  var channel: ChannelID
  var peer: PeerID
}

/// Who has asked to join, so that each is logged once however often it asks: identities cost a
/// flooder nothing, so beyond the limit nobody is.
struct Newcomers {
  /// The most newcomers that are logged while the node runs.
  static let limit = 256

  private var told: Set<MemberKey> = []

  /// The number of this newcomer, from 1, if it is to be told of; nil when it was, or too many
  /// were.
  mutating func firstToTell(_ peer: PeerID, on channel: ChannelID) -> Int? {
    guard told.count < Self.limit,
      told.insert(MemberKey(channel: channel, peer: peer)).inserted
    else { return nil }
    return told.count
  }
}
