import Foundation
import TalkCore

@testable import TalkKit

/// A node that answers requests as a test says, and remembers what it was asked.
final class FakeNode: ControlHandler, @unchecked Sendable {
  typealias Reply = @Sendable (ControlReply) -> Void
  /// What to answer; nil keeps the reply for `answerKept`.
  typealias Script = @Sendable (ControlRequest) -> ControlReply?

  private let condition = NSCondition()
  private var asked: [(request: ControlRequest, client: ControlClientID)] = []
  private var goneClients: [ControlClientID] = []
  private var kept: [Reply] = []
  private let script: Script

  init(_ script: @escaping Script = FakeNode.ordinary) { self.script = script }

  func handle(
    _ request: ControlRequest, from client: ControlClientID, reply: @escaping Reply
  ) {
    condition.withLock {
      asked.append((request, client))
      condition.broadcast()
    }
    if let answer = script(request) {
      reply(answer)
    } else {
      condition.withLock {
        kept.append(reply)
        condition.broadcast()
      }
    }
  }

  func clientGone(_ client: ControlClientID) {
    condition.withLock {
      goneClients.append(client)
      condition.broadcast()
    }
  }

  var requests: [ControlRequest] { condition.withLock { asked.map(\.request) } }
  var gone: [ControlClientID] { condition.withLock { goneClients } }
  var clients: [ControlClientID] { condition.withLock { asked.map(\.client) } }

  /// Gives the kept replies, oldest first.
  func answerKept(_ reply: ControlReply) {
    let all = condition.withLock {
      defer { kept = [] }
      return kept
    }
    for keep in all { keep(reply) }
  }

  /// Waits, at most ten seconds, until `predicate` holds; false when it never did.
  func wait(until predicate: (FakeNode) -> Bool) -> Bool {
    let deadline = Date(timeIntervalSinceNow: 10)
    condition.lock()
    defer { condition.unlock() }
    while true {
      condition.unlock()
      let holds = predicate(self)
      condition.lock()
      if holds { return true }
      if !condition.wait(until: min(deadline, Date(timeIntervalSinceNow: 0.05))),
        Date() >= deadline
      {
        return false
      }
    }
  }

  var keptCount: Int { condition.withLock { kept.count } }

  /// Answers as a node with one channel, `crew`, and one other member, ben.
  static let ordinary: Script = { request in
    switch request {
    case .channelCreate, .channelShow, .channelUse, .join: .success(.channel(Sample.channel()))
    case .channelList: .success(.channels([Sample.channel()]))
    case .channelLeave, .stop: .success(.done)
    case .invite(_, let lifetime, let joiners):
      .success(
        .invite(
          InviteGrant(
            invite: Sample.invite, channel: "crew", seconds: Int(lifetime.components.seconds),
            joiners: joiners)))
    case .members, .membersSet: .success(.members(Sample.channel().members))
    case .talkHold, .talkPress, .talkToggle: .success(.floor(Sample.floor(.ours)))
    case .talkRelease: .success(.floor(Sample.floor(.idle)))
    case .talkFile: .success(.heard(Sample.heard()))
    case .status: .success(.status(Sample.report()))
    case .devices: .success(.devices(Sample.devices()))
    }
  }
}

/// Reports that tests hand around.
enum Sample {
  static let anna = "a0000000000000000000000000000001"
  static let ben = "b0000000000000000000000000000002"
  static let crew = "00112233-4455-8677-8899-aabbccddeeff"
  static let invite = "talk1" + String(repeating: "abcdefgh234567xy", count: 12)

  static func floor(_ state: FloorState) -> FloorStatus {
    FloorStatus(
      state: state, holder: state == .idle ? nil : anna, floorClass: "normal", turn: 12,
      sinceMilliseconds: state == .idle ? nil : 1_200, limitMilliseconds: 60_000, place: nil,
      queue: [])
  }

  static func channel(name: String = "crew", member: String = "ben") -> ChannelStatus {
    ChannelStatus(
      id: crew, name: name, current: true, status: .ready, reason: nil,
      members: [
        MemberStatus(
          id: ben, name: member, state: .present, hearsMe: true, iHear: true,
          roundTripMilliseconds: 0.4, lossTo: 0, lossFrom: 0, deaf: false)
      ], floor: floor(.idle))
  }

  static func report(member: String = "ben") -> StatusReport {
    StatusReport(
      node: NodeStatus(
        id: anna, name: "anna", port: 41_717,
        audio: .init(capture: "pulse:mic", playback: "pulse:speaker"),
        discovery: .init(avahi: "running", hello: "on")),
      channels: [channel(member: member)])
  }

  static func heard(missed: [String] = []) -> HeardEvent {
    HeardEvent(
      channel: crew, turn: 12, heard: [.init(id: ben, name: "ben")],
      missed: missed.map { .init(id: $0, name: $0) })
  }

  static func devices() -> DeviceReport {
    DeviceReport(
      capture: [.init(name: "pulse:mic", label: "Mic", isDefault: true, isInUse: true)],
      playback: [.init(name: "pulse:spk", label: "Speaker", isDefault: false, isInUse: false)])
  }

  static func floorEvent(
    _ state: FloorState, holder: String? = nil, name: String? = nil, place: Int? = nil,
    reason: Reason? = nil, press: PressTiming = PressTiming()
  ) -> FloorEvent {
    FloorEvent(
      channel: crew, state: state, holder: holder, name: name, place: place, turn: 13,
      floorClass: "normal", reason: reason, queue: [], press: press)
  }

  static func tone(_ tone: String, reason: Reason? = nil, name: String? = nil, place: Int? = nil)
    -> WatchEvent.Content
  {
    .tone(
      ToneReport(channel: crew, tone: tone, reason: reason, holder: ben, name: name, place: place))
  }
}
