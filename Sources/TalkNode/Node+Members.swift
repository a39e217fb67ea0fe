package import TalkCore
import TalkCrypto
package import TalkMesh
import TalkWire

/// Why a member's rights stay as they are.
package enum MemberRefusal: Error, Hashable, Sendable {
  /// No member of the channel is called that.
  case unknown(String)
  /// Several members are called that: name one by the start of its id.
  case ambiguous(String)
  /// Only an admin may change that.
  case notAllowed
  /// The roster takes no more records.
  case rosterFull
}

/// What the roster allows each member.
extension Node {
  /// The member of a channel with that nickname, id, or start of an id.
  package func findMember(
    _ text: String, of id: ChannelID
  ) throws(MemberRefusal) -> PeerID {
    guard let channel = channels[id] else { throw .unknown(text) }
    let named = channel.roster.members.filter { member in
      (member.id == me ? configuration.nickname : channel.nickname(member.id)) == text
    }
    let wanted = text.lowercased()
    let found =
      named.isEmpty && wanted.utf8.count >= 4
      ? channel.roster.members.filter { $0.id.description.hasPrefix(wanted) } : named
    guard let first = found.first else { throw .unknown(text) }
    guard found.count == 1 else { throw .ambiguous(text) }
    return first.id
  }

  /// What a member may do and how urgently it may speak; nil for somebody who is no member.
  package func rights(of peer: PeerID, on id: ChannelID) -> (role: Role, classes: FloorClasses)? {
    channels[id]?.roster.member(peer).map { ($0.role, $0.classes) }
  }

  /// What a channel's creator has settled for it.
  package func rules(of id: ChannelID) -> ChannelRules {
    channels[id].map { ChannelRules(random: $0.random) } ?? []
  }

  /// Writes a record that gives a member a role and classes, and sends it to everyone. Only admins
  /// may; what was said of the member before is superseded at every member that hears of it.
  package func setRights(
    of peer: PeerID, on id: ChannelID, role: Role, classes: FloorClasses, _ step: Step
  ) throws(MemberRefusal) {
    guard let channel = channels[id], let member = channel.roster.member(peer) else {
      throw .unknown(peer.short)
    }
    let body: [UInt8]
    do throws(AdmitRefusal) {
      body = try channel.roster.admit(
        member.identity, role: role, classes: classes, by: identity)
    } catch {
      throw error == .notAllowed || error == .tooDeep ? .notAllowed : .rosterFull
    }
    rosterChanged(channel, [peer], step)
    sendToAll(.admit, body, channel, step)
  }
}
