import TalkKit

/// A tone as a line for the person.
struct ToneText {
  let line: String
  /// The exit code, where the tone says that the press led to nothing.
  let refusal: Int32?

  init(_ tone: ToneReport) {
    let holder = tone.name.map(DisplayText.name) ?? "somebody"
    let why = tone.reason?.meaning ?? "no reason was given"
    switch tone.tone {
    case "permit": (line, refusal) = ("speak now", nil)
    case "busy":
      let text = tone.reason.map { $0 == .busy ? "" : "; \($0.meaning)" } ?? ""
      (line, refusal) = ("busy: \(holder) speaks\(text)", ExitCode.busy)
    case "queued":
      (line, refusal) = ("queued: place \(tone.place ?? 0), \(holder) speaks", ExitCode.busy)
    case "limit-warning": (line, refusal) = ("the talk limit comes soon", nil)
    case "cut": (line, refusal) = ("cut: \(why)", nil)
    case "unheard": (line, refusal) = ("unheard: \(why)", ExitCode.unavailable)
    case "came", "left": (line, refusal) = ("\(holder) \(tone.tone)", nil)
    default: (line, refusal) = (DisplayText.name(tone.tone), nil)
    }
  }
}
