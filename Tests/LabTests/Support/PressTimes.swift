/// How long a press took, from the events of the node that pressed.
struct PressTimes {
  /// From the key to the floor, in milliseconds.
  var grant: Double?
  /// From the key to the permit tone, in milliseconds.
  var permit: Double?

  /// Each press in order: a floor that is `requested`, then `ours`, then the permit tone.
  static func all(in events: [Event]) -> [PressTimes] {
    var presses: [PressTimes] = []
    var pressed: Double?
    for event in events {
      if event.floorState == "requested" {
        pressed = event.atMilliseconds
        presses.append(PressTimes())
      }
      guard let pressed, let last = presses.indices.last else { continue }
      if event.floorState == "ours", presses[last].grant == nil {
        presses[last].grant = event.atMilliseconds - pressed
      }
      if event.tone == "permit", presses[last].permit == nil {
        presses[last].permit = event.atMilliseconds - pressed
      }
    }
    return presses
  }
}
