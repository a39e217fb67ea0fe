import Foundation

/// A line of `talkaround watch`. The names of its fields stand here and nowhere else.
struct Event: @unchecked Sendable {
  private let fields: [String: Any]

  init?(line: Substring) {
    let object = try? JSONSerialization.jsonObject(with: Data(line.utf8))
    guard let fields = object as? [String: Any] else { return nil }
    self.fields = fields
  }

  /// "snapshot", "member", "floor", "burst", "heard", "tone", "device", "discovery" …
  var name: String { fields["event"] as? String ?? "" }
  /// Milliseconds of the monotonic clock.
  var atMilliseconds: Double { number("at_ms") ?? 0 }
  /// The same in seconds, as the lab counts.
  var time: Double { atMilliseconds / 1_000 }
  /// Of a tone: "permit", "busy", "queued", "unheard" …
  var tone: String? { name == "tone" ? fields["tone"] as? String : nil }
  /// Of a tone or a floor: the nickname of who speaks.
  var holderName: String? { fields["name"] as? String }
  /// Of a device: "running", "lost" or "none".
  var deviceState: String? { name == "device" ? fields["state"] as? String : nil }
  /// Of a floor: "idle", "taken", "requested", "queued" or "ours".
  var floorState: String? { name == "floor" ? fields["state"] as? String : nil }
  /// Of a member: "present", "away" or "wants-in".
  var memberState: String? {
    name == "member"
      ? fields["state"] as? String ?? (fields["member"] as? [String: Any])?["state"] as? String
      : nil
  }
  /// Of a floor that we pressed for: when, and how long the grant and the permit tone took.
  var pressMilliseconds: Double? { number("press_ms") }
  var grantMilliseconds: Double? { number("grant_ms") }
  var permitMilliseconds: Double? { number("permit_ms") }

  private func number(_ key: String) -> Double? { (fields[key] as? NSNumber)?.doubleValue }
}

/// A `talkaround watch` at work.
struct Watch {
  let child: ChildProcess

  /// Everything that it has told, in order.
  var events: [Event] { child.output.split(separator: "\n").compactMap(Event.init) }

  /// The first event from `time` on that fits; waits for it.
  func first(
    since time: Double, within seconds: Double, _ what: String, where fits: (Event) -> Bool
  ) throws -> Event {
    var found: Event?
    try Lab.wait(seconds: seconds, "no event: \(what)") {
      found = events.first { $0.time >= time && fits($0) }
      return found != nil
    }
    guard let found else { throw LabError("no event: \(what)") }
    return found
  }

  /// When the permit tone sounded.
  func permit(since time: Double, within seconds: Double = 2) throws -> Double {
    try first(since: time, within: seconds, "permit tone") { $0.tone == "permit" }.time
  }
}
