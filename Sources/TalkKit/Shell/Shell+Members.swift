import TalkCore
import TalkMesh
import TalkNode
import TalkWire

/// What the roster allows each member, changed by a client of the control socket.
extension Shell {
  /// Changes a member's rights; the failure says who may, or whom there is.
  func setRights(
    of name: String, on channel: ChannelID, _ change: RightsChange
  ) throws(ControlFailure) {
    do throws(MemberRefusal) {
      let peer = try node.findMember(name, of: channel)
      guard let now = node.rights(of: peer, on: channel) else { throw .unknown(name) }
      var refusal: MemberRefusal?
      input { step in
        do throws(MemberRefusal) {
          try self.node.setRights(
            of: peer, on: channel, role: change.role(from: now.role),
            classes: change.classes(from: now.classes), step)
        } catch {
          refusal = error
        }
      }
      if let refusal { throw refusal }
    } catch {
      throw failure(of: error, on: channel)
    }
  }

  private func failure(of refusal: MemberRefusal, on channel: ChannelID) -> ControlFailure {
    switch refusal {
    case .unknown(let name):
      let names = channelStatus(channel).members.map(\.name)
      return ControlFailure(
        .noSuchMember,
        "no member is called '\(name)'\(NearestName.hint(name, among: names)); "
          + "'talkaround members' lists them")
    case .ambiguous(let name):
      return ControlFailure(
        .noSuchMember, "several members are called '\(name)'; give the start of the id")
    case .notAllowed:
      return ControlFailure(
        .notAdmin, "only an admin of the channel may change that, and nobody its creator's rights")
    case .rosterFull:
      return ControlFailure(.overload, "the channel's roster takes no more records")
    }
  }
}

extension RightsChange {
  /// The role that results.
  func role(from now: TalkMesh.Role) -> TalkMesh.Role {
    switch role {
    case nil: now
    case .admin: .admin
    case .member: .member
    case .listenOnly: .listenOnly
    }
  }

  /// The classes that result.
  func classes(from now: FloorClasses) -> FloorClasses {
    var classes = now
    for floorClass in FloorClass.allCases {
      let bit = FloorClasses(rawValue: 1 << floorClass.rawValue)
      if granted.contains(floorClass) { classes.insert(bit) }
      if withdrawn.contains(floorClass) { classes.remove(bit) }
    }
    return classes
  }
}

extension TalkMesh.Role {
  /// The word in `members`.
  var word: String {
    switch self {
    case .admin: "admin"
    case .member: "member"
    case .listenOnly: "listen-only"
    }
  }
}

extension FloorClasses {
  /// The words in `members`, lowest first.
  var words: [String] {
    FloorClass.allCases.filter { contains(FloorClasses(rawValue: 1 << $0.rawValue)) }.map(\.word)
  }
}
