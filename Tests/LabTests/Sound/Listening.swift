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
    /// What sounds like a second voice in the same 100 ms.
    let second: Sighting?
  }

  /// Something like a voice: chance likenesses are among them.
  struct Sighting: Sendable {
    let time: Double
    let voice: Int
    /// From mouth to ear in seconds.
    let delay: Double

    /// A voice keeps its delay; a chance likeness has another one in the next 100 ms, and where one
    /// talker follows another both are in one stretch of 100 ms, not in two. (Neighbours at 50 ms
    /// share half of what they hear.)
    func confirms(_ other: Sighting) -> Bool {
      voice == other.voice && abs(abs(time - other.time) - 0.1) < 0.01
        && abs(delay - other.delay) < 0.000_5
    }
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
  /// The share of the energy that a voice must explain: other people's vowels come to a quarter.
  private static let share = 0.3
  /// The share of the whole that a second voice must have to be one.
  private static let audible = 0.1
  /// What must be left unexplained for a second voice to be worth a search: much more than a codec
  /// changes.
  private static let room = 0.2

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
    guard let (voice, first) = stillSpeaking(from) ?? loudest(from) else {
      return Moment(time: time, voice: nil, delay: 0, second: nil)
    }
    return Moment(
      time: time, voice: voice, delay: delay(first, from, voice),
      second: second(from, beside: voice, first))
  }

  /// The voice of the moment before, with about its delay, is most often still the one.
  private func stillSpeaking(_ from: Int) -> (Int, Match)? {
    guard let previous = moments.last, let voice = previous.voice,
      ear.time(of: from) - previous.time < 0.3
    else { return nil }
    let match = match(ear, from, voice, (previous.delay - 0.002)...(previous.delay + 0.002))
    return share(match) > 0.5 ? (voice, match) : nil
  }

  private func loudest(_ from: Int) -> (Int, Match)? {
    let matches = mouths.indices.map { match(ear, from, $0, delays) }
    let best = matches.indices.max { matches[$0].correlation < matches[$1].correlation }
    guard let best, share(matches[best]) > Listening.share else { return nil }
    return (best, matches[best])
  }

  private func second(_ from: Int, beside voice: Int, _ first: Match) -> Sighting? {
    let rest = Signal(samples: remainder(from, voice, first), start: ear.time(of: from))
    let left = energy(rest.samples[...]) / energy(heard(from))
    guard left > Listening.room else { return nil }
    for candidate in mouths.indices where candidate != voice {
      let match = match(rest, 0, candidate, delays)
      guard share(match) > Listening.share, share(match) * left > Listening.audible
      else { continue }
      return Sighting(
        time: ear.time(of: from), voice: candidate, delay: delay(match, from, candidate))
    }
    return nil
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

  /// When two voices were heard together: one that was heard before is heard again at least 100 ms
  /// after the other began. (Where one follows another, one moment may hold both.)
  var overlaps: [Double] {
    let sure = sightings
    return sure.indices.filter { index in
      let (time, voice) = (sure[index].time, sure[index].voice)
      let others = sure[max(0, index - 20)..<min(sure.count, index + 20)].filter {
        $0.voice != voice && abs($0.time - time) < 0.5
      }
      return others.contains { later in
        later.time > time + 0.09
          && others.contains { $0.voice == later.voice && $0.time < time }
      }
    }.map { sure[$0].time }
  }

  /// Every voice that was sighted twice in a row, in order.
  private var sightings: [Sighting] {
    let all = moments.flatMap { moment -> [Sighting] in
      let first = moment.voice.map {
        Sighting(time: moment.time, voice: $0, delay: moment.delay)
      }
      return [first, moment.second].compactMap { $0 }
    }
    return all.indices.filter { index in
      all[max(0, index - 4)..<min(all.count, index + 5)].contains { $0.confirms(all[index]) }
    }.map { all[$0] }
  }

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
