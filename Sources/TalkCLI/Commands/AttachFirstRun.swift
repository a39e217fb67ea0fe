import Glibc
import TalkKit

/// The first minute on a terminal: make a channel or join one, and wait until somebody hears us
/// (surface.md, "First run, as a transcript"). Bad input is told and asked for again.
struct AttachFirstRun {
  /// How it ended.
  enum End {
    /// On to the screen, with something to tell there.
    case screen(String)
    /// The person wishes to leave.
    case leave
  }

  /// How often the node is asked, in milliseconds.
  static let lookMilliseconds: Int32 = 200
  /// After this time without an answer a newcomer is told what to check.
  static let adviceMilliseconds: UInt64 = 10_000

  private let client: ControlClient
  private let context: Context
  private var terminal: AttachTerminal
  private var name = ""

  /// Asks for a channel if the node has none; nil when there is nothing to ask.
  static func run(
    _ client: ControlClient, _ context: Context, _ signals: SignalPipe
  ) throws(CommandError) -> End? {
    let report = try client.ask(.status, as: StatusReport.self)
    guard report.channels.isEmpty else { return nil }
    var first = AttachFirstRun(client, context, signals)
    first.name = report.node.name
    defer { first.terminal.restore() }
    return try first.begin()
  }

  private init(_ client: ControlClient, _ context: Context, _ signals: SignalPipe) {
    self.client = client
    self.context = context
    terminal = AttachTerminal(context, signals)
  }

  private mutating func begin() throws(CommandError) -> End {
    terminal.show("No channel yet.  [c]reate one, or [j]oin by invite?  ")
    while true {
      switch terminal.key() {
      case .letter("c"), .letter("C"):
        terminal.show("c\n")
        return try create()
      case .letter("j"), .letter("J"):
        terminal.show("j\n")
        return try join()
      case .leave, .letter("q"):
        terminal.show("\n")
        return .leave
      case .letter(let letter):
        let shown = DisplayText.line(String(letter))
        terminal.show("\(shown) is neither.\nPress c to create, j to join, or q to quit:  ")
      case .enter, .other: break
      }
    }
  }

  // MARK: Creating

  private mutating func create() throws(CommandError) -> End {
    while true {
      guard let text = terminal.line("Channel name: ") else { return .leave }
      do throws(ControlError) {
        let parameters = ["name": JSONValue.string(text)]
        let channel = try client.call(.channelCreate, parameters, as: ChannelStatus.self)
        if let notice = ChannelCommands.cutNotice(wanted: text, got: channel.name) {
          terminal.show("\(notice)\n")
        }
        terminal.show(
          "You are \"\(DisplayText.name(name))\" on \(Self.hostName), alone on "
            + "\"\(DisplayText.name(channel.name))\". On another laptop: talkaround, then j, and "
            + "paste this:\n\n")
        try invite(channel)
        return try wait(channel.id, isJoining: false)
      } catch {
        try tell(error)
      }
    }
  }

  /// Shows an invite.
  private func invite(_ channel: ChannelStatus) throws(ControlError) {
    let parameters = ["channel": JSONValue.string(channel.id)]
    let grant = try client.call(.invite, parameters, as: InviteGrant.self)
    terminal.show(
      "\(DisplayText.line(grant.invite))\n\n"
        + "It lets one newcomer in within \(InviteCommand.time(grant.seconds)). It is a secret: "
        + "hand it over by a way that\nothers cannot read.  i: another invite   Enter: the screen"
        + "   q: quit\n")
  }

  private static var hostName: String {
    var bytes = [CChar](repeating: 0, count: 256)
    let failed = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      unsafe gethostname(buffer.baseAddress!, buffer.count - 1)
    }
    let text = bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
    return failed == 0 ? DisplayText.name(String(decoding: text, as: UTF8.self)) : "this laptop"
  }

  // MARK: Joining

  private mutating func join() throws(CommandError) -> End {
    while true {
      guard let text = terminal.line("Invite (paste it; it does not show): ", hidden: true) else {
        return .leave
      }
      guard let invite = InviteInput.joined(text) else {
        terminal.show("That is no invite: one begins with \(InviteInput.prefix).\n")
        continue
      }
      do throws(ControlError) {
        let parameters = ["invite": JSONValue.string(invite)]
        let channel = try client.call(.join, parameters, as: ChannelStatus.self)
        terminal.show("Joining \"\(DisplayText.name(channel.name))\" …\n")
        return try wait(channel.id, isJoining: true)
      } catch {
        try tell(error)
      }
    }
  }

  /// Tells what was wrong with an answer, so that it can be given again; throws what no other
  /// answer would mend.
  private func tell(_ error: ControlError) throws(CommandError) {
    guard case .refused(let failure) = error, ExitCode.of(failure.reason) == ExitCode.usage else {
      throw CommandError(error)
    }
    terminal.show("\(DisplayText.line(failure.message))\n")
  }

  // MARK: Waiting

  /// Waits until somebody on the channel hears us, or the person wants to go on.
  private mutating func wait(
    _ id: String, isJoining: Bool
  ) throws(ControlError) -> End {
    var waiting = AttachWaiting(isJoining: isJoining)
    while true {
      let parameters = ["channel": JSONValue.string(id)]
      let channel = try client.call(.channelShow, parameters, as: ChannelStatus.self)
      for line in waiting.news(channel, at: ChildProgram.now()) { terminal.show("\(line)\n") }
      if let here = waiting.whoHears(channel) {
        terminal.show("\(here).  Hold SPACE to talk, or press it, and again to end …\n")
        return .screen(here)
      }
      guard terminal.waits(milliseconds: Self.lookMilliseconds) else { continue }
      switch terminal.key() {
      case .enter: return .screen("")
      case .leave, .letter("q"): return .leave
      case .letter("i") where !channel.isJoining: try invite(channel)
      default: break
      }
    }
  }
}

/// What somebody who waits for others is told, each thing once.
struct AttachWaiting {
  private let isJoining: Bool
  private let began: UInt64
  private var hasJoined = false
  private var isAdvised = false
  private var told: [String] = []

  /// Begins to wait; for an invite's answer, or for newcomers.
  init(isJoining: Bool, at now: UInt64 = ChildProgram.now()) {
    self.isJoining = isJoining
    began = now
  }

  /// The lines that are new in this state of the channel; `now` in milliseconds.
  mutating func news(_ channel: ChannelStatus, at now: UInt64) -> [String] {
    var lines: [String] = []
    if isJoining, !hasJoined, !channel.isJoining {
      hasJoined = true
      lines.append("Joined \"\(DisplayText.name(channel.name))\".")
    }
    if isJoining, channel.isJoining, !isAdvised,
      now - began >= AttachFirstRun.adviceMilliseconds
    {
      isAdvised = true
      lines += Self.advice
    }
    for member in channel.members where member.state == .wantsIn && !told.contains(member.id) {
      told.append(member.id)
      lines.append(
        "\(DisplayText.member(member.name, id: member.id)) wants to join, but no invite is open; "
          + "i makes one")
    }
    return lines
  }

  /// What to check when nobody lets us in.
  static let advice = [
    "Nobody has let you in yet. Does the inviter's node run, on the same network? Is the invite",
    "still open ('talkaround invite' makes another)? Is UDP port 41717 open in both firewalls?",
  ]

  /// The member that hears us, once one does, as a line without its end.
  func whoHears(_ channel: ChannelStatus) -> String? {
    guard !channel.isJoining,
      let member = channel.members.first(where: {
        $0.state == .present && $0.hearsMe && $0.roundTripMilliseconds != nil
      })
    else { return nil }
    let rtt = member.roundTripMilliseconds.map(StatusText.tenths) ?? ""
    return "\(DisplayText.name(member.name)) is here, hears you (\(rtt) ms)"
  }
}

extension ChannelStatus {
  /// True while nobody has let us in.
  var isJoining: Bool { reason == .notAdmitted }
}
