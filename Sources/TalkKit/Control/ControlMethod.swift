/// The methods of the control socket, named as the commands, and what each takes.
package enum ControlMethod: String, CaseIterable, Sendable {
  case channelCreate = "channel.create"
  case channelList = "channel.list"
  case channelShow = "channel.show"
  case channelUse = "channel.use"
  case channelLeave = "channel.leave"
  case invite
  case join
  case members
  case membersSet = "members.set"
  case talkHold = "talk.hold"
  case talkPress = "talk.press"
  case talkRelease = "talk.release"
  case talkToggle = "talk.toggle"
  case talkFile = "talk.file"
  case status
  case devices
  case stop
  case subscribe = "events.subscribe"

  /// The parameters that it takes, by name.
  var parameters: [String] {
    switch self {
    case .channelCreate: ["name", "strict"]
    case .channelShow, .channelUse, .channelLeave, .members: ["channel"]
    case .invite: ["channel", "seconds", "joiners"]
    case .join: ["invite"]
    case .membersSet: ["channel", "member", "role", "grant", "withdraw"]
    case .talkFile: ["path", "class"]
    case .talkHold, .talkPress, .talkToggle: ["class"]
    case .subscribe: ["levels"]
    case .channelList, .talkRelease, .status, .devices, .stop: []
    }
  }
}
