/// An invite and the window in which it is answered. The line is a secret that no description
/// shows.
package struct InviteGrant: Codable, Hashable, Sendable, CustomStringConvertible {
  /// The line `talk1…`.
  package var invite: String
  /// The channel's name.
  package var channel: String
  /// For how many seconds newcomers are admitted.
  package var seconds: Int
  /// How many are.
  package var joiners: Int

  /// A grant of its parts.
  package init(invite: String, channel: String, seconds: Int, joiners: Int) {
    self.invite = invite
    self.channel = channel
    self.seconds = seconds
    self.joiners = joiners
  }

  /// All but the line.
  package var description: String { "invite to \(channel) for \(joiners) within \(seconds) s" }
}
