/// Who is heard at one ear, moment by moment, among people of whom each is recorded at the mouth.
///
/// Every mouth may speak all the time: only who has the floor should be heard. Each 100 ms of what
/// was heard are explained by the voice that fits best; what is left is searched for the others.
struct Listening: Sendable {
  /// 100 ms at the ear.
  struct Moment: Sendable {
    let time: Double
    /// Which of the mouths; nil in silence, or when no voice explains what is heard.
    let voice: Int?
    /// From mouth to ear in seconds.
    let delay: Double
    /// A second voice that is heard together with it, not before or after.
    let second: Int?
  }

  /// A stretch of one voice.
  struct Run: Sendable {
    let voice: Int
    let from: Double
    var to: Double
    /// From mouth to ear, the middle of the stretch.
    var delay: Double
  }

  private static let count = Int(0.1 * Signal.rate)
  private static let hop = Int(0.05 * Signal.rate)
  /// Energy that a voice must explain to be a voice.
  private static let share = 0.1
  /// A voice that explains so much leaves no room for a second one.
  private static let whole = 0.9

  private let ear: Signal
  private let mouths: [Signal]
  private let delays: ClosedRange<Double>
  private(set) var moments: [Moment] = []

  /// Listens to the whole of `ear`; `delays` from mouth to ear are looked for, in seconds.
  init(ear: Clip, mouths: [Clip], delays: ClosedRange<Double>) {
    self.ear = Signal(ear)
    self.mouths = mouths.map(Signal.init)
    self.delays = delays
    let quiet = loudness() * 0.001
    var from = 0
    while from + Listening.count <= self.ear.samples.count {
      let energy = self.ear.energy(from: from, count: Listening.count)
      if energy / Double(Listening.count) > quiet { moments.append(moment(from)) }
      from += Listening.hop
    }
  }

  /// The energy per sample where it is loud.
  private func loudness() -> Double {
    let starts = stride(from: 0, to: max(1, ear.samples.count), by: Listening.count)
    let energies = starts.map { ear.energy(from: $0, count: Listening.count) }.sorted()
    return energies[energies.count * 9 / 10] / Double(Listening.count)
  }

  private func moment(_ from: Int) -> Moment {
    let time = ear.time(of: from)
    // The voice of the moment before, with its delay, is most often still the one.
    if let previous = moments.last, let voice = previous.voice, time - previous.time < 0.06 {
      let near = (previous.delay - 0.002)...(previous.delay + 0.002)
      let match = match(ear, from, voice, near)
      if match.correlation * match.correlation > Listening.whole {
        return Moment(time: time, voice: voice, delay: delay(match, from, voice), second: nil)
      }
    }
    return searched(from, time)
  }

  private func searched(_ from: Int, _ time: Double) -> Moment {
    let matches = mouths.indices.map { match(ear, from, $0, delays) }
    let best = matches.indices.max { matches[$0].correlation < matches[$1].correlation }
    guard let best, share(matches[best]) > Listening.share else {
      return Moment(time: time, voice: nil, delay: 0, second: nil)
    }
    let rest = Signal(samples: remainder(from, best, matches[best]), start: time)
    let leftShare = energy(rest.samples[...]) / energy(heard(from))
    let second = mouths.indices.first { voice in
      guard voice != best else { return false }
      let other = match(rest, 0, voice, delays)
      return share(other) * leftShare > Listening.share
        && areTogether(from, said(best, matches[best]), said(voice, other))
    }
    return Moment(
      time: time, voice: best, delay: delay(matches[best], from, best), second: second)
  }

  private func heard(_ from: Int) -> ArraySlice<Float> {
    ear.samples[from..<from + Listening.count]
  }

  /// What a mouth said where it matches.
  private func said(_ voice: Int, _ match: Match) -> [Float] {
    let samples = mouths[voice].samples
    let place = Int(match.index.rounded())
    return (place..<place + Listening.count).map { samples.indices.contains($0) ? samples[$0] : 0 }
  }

  /// Whether two voices sound in the same 20 ms, twice within the 100 ms: where one ends and another
  /// begins that happens once at most.
  private func areTogether(_ from: Int, _ one: [Float], _ other: [Float]) -> Bool {
    let length = Listening.count / 5
    let together = (0..<5).count { part in
      let range = part * length..<(part + 1) * length
      let sound = ear.samples[from + range.lowerBound..<from + range.upperBound]
      let (a, b) = Listening.explain(sound, one[range], other[range])
      let whole = energy(sound)
      return a * a * energy(one[range]) > Listening.share * whole
        && b * b * energy(other[range]) > Listening.share * whole
    }
    return together >= 2
  }

  /// The loudness of each of two voices that together come closest to the sound (least squares).
  private static func explain(
    _ sound: ArraySlice<Float>, _ one: ArraySlice<Float>, _ other: ArraySlice<Float>
  ) -> (Double, Double) {
    let (aa, ab, bb) = (dot(one, one), dot(one, other), dot(other, other))
    let (sa, sb) = (dot(one, sound), dot(other, sound))
    let determinant = aa * bb - ab * ab
    guard determinant > 1e-9 * aa * bb else { return (0, 0) }
    return ((sa * bb - sb * ab) / determinant, (sb * aa - sa * ab) / determinant)
  }

  private static func dot(_ a: ArraySlice<Float>, _ b: ArraySlice<Float>) -> Double {
    zip(a, b).reduce(0) { $0 + Double($1.0 * $1.1) }
  }

  private func energy(_ samples: ArraySlice<Float>) -> Double { Listening.dot(samples, samples) }

  private func share(_ match: Match) -> Double {
    match.correlation > 0 ? match.correlation * match.correlation : 0
  }

  private func match(
    _ signal: Signal, _ from: Int, _ voice: Int, _ delays: ClosedRange<Double>
  ) -> Match {
    let mouth = mouths[voice]
    let time = signal.time(of: from)
    let first = mouth.index(at: time - delays.upperBound)
    let last = max(first, mouth.index(at: time - delays.lowerBound))
    return Match.best(of: signal, from: from, count: Listening.count, in: mouth, at: first...last)
  }

  private func delay(_ match: Match, _ from: Int, _ voice: Int) -> Double {
    ear.time(of: from) - (mouths[voice].start + match.index / Signal.rate)
  }

  /// What is heard, less the voice that fits best.
  private func remainder(_ from: Int, _ voice: Int, _ match: Match) -> [Float] {
    let said = said(voice, match)
    let loudness = energy(heard(from)) / max(energy(said[...]), 1e-9)
    let gain = Float(match.correlation * loudness.squareRoot())
    return zip(heard(from), said).map { $0 - gain * $1 }
  }

  /// When two voices were heard together.
  var overlaps: [Double] { moments.filter { $0.second != nil }.map(\.time) }

  /// The stretches in which one voice was heard, in order.
  var runs: [Run] {
    var runs: [Run] = []
    var delays: [Double] = []
    for moment in moments {
      guard let voice = moment.voice else { continue }
      if let last = runs.last, last.voice == voice, moment.time - last.to < 1 {
        runs[runs.count - 1].to = moment.time
        delays.append(moment.delay)
        runs[runs.count - 1].delay = delays.sorted()[delays.count / 2]
      } else {
        runs.append(Run(voice: voice, from: moment.time, to: moment.time, delay: moment.delay))
        delays = [moment.delay]
      }
    }
    return runs
  }
}
