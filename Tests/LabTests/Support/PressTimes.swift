/// How long a press took, as the node that pressed tells it.
struct PressTimes {
  /// From the key to the floor, in milliseconds.
  var grant: Double?
  /// From the key to the permit tone, in milliseconds.
  var permit: Double?

  /// Each press in order. Its floor events repeat when it began; the last one knows most.
  static func all(in events: [Event]) -> [PressTimes] {
    var (presses, last): ([PressTimes], Double?) = ([], nil)
    for event in events {
      guard let press = event.pressMilliseconds else { continue }
      if press != last { presses.append(PressTimes()) }
      last = press
      let index = presses.count - 1
      presses[index].grant = event.grantMilliseconds ?? presses[index].grant
      presses[index].permit = event.permitMilliseconds ?? presses[index].permit
    }
    return presses
  }
}
