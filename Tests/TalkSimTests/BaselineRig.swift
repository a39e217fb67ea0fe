import TalkCore
import TalkFloor
import TalkSim
import TalkWire

/// One off-network participant by hand, for tables of transitions.
struct BaselineRig {
  /// What happens to the machine.
  enum Input {
    case message(OffNetworkClient, OffNetworkMessage.Content)
    case media(OffNetworkClient)
    case press(FloorClass)
    case release
    case frameSent
    case lastFrameSent
    case askForPlace
    case callReleased
    case establish(originating: Bool)
    /// Time passes; what is due is done on time.
    case wait(Duration)
  }

  static let me = client(50)
  /// The one who talks in the states that have a talker.
  static let talker = client(40)
  static let smaller = client(10)
  static let larger = client(90)

  static func client(_ number: UInt64) -> OffNetworkClient {
    OffNetworkClient(PeerID(Bytes16(high: 7, low: number)))
  }

  private(set) var machine = OffNetworkFloor(user: me.user, timers: OffNetworkTimers())
  private(set) var now = Instant(nanoseconds: 1_000_000_000)
  /// What the machine has sent since `forget`.
  private(set) var sent: [OffNetworkMessage.Content] = []
  /// What else it wanted done, in words.
  private(set) var told: [String] = []

  /// A machine that has been brought into a state.
  init(in state: OffNetworkFloor.State) {
    for input in Self.way(to: state) { apply(input) }
    precondition(machine.state == state, "the way to \(state) led to \(machine.state)")
    forget()
  }

  private static func way(to state: OffNetworkFloor.State) -> [Input] {
    let join = Input.establish(originating: false)
    let listen = [join, .media(talker)]
    switch state {
    case .startStop: return []
    case .silence: return [join]
    case .noPermission: return listen
    case .pendingRequest: return listen + [.press(.normal)]
    case .queued:
      return way(to: .pendingRequest)
        + [.message(talker, .queuePositionInfo(to: me.user, place: 1))]
    case .hasPermission: return [join, .press(.normal), .wait(.milliseconds(120)), .frameSent]
    case .pendingGranted:
      return way(to: .hasPermission)
        + [.message(larger, .request(.normal)), .release, .lastFrameSent]
    }
  }

  mutating func forget() {
    sent = []
    told = []
  }

  mutating func apply(_ input: Input) {
    switch input {
    case .message(let sender, let content):
      machine.receive(OffNetworkMessage(sender: sender, content), now: now)
    case .media(let sender):
      let mark = VoiceMark(
        turn: 1, seat: 0, floorClass: .normal, frame: 1, isLast: false, burst: 1)
      if machine.hears(mark, from: sender.user, now: now) != nil { told.append("rendered") }
    case .press(let floorClass): machine.press(floorClass, now: now)
    case .release: machine.release(now: now)
    case .frameSent: machine.transmitted(frame: 1, now: now)
    case .lastFrameSent: machine.transmitFinished(lastFrame: 1, now: now)
    case .askForPlace: machine.askForPlace(now: now)
    case .callReleased: machine.releaseCall()
    case .establish(let originating): machine.establish(originating: originating, now: now)
    case .wait(let length):
      let end = now + length
      while let due = machine.deadline, due <= end {
        now = max(now, due)
        machine.wake(now: now)
        collect()
      }
      now = end
    }
    collect()
  }

  private mutating func collect() {
    while let effect = machine.nextEffect() {
      switch effect {
      case .send(let message, .everyone): sent.append(message.content)
      case .send(_, .peer): told.append("sent to one alone")
      case .startTransmit: told.append("start")
      case .stopTransmit(_, let reason): told.append("stop \(reason)")
      case .finishTransmit: told.append("finish")
      case .talker: told.append("talker")
      case .talkerDone: told.append("done")
      case .queued(let place): told.append("place \(place)")
      case .denied(let reason): told.append("denied \(reason)")
      case .limitWarning: told.append("warning")
      default: told.append("\(effect)")
      }
    }
  }
}
