import TalkKit

/// What the screen shows, kept up to date by events.
struct ScreenModel {
  /// One who spoke, and for how long.
  struct Speaker: Equatable {
    var name: String
    /// Milliseconds; nil while the burst lasts.
    var duration: Double?
    var began: Double
    var turn: UInt64
  }

  /// How many of the last speakers are kept.
  static let speakerLimit = 8

  /// The latest whole status.
  private(set) var report: StatusReport?
  /// Speakers, the latest first.
  private(set) var speakers: [Speaker] = []
  /// How loud it is, in dB below full scale; nil when nobody speaks.
  private(set) var level: Double?
  /// The latest thing to tell the person.
  private(set) var message = ""
  /// The states of the floor in which the message is true; nil when it is in all.
  private var messageStates: [FloorState]?
  /// True when something changed that only a new status shows.
  var needsStatus = false
  /// True when the screen should be drawn again.
  var isStale = true
  /// True when the node ended our press.
  var pressEnded = false

  /// The channel to talk on.
  var channel: ChannelStatus? { report?.channels.first { $0.current } }

  /// Shows a message at the foot, until another takes its place.
  mutating func tell(_ text: String, while states: [FloorState]? = nil) {
    message = text
    messageStates = states
    isStale = true
  }

  /// Drops a message that the floor has overtaken.
  private mutating func settleMessage() {
    guard let states = messageStates, let floor = channel?.floor, !states.contains(floor.state)
    else { return }
    tell("")
  }

  /// Takes a whole status.
  mutating func take(_ report: StatusReport) {
    self.report = report
    isStale = true
    settleMessage()
  }

  /// Takes what happened.
  mutating func take(_ event: WatchEvent) {
    isStale = true
    switch event.content {
    case .snapshot(let report): take(report)
    case .floor(let floor): take(floor)
    case .burst(let burst): take(burst, at: event.atMilliseconds)
    case .heard(let heard): take(heard)
    case .tone(let tone): take(tone)
    case .error(let error): tell(DisplayText.line(error.message))
    case .member, .device, .discovery, .status: needsStatus = true
    }
  }

  private mutating func take(_ event: FloorEvent) {
    guard let index = report?.channels.firstIndex(where: { $0.id == event.channel }) else {
      needsStatus = true
      return
    }
    var floor = report?.channels[index].floor
    floor?.state = event.state
    floor?.holder = event.holder
    floor?.turn = event.turn
    floor?.floorClass = event.floorClass
    floor?.place = event.place
    floor?.queue = event.queue
    floor?.sinceMilliseconds = event.holder == nil ? nil : 0
    if let floor { report?.channels[index].floor = floor }
    if event.holder == nil { level = nil }
    settleMessage()
  }

  private mutating func take(_ burst: BurstEvent, at now: Double) {
    switch burst.phase {
    case .level: level = burst.level
    case .began:
      let name = burst.speaker == report?.node.id ? "you" : DisplayText.name(burst.name)
      speakers.insert(
        Speaker(name: name, duration: nil, began: now, turn: burst.turn), at: 0)
      speakers = Array(speakers.prefix(Self.speakerLimit))
    case .ended:
      level = nil
      if let index = speakers.firstIndex(where: { $0.turn == burst.turn && $0.duration == nil }) {
        speakers[index].duration = now - speakers[index].began
      }
    }
  }

  private mutating func take(_ heard: HeardEvent) {
    let all = heard.heard.count + heard.missed.count
    let missed = heard.missed.map { DisplayText.name($0.name) }.joined(separator: ", ")
    tell("heard by \(heard.heard.count) of \(all)\(missed.isEmpty ? "" : ", not \(missed)")")
  }

  private mutating func take(_ tone: ToneReport) {
    let text = ToneText(tone)
    switch tone.tone {
    case "permit", "limit-warning": tell(text.line, while: [.ours])
    case "queued": tell(text.line, while: [.queued])
    case "busy" where tone.reason == .busy:
      tell(text.line, while: [.taken, .requested, .queued])
    default: tell(text.line)
    }
    // Somebody who speaks and a place in the queue keep the key down: the floor comes when it is
    // free. Whatever else refuses or ends a press lets go of it.
    let waits = tone.tone == "queued" || (tone.tone == "busy" && tone.reason == .busy)
    if tone.tone == "cut" || (text.refusal != nil && !waits) { pressEnded = true }
  }
}
