import TalkCore
import TalkFloor
import TalkSim
import TalkWire
import Testing

/// The transitions of TS 24.380 clause 7.2.3 and table C.2.1-1, one row each.
@Suite struct BaselineTransitionTests {
  private typealias Rig = BaselineRig
  typealias Content = OffNetworkMessage.Content

  struct Case: CustomTestStringConvertible {
    let name: String
    let from: OffNetworkFloor.State
    let inputs: [BaselineRig.Input]
    let to: OffNetworkFloor.State
    let sent: [Content]
    let told: [String]

    init(
      _ name: String, _ from: OffNetworkFloor.State, _ inputs: [BaselineRig.Input],
      _ to: OffNetworkFloor.State, sent: [Content] = [], told: [String] = []
    ) {
      self.name = name
      self.from = from
      self.inputs = inputs
      self.to = to
      self.sent = sent
      self.told = told
    }

    var testDescription: String { "\(from.rawValue): \(name)" }
  }

  @Test(
    "Every transition of the state tables",
    arguments: startStop + silence + noPermission + pendingRequest + queued + hasPermission
      + pendingGranted + overload)
  func transition(_ row: Case) {
    var rig = BaselineRig(in: row.from)
    for input in row.inputs { rig.apply(input) }
    #expect(rig.machine.state == row.to)
    #expect(rig.sent == row.sent)
    #expect(rig.told == row.told)
  }

  @Test("A call that is released ends every state", arguments: OffNetworkFloor.State.allCases)
  func callReleased(_ state: OffNetworkFloor.State) {
    var rig = BaselineRig(in: state)
    rig.apply(.callReleased)
    #expect(rig.machine.state == .startStop)
    #expect(rig.machine.deadline == nil)
  }

  @Test(
    "Idle, Revoke and Ack are discarded in every state", arguments: OffNetworkFloor.State.allCases)
  func onNetworkMessages(_ state: OffNetworkFloor.State) {
    for content in [Content.idle, .revoke(.preempted), .ack] {
      var rig = BaselineRig(in: state)
      rig.apply(.message(Rig.talker, content))
      #expect(rig.machine.state == state)
      #expect(rig.sent.isEmpty && rig.told.isEmpty)
    }
  }

  @Test func messagesBearTheSubtypesOfTheSpecification() {
    let contents: [Content] = [
      .request(.normal), .granted(to: Rig.me, .normal, queue: []), .taken,
      .deny(to: Rig.me.user, .queueFull), .release, .idle, .revoke(.burstTooLong),
      .queuePositionRequest, .queuePositionInfo(to: Rig.me.user, place: 1), .ack,
    ]
    let subtypes = contents.map { OffNetworkMessage(sender: Rig.me, $0).subtype }
    #expect(subtypes == [0, 1, 2, 3, 4, 5, 6, 8, 9, 10])
  }

  // MARK: The tables

  static let startStop = [
    Case(
      "the originator has permission at once", .startStop, [.establish(originating: true)],
      .hasPermission, sent: [.granted(to: Rig.me, .normal, queue: [])], told: ["start"]),
    Case(
      "another participant is in silence", .startStop, [.establish(originating: false)],
      .silence),
    Case(
      "Floor Granted to another", .startStop,
      [.message(Rig.talker, .granted(to: Rig.larger, .normal, queue: []))], .noPermission),
    Case("Floor Taken", .startStop, [.message(Rig.talker, .taken)], .noPermission),
    Case(
      "media is rendered", .startStop, [.media(Rig.talker)], .noPermission,
      told: ["rendered", "talker"]),
    Case(
      "the button asks", .startStop, [.press(.normal)], .pendingRequest,
      sent: [.request(.normal)]),
  ]

  static let silence = [
    Case(
      "the button asks", .silence, [.press(.priority)], .pendingRequest,
      sent: [.request(.priority)]),
    Case(
      "Floor Granted to another", .silence,
      [.message(Rig.talker, .granted(to: Rig.larger, .normal, queue: []))], .noPermission),
    Case(
      "a grant that nobody asked for", .silence,
      [.message(Rig.talker, .granted(to: Rig.me, .normal, queue: []))], .silence),
    Case("Floor Taken", .silence, [.message(Rig.talker, .taken)], .noPermission),
    Case(
      "media", .silence, [.media(Rig.talker)], .noPermission, told: ["rendered", "talker"]),
    Case(
      "a Floor Request in a group call", .silence, [.message(Rig.talker, .request(.normal))],
      .silence),
    Case("T230 ends the call", .silence, [.wait(.seconds(600))], .startStop),
    Case("nothing for just less", .silence, [.wait(.milliseconds(599_999))], .silence),
  ]

  static let noPermission = [
    Case(
      "the talker's media", .noPermission, [.wait(.seconds(3)), .media(Rig.talker)],
      .noPermission, told: ["rendered"]),
    Case("another's media is dropped", .noPermission, [.media(Rig.larger)], .noPermission),
    Case(
      "the button asks", .noPermission, [.press(.normal)], .pendingRequest,
      sent: [.request(.normal)]),
    Case(
      "the talker's Floor Release", .noPermission, [.message(Rig.talker, .release)], .silence,
      told: ["done"]),
    Case(
      "another's Floor Release", .noPermission, [.message(Rig.larger, .release)], .noPermission),
    Case("T203, no media", .noPermission, [.wait(.seconds(4))], .silence, told: ["done"]),
    Case(
      "a grant to another stops the talker and lets the new one be heard", .noPermission,
      [
        .message(Rig.talker, .granted(to: Rig.larger, .normal, queue: [])), .media(Rig.talker),
        .media(Rig.larger),
      ], .noPermission, told: ["done", "rendered", "talker"]),
    Case(
      "a grant by one who is not the talker", .noPermission,
      [
        .message(Rig.smaller, .granted(to: Rig.larger, .normal, queue: [])), .media(Rig.larger),
      ], .noPermission),
    Case(
      "Floor Taken frees from a talker whose Release was lost", .noPermission,
      [.message(Rig.larger, .taken), .media(Rig.larger)], .noPermission,
      told: ["done", "rendered", "talker"]),
    Case(
      "a packet behind the Release brings the talker back for T203", .noPermission,
      [.message(Rig.talker, .release), .media(Rig.talker), .wait(.milliseconds(3_999))],
      .noPermission, told: ["done", "rendered", "talker"]),
  ]

  static let pendingRequest = [
    Case(
      "T201 repeats the request, twice", .pendingRequest, [.wait(.milliseconds(119))],
      .pendingRequest, sent: [.request(.normal), .request(.normal)]),
    Case(
      "after C201 requests the floor is taken", .pendingRequest, [.wait(.milliseconds(120))],
      .hasPermission, sent: [.request(.normal), .request(.normal), .taken],
      told: ["done", "start"]),
    Case(
      "while the talker is heard the floor is not taken", .pendingRequest,
      [
        .wait(.milliseconds(100)), .media(Rig.talker), .wait(.milliseconds(60)),
        .media(Rig.talker), .wait(.milliseconds(30)),
      ], .pendingRequest,
      sent: Array(repeating: .request(.normal), count: 4), told: ["rendered", "rendered"]),
    Case(
      "granted by the talker", .pendingRequest,
      [.message(Rig.talker, .granted(to: Rig.me, .normal, queue: []))], .hasPermission,
      told: ["done", "start"]),
    Case(
      "granted by one who is not the talker", .pendingRequest,
      [.message(Rig.larger, .granted(to: Rig.me, .normal, queue: []))], .pendingRequest),
    Case(
      "a grant to another makes the request go on there", .pendingRequest,
      [
        .wait(.milliseconds(100)),
        .message(Rig.talker, .granted(to: Rig.larger, .normal, queue: [])),
        .wait(.milliseconds(39)),
        .message(Rig.larger, .queuePositionInfo(to: Rig.me.user, place: 2)),
      ], .queued, sent: [.request(.normal), .request(.normal)], told: ["done", "place 2"]),
    Case(
      "Floor Taken makes the request go on there", .pendingRequest,
      [
        .wait(.milliseconds(100)), .message(Rig.larger, .taken), .wait(.milliseconds(100)),
        .message(Rig.larger, .granted(to: Rig.me, .normal, queue: [])),
      ], .hasPermission, sent: Array(repeating: .request(.normal), count: 4),
      told: ["done", "start"]),
    Case(
      "denied by the talker", .pendingRequest,
      [.message(Rig.talker, .deny(to: Rig.me.user, .queueFull))], .noPermission,
      told: ["denied queueFull"]),
    Case(
      "another's denial", .pendingRequest,
      [.message(Rig.talker, .deny(to: Rig.larger.user, .queueFull))], .pendingRequest),
    Case(
      "queued by the talker", .pendingRequest,
      [.message(Rig.talker, .queuePositionInfo(to: Rig.me.user, place: 3))], .queued,
      told: ["place 3"]),
    Case(
      "the button goes up", .pendingRequest, [.release], .silence, sent: [.release],
      told: ["done"]),
    Case(
      "glare: a larger SSRC goes first", .pendingRequest,
      [
        .wait(.milliseconds(80)), .message(Rig.larger, .request(.normal)),
        .wait(.milliseconds(119)),
      ], .pendingRequest, sent: Array(repeating: .request(.normal), count: 4)),
    Case(
      "glare: a smaller SSRC waits", .pendingRequest,
      [
        .wait(.milliseconds(80)), .message(Rig.smaller, .request(.normal)),
        .wait(.milliseconds(40)),
      ], .hasPermission, sent: [.request(.normal), .request(.normal), .taken],
      told: ["done", "start"]),
    Case(
      "glare: a higher priority goes before a larger SSRC", .pendingRequest,
      [
        .wait(.milliseconds(80)), .message(Rig.smaller, .request(.priority)),
        .wait(.milliseconds(119)),
      ], .pendingRequest, sent: Array(repeating: .request(.normal), count: 4)),
  ]

  static let queued = [
    Case(
      "granted by the talker: accepted at once, with the queue", .queued,
      [
        .message(
          Rig.talker,
          .granted(
            to: Rig.me, .normal,
            queue: [OffNetworkWaiting(client: Rig.larger, priority: .normal)])),
        .frameSent, .release, .lastFrameSent,
      ], .pendingGranted, sent: [.granted(to: Rig.larger, .normal, queue: [])],
      told: ["done", "start", "finish", "stop released"]),
    Case(
      "the queue is followed to the next talker", .queued,
      [
        .message(Rig.talker, .granted(to: Rig.larger, .normal, queue: [])), .media(Rig.larger),
        .message(Rig.larger, .granted(to: Rig.me, .normal, queue: [])),
      ], .hasPermission, told: ["done", "rendered", "talker", "done", "start"]),
    Case(
      "T203, the talker is gone: asks anew", .queued, [.wait(.seconds(4))], .pendingRequest,
      sent: [.request(.normal)], told: ["done"]),
    Case(
      "and takes the floor 120 ms later", .queued, [.wait(.milliseconds(4_120))],
      .hasPermission, sent: [.request(.normal), .request(.normal), .request(.normal), .taken],
      told: ["done", "start"]),
    Case(
      "denied", .queued, [.message(Rig.talker, .deny(to: Rig.me.user, .noResources))],
      .noPermission, told: ["denied queueFull"]),
    Case(
      "a new place", .queued,
      [.message(Rig.talker, .queuePositionInfo(to: Rig.me.user, place: 1))], .queued,
      told: ["place 1"]),
    Case(
      "the place is asked for three times, then given up", .queued,
      [.askForPlace, .wait(.milliseconds(240))], .silence,
      sent: Array(repeating: .queuePositionRequest, count: 3), told: ["done"]),
    Case(
      "an answer ends the asking", .queued,
      [
        .askForPlace, .wait(.milliseconds(100)),
        .message(Rig.talker, .queuePositionInfo(to: Rig.me.user, place: 2)),
        .wait(.milliseconds(500)),
      ], .queued, sent: [.queuePositionRequest, .queuePositionRequest], told: ["place 2"]),
    Case(
      "the button goes up", .queued, [.release], .noPermission, sent: [.release]),
    Case("Floor Release has no procedure", .queued, [.message(Rig.talker, .release)], .queued),
  ]

  static let hasPermission = [
    Case(
      "the button goes up: what was said is sent, then the floor is free", .hasPermission,
      [.release, .lastFrameSent], .silence, sent: [.release],
      told: ["finish", "stop released"]),
    Case(
      "a request is queued", .hasPermission, [.message(Rig.larger, .request(.normal))],
      .hasPermission, sent: [.queuePositionInfo(to: Rig.larger.user, place: 1)]),
    Case(
      "the same request again is told its place", .hasPermission,
      [
        .message(Rig.smaller, .request(.normal)), .message(Rig.larger, .request(.normal)),
        .message(Rig.larger, .request(.normal)), .message(Rig.larger, .queuePositionRequest),
      ], .hasPermission,
      sent: [.queuePositionInfo(to: Rig.smaller.user, place: 1)]
        + Array(repeating: .queuePositionInfo(to: Rig.larger.user, place: 2), count: 3)),
    Case(
      "a queued client lets go", .hasPermission,
      [
        .message(Rig.larger, .request(.normal)), .message(Rig.larger, .release), .release,
        .lastFrameSent,
      ], .silence, sent: [.queuePositionInfo(to: Rig.larger.user, place: 1), .release],
      told: ["finish", "stop released"]),
    Case(
      "the next in the queue is granted, with the rest of it", .hasPermission,
      [
        .message(Rig.smaller, .request(.normal)), .message(Rig.larger, .request(.normal)),
        .release, .lastFrameSent,
      ], .pendingGranted,
      sent: [
        .queuePositionInfo(to: Rig.smaller.user, place: 1),
        .queuePositionInfo(to: Rig.larger.user, place: 2),
        .granted(
          to: Rig.smaller, .normal,
          queue: [OffNetworkWaiting(client: Rig.larger, priority: .normal)]),
      ], told: ["finish", "stop released"]),
    Case(
      "a higher priority pre-empts", .hasPermission,
      [.message(Rig.smaller, .request(.emergency))], .pendingGranted,
      sent: [.granted(to: Rig.smaller, .emergency, queue: [])], told: ["stop preempted"]),
    Case(
      "T206 warns", .hasPermission, [.wait(.seconds(27))], .hasPermission, told: ["warning"]),
    Case(
      "T207 ends the burst", .hasPermission, [.wait(.seconds(30))], .silence, sent: [.release],
      told: ["warning", "stop limit"]),
    Case(
      "another talker is ignored: media, Taken and grants", .hasPermission,
      [
        .media(Rig.larger), .message(Rig.larger, .taken),
        .message(Rig.larger, .granted(to: Rig.smaller, .normal, queue: [])),
      ], .hasPermission),
  ]

  static let pendingGranted = [
    Case(
      "the granted client's media ends the wait", .pendingGranted, [.media(Rig.larger)],
      .noPermission, told: ["rendered", "talker"]),
    Case("another's media does not", .pendingGranted, [.media(Rig.smaller)], .pendingGranted),
    Case(
      "T205 repeats the grant, three times", .pendingGranted, [.wait(.milliseconds(319))],
      .pendingGranted,
      sent: Array(repeating: .granted(to: Rig.larger, .normal, queue: []), count: 3)),
    Case(
      "after C205 grants without media: silence", .pendingGranted, [.wait(.milliseconds(320))],
      .silence, sent: Array(repeating: .granted(to: Rig.larger, .normal, queue: []), count: 3)),
    Case(
      "another's request is denied", .pendingGranted, [.message(Rig.smaller, .request(.normal))],
      .pendingGranted, sent: [.deny(to: Rig.smaller.user, .anotherHasPermission)]),
    Case(
      "the granted client's own request is answered by the next grant", .pendingGranted,
      [.message(Rig.larger, .request(.normal))], .pendingGranted),
    Case(
      "a press is kept until the floor is passed on", .pendingGranted,
      [.press(.normal), .media(Rig.larger)], .pendingRequest, sent: [.request(.normal)],
      told: ["rendered", "talker"]),
    Case(
      "a press that ended meanwhile is not", .pendingGranted,
      [.press(.normal), .release, .media(Rig.larger)], .noPermission,
      told: ["rendered", "talker"]),
  ]

  /// The queue's limit, and T233 for a granted client that is gone while others wait.
  static let overload = [
    Case(
      "the seventeenth is denied", .hasPermission,
      (1...17).map { .message(Rig.client(UInt64($0) + 100), .request(.normal)) }, .hasPermission,
      sent: (1...16).map {
        .queuePositionInfo(to: Rig.client(UInt64($0) + 100).user, place: $0)
      } + [.deny(to: Rig.client(117).user, .queueFull)]),
    Case(
      "the next one is granted T233 after a client that is gone", .hasPermission,
      [
        .message(Rig.smaller, .request(.normal)), .message(Rig.larger, .request(.normal)),
        .release, .lastFrameSent, .wait(.milliseconds(3_320)), .media(Rig.larger),
      ], .noPermission,
      sent: [
        .queuePositionInfo(to: Rig.smaller.user, place: 1),
        .queuePositionInfo(to: Rig.larger.user, place: 2),
      ]
        + Array(
          repeating: .granted(
            to: Rig.smaller, .normal,
            queue: [OffNetworkWaiting(client: Rig.larger, priority: .normal)]), count: 4)
        + [.granted(to: Rig.larger, .normal, queue: [])],
      told: ["finish", "stop released", "rendered", "talker"]),
  ]
}
