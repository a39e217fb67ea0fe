import Glibc
import TalkKit

/// `talkaround talk …`.
enum TalkCommands {
  static let commands = [file, hold, press, release, toggle]

  private static let hold = Command(
    "talk hold", summary: "hold the key while it runs",
    notes: [
      "The key is released by SIGINT, SIGTERM, SIGHUP, the end of standard input, or the death",
      "of the command. What happens is told on standard error.",
    ]
  ) { invocation, context throws(CommandError) in
    var hold = TalkHold(client: try context.connect(invocation), context: context)
    return try hold.run()
  }

  private static let press = Command(
    "talk press", summary: "press the key and leave it pressed",
    notes: ["It ends by 'talk release' or the talk limit."]
  ) { invocation, context throws(CommandError) in
    try latch(.talkPress, invocation, context)
  }

  private static let release = Command("talk release", summary: "release the key") {
    invocation, context throws(CommandError) in
    _ = try context.connect(invocation).ask(.talkRelease)
    return ExitCode.ok
  }

  private static let toggle = Command(
    "talk toggle", summary: "press the key, or release it if pressed"
  ) {
    invocation, context throws(CommandError) in
    try latch(.talkToggle, invocation, context)
  }

  /// Presses or toggles, and tells what came of it.
  private static func latch(
    _ method: ControlMethod, _ invocation: Invocation, _ context: Context
  ) throws(CommandError) -> Int32 {
    let client = try context.connect(invocation)
    let floor = try client.ask(method, as: FloorStatus.self)
    switch floor.state {
    case .ours: context.tell("you speak; end with: talkaround talk release")
    case .queued: context.tell("you wait, place \(floor.place ?? 0)")
    case .requested: context.tell("asked; no answer yet")
    case .idle, .taken: context.tell("released")
    }
    return ExitCode.ok
  }

  private static let file = Command(
    "talk",
    options: [
      Option("--file", "WAV", help: "speak what the file holds; - reads standard input"),
      Option("--any", help: "be content when one member heard it"),
    ],
    summary: "speak a sound file; ends with 0 when all present heard it"
  ) { invocation, context throws(CommandError) in
    guard let name = invocation.value("--file") else {
      throw .usage("'talkaround talk' needs one of: hold, press, release, toggle, --file WAV")
    }
    let speech = try SpeechFile(name, context)
    let client = try context.connect(invocation)
    let parameters: [String: JSONValue] = ["path": .string(speech.path)]
    let report = try speak(client, parameters, context)
    // The file behind the path must stay open until the node has read it.
    speech.end()
    return try judge(report, any: invocation.has("--any"), context)
  }

  /// Has the file spoken; while somebody else has the floor, that is told.
  private static func speak(
    _ client: ControlClient, _ parameters: [String: JSONValue], _ context: Context
  ) throws(CommandError) -> HeardEvent {
    do throws(ControlError) {
      _ = try client.call(.subscribe)
      let id = try client.send(.talkFile, parameters)
      while true {
        switch try client.receive(nil) {
        case .event(let json):
          guard let event = JSONLine.decode(WatchEvent.self, json),
            case .tone(let tone) = event.content, ["busy", "queued"].contains(tone.tone)
          else { continue }
          context.tell(ToneText(tone).line)
        case .answer(let answered, let result) where answered == id:
          let json: [UInt8]
          do { json = try result.get() } catch { throw .refused(error) }
          guard let report = JSONLine.decode(HeardEvent.self, json) else { throw .notUnderstood }
          return report
        default: continue
        }
      }
    } catch {
      throw CommandError(error)
    }
  }

  /// Says who heard it and who did not, and which exit code that makes.
  static func judge(
    _ report: HeardEvent, any: Bool, _ context: Context
  ) throws(CommandError) -> Int32 {
    let missed = report.missed.map { DisplayText.name($0.name) }.joined(separator: ", ")
    let all = report.heard.count + report.missed.count
    guard !report.heard.isEmpty else {
      throw CommandError(
        message: "unheard: \(missed.isEmpty ? "no other member is here" : "not by \(missed)")",
        exitCode: ExitCode.unavailable)
    }
    guard report.missed.isEmpty || any else {
      throw CommandError(
        message: "heard by \(report.heard.count) of \(all), not \(missed)",
        exitCode: ExitCode.unavailable)
    }
    context.tell("heard by \(report.heard.count) of \(all)")
    return ExitCode.ok
  }
}
