import Glibc
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
      guard Self.waits(for: client, while: context.output) else { return ExitCode.ok }
      let incoming: ControlClient.Incoming?
      do throws(ControlError) {
        incoming = try client.receive(.zero)
      } catch {
        throw CommandError(error)
      }
      guard case .event(let event)? = incoming else { continue }
      guard context.put(event + [UInt8(ascii: "\n")]) else { return ExitCode.ok }
    }
  }

  /// Waits until something came from the node; false once nobody reads our output any more.
  private static func waits(for client: ControlClient, while output: Int32) -> Bool {
    guard !client.hasWaiting else { return true }
    // Of a pipe without a reader, poll(2) tells an error though none is asked for.
    var polled = [
      pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: output, events: 0, revents: 0),
    ]
    _ = unsafe poll(&polled, nfds_t(polled.count), -1)
    return polled[1].revents & Int16(POLLERR | POLLHUP | POLLNVAL) == 0
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
