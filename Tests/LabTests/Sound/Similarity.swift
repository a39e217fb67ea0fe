/// How much of what was spoken was heard, and how faithfully.
///
/// Band-passed to 300–3,400 Hz and aligned per 200 ms within ±20 ms, since a jitter buffer may
/// stretch time by a step: one step would ruin the figure of a whole clip that sounds perfect.
struct Similarity: Sendable, CustomStringConvertible {
  /// 200 ms of what was spoken.
  struct Window: Sendable {
    /// From the first sound on, in seconds.
    let offset: Double
    let correlation: Double
    /// From mouth to ear, in seconds (where both clips know their time).
    let delay: Double
  }

  static let window = 0.2
  static let search = 0.02
  fileprivate static let frame = 0.01

  /// All windows that hold speech, in order.
  let windows: [Window]
  /// Of the first and the last 200 ms of speech.
  let first: Double
  let last: Double
  /// Speech before the first sound that was heard, after the last, and the longest gap between,
  /// in seconds.
  let headMissing: Double
  let tailMissing: Double
  let longestHole: Double

  /// The middle of all windows.
  var median: Double { Similarity.middle(windows.map(\.correlation)) }
  /// The middle delay from mouth to ear, in seconds.
  var delay: Double { Similarity.middle(windows.map(\.delay)) }
  /// Windows of which little was heard.
  var badWindows: Int { windows.count { $0.correlation < 0.5 } }

  /// Compares; `delays` are the delays that are possible, in seconds, by the clips' own clocks.
  init(spoken: Clip, heard: Clip, delays: ClosedRange<Double> = 0...1) {
    let comparison = Comparison(Signal(spoken), Signal(heard), delays)
    windows = comparison.windows
    first = comparison.correlation(of: comparison.speech.lowerBound)
    last = comparison.correlation(of: comparison.speech.upperBound - comparison.windowCount)
    let holes = comparison.unheard()
    headMissing = holes.head
    tailMissing = holes.tail
    longestHole = holes.longest
  }

  var description: String {
    func rounded(_ value: Double) -> Double { (value * 1_000).rounded() / 1_000 }
    return """
      similarity median \(rounded(median)) first \(rounded(first)) last \(rounded(last)), \
      \(badWindows) of \(windows.count) windows below 0.5, \
      missing head \(rounded(headMissing)) s tail \(rounded(tailMissing)) s \
      hole \(rounded(longestHole)) s, delay \(rounded(delay)) s
      """
  }

  fileprivate static func middle(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
  }

  /// One comparison at work.
  private struct Comparison {
    let spoken: Signal
    let heard: Signal
    /// The samples of `spoken` from the first to the last sound.
    let speech: Range<Int>
    let windowCount = Int(Similarity.window * Signal.rate)
    let frameCount = Int(Similarity.frame * Signal.rate)
    /// Samples from a place in `spoken` to the same sound in `heard`.
    private var shift = 0
    private var shifts: [Int] = []
    private(set) var windows: [Window] = []

    init(_ spoken: Signal, _ heard: Signal, _ delays: ClosedRange<Double>) {
      self.spoken = spoken
      self.heard = heard
      speech = Envelope(spoken).soundRange()
      shift = Alignment.shift(of: spoken, speech, in: heard, delays)
      var from = speech.lowerBound
      while from + windowCount <= speech.upperBound {
        measureWindow(from)
        from += windowCount
      }
    }

    private mutating func measureWindow(_ from: Int) {
      let match = align(from)
      let isAligned = match.correlation >= 0.5
      shifts.append(isAligned ? Int(match.index.rounded()) - from : shifts.last ?? shift)
      guard isSpeech(from, windowCount) else { return }
      let delay =
        heard.start - spoken.start
        + ((isAligned ? match.index - Double(from) : Double(shift)) / Signal.rate)
      let offset = Double(from - speech.lowerBound) / Signal.rate
      windows.append(Window(offset: offset, correlation: match.correlation, delay: delay))
    }

    private func align(_ from: Int) -> Match {
      let slack = Int(Similarity.search * Signal.rate)
      let middle = from + shift
      return Match.best(
        of: spoken, from: from, count: windowCount, in: heard, at: middle - slack...middle + slack)
    }

    func correlation(of from: Int) -> Double { align(from).correlation }

    /// Louder than a pause: within 30 dB of the speech as a whole.
    private func isSpeech(_ from: Int, _ count: Int) -> Bool {
      spoken.energy(from: from, count: count) / Double(count) > meanEnergy * 0.001
    }

    /// A sample's energy, over the speech as a whole.
    private var meanEnergy: Double {
      spoken.energy(from: speech.lowerBound, count: speech.count) / Double(max(1, speech.count))
    }

    /// Speech before the first frame that was heard, after the last, and the longest between.
    ///
    /// A frame is 10 ms; those count that are loud where spoken, and one is unheard that has less
    /// than a tenth of the energy due.
    func unheard() -> (head: Double, tail: Double, longest: Double) {
      let due = gain()
      let loud = stride(from: speech.lowerBound, to: speech.upperBound, by: frameCount).filter {
        spoken.energy(from: $0, count: frameCount) > meanEnergy * 0.02 * Double(frameCount)
      }
      guard let firstLoud = loud.first, let lastLoud = loud.last else { return (0, 0, 0) }
      var (lastHeard, longest): (Int?, Int) = (nil, 0)
      var head = lastLoud + frameCount - firstLoud
      var firstUnheard: Int?
      for from in loud {
        if isHeard(from, due) {
          if lastHeard == nil { head = from - firstLoud }
          if lastHeard != nil, let hole = firstUnheard { longest = max(longest, from - hole) }
          (lastHeard, firstUnheard) = (from, nil)
        } else {
          firstUnheard = firstUnheard ?? from
        }
      }
      let tail = lastHeard == nil ? head : firstUnheard.map { lastLoud + frameCount - $0 } ?? 0
      return (seconds(head), seconds(tail), seconds(longest))
    }

    private func isHeard(_ from: Int, _ due: Double) -> Bool {
      let window = min((from - speech.lowerBound) / windowCount, shifts.count - 1)
      let place = from + (window >= 0 ? shifts[window] : shift)
      let said = spoken.energy(from: from, count: frameCount)
      return heard.energy(from: place, count: frameCount) > said * due * 0.1
    }

    /// How much louder the whole is heard than spoken, as energy: the middle of all windows.
    private func gain() -> Double {
      Similarity.middle(
        shifts.indices.compactMap { index in
          let from = speech.lowerBound + index * windowCount
          let said = spoken.energy(from: from, count: windowCount)
          guard said > 0, isSpeech(from, windowCount) else { return nil }
          return heard.energy(from: from + shifts[index], count: windowCount) / said
        })
    }

    private func seconds(_ samples: Int) -> Double { Double(samples) / Signal.rate }
  }
}
