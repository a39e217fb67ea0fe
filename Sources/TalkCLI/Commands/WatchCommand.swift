import TalkKit

/// `talkaround watch`: everything that happens, a line of JSON each.
enum WatchCommand {
  static let command = Command(
    "watch", options: [Option("--levels", help: "also how loud a burst is, ten times a second")],
    summary: "print what happens as lines of JSON, a snapshot first", notes: notes
  ) { invocation, context throws(CommandError) in
    let client = try context.connect(invocation)
    let levels = JSONValue.bool(invocation.has("--levels"))
    _ = try client.ask(.subscribe, ["levels": levels])
    while true {
      let incoming: ControlClient.Incoming?
      do throws(ControlError) {
        incoming = try client.receive(nil)
      } catch {
        throw CommandError(error)
      }
      guard case .event(let event)? = incoming else { continue }
      // A reader that has enough closes the pipe: that is no failure.
      guard Context.write(event + [UInt8(ascii: "\n")], to: context.output) else {
        return ExitCode.ok
      }
    }
  }

  private static let notes =
    [
      "Each line has event, seq (a gap: events were lost), at_ms (CLOCK_BOOTTIME) and time.",
      "Events: snapshot, member, floor, burst, heard, tone, device, discovery, status, error.",
      "A floor event of our own press has press_ms (CLOCK_BOOTTIME), and from there grant_ms",
      "and permit_ms. Reasons:",
    ]
    + Reason.allCases.map { reason in
      let blanks = String(repeating: " ", count: 18 - reason.rawValue.count)
      return "  \(reason.rawValue)\(blanks)\(reason.meaning)"
    }
}
