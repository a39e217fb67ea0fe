import Glibc
import TalkKit

/// `talkaround talk hold`: the key is down while this runs.
struct TalkHold {
  /// How often the key's level is sent again: 5 Hz, so that one lost beat of the node's 500 ms is
  /// borne (floor.md).
  static let beatMilliseconds: Int32 = 200
  /// How many events are taken before keys and clocks are looked at again.
  static let eventsAtOnce = 32

  private let client: ControlClient
  private let parameters: [String: JSONValue]
  private let context: Context
  /// True once the floor was ours.
  private var wasPermitted = false
  private var lastBeat: UInt64 = 0
  /// True when events may wait in our own buffer, where poll(2) does not see them.
  private var moreWaits = false
  /// Why not, so far.
  private var refusal: (text: String, code: Int32)?

  init(client: ControlClient, parameters: [String: JSONValue], context: Context) {
    self.client = client
    self.parameters = parameters
    self.context = context
  }

  /// Holds until told to end; the exit code says whether the floor was ever ours.
  mutating func run() throws(CommandError) -> Int32 {
    let signals = SignalPipe([SIGINT, SIGTERM, SIGHUP])
    _ = try client.ask(.subscribe)
    var input = HeldInput(context.input)
    _ = try client.ask(.talkHold, parameters)
    while true {
      var polled = [
        pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: input.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      let patience = moreWaits ? 0 : Self.beatMilliseconds
      _ = unsafe poll(&polled, nfds_t(polled.count), patience)
      if polled[1].revents != 0 { break }
      if polled[2].revents != 0, input.hasEnded() { break }
      try takeEvents()
      if beatIsDue() { try beat() }
    }
    do { _ = try client.call(.talkRelease, patience: .seconds(1)) } catch {
      throw CommandError(error)
    }
    if wasPermitted { return ExitCode.ok }
    if let refusal { throw CommandError(message: refusal.text, exitCode: refusal.code) }
    throw CommandError(message: "released before it was granted", exitCode: ExitCode.busy)
  }

  private func milliseconds() -> UInt64 {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    return UInt64(now.tv_sec) * 1_000 + UInt64(now.tv_nsec) / 1_000_000
  }

  private func beatIsDue() -> Bool {
    milliseconds() - lastBeat >= UInt64(Self.beatMilliseconds)
  }

  private mutating func beat() throws(CommandError) {
    lastBeat = milliseconds()
    do { try client.send(.talkHold, parameters, notification: true) } catch {
      throw CommandError(error)
    }
  }

  /// Takes some events, not all: under a flood of them the key must still be asserted.
  private mutating func takeEvents() throws(CommandError) {
    moreWaits = false
    do throws(ControlError) {
      for _ in 0..<Self.eventsAtOnce {
        guard let incoming = try client.receive(.zero) else { return }
        guard case .event(let json) = incoming,
          let event = JSONLine.decode(WatchEvent.self, json)
        else { continue }
        take(event)
      }
      moreWaits = true
    } catch {
      throw CommandError(error)
    }
  }

  private mutating func take(_ event: WatchEvent) {
    guard case .tone(let tone) = event.content else { return }
    let told = ToneText(tone)
    context.tell(told.line)
    if tone.tone == "permit" { wasPermitted = true }
    if let code = told.refusal { refusal = (told.line, code) }
  }
}
