/// Where a piece of one signal lies in another, and how alike they are there.
struct Match: Sendable {
  /// The first sample of the piece in the other signal; between samples where that fits best.
  var index: Double
  /// Normalised: 1 for the same wave form at any loudness, 0 for nothing in common.
  var correlation: Double

  /// The best place for `count` samples of `piece` from `from` on, among the places that begin at
  /// `candidates` in `other`.
  ///
  /// Both are limited to 3,400 Hz, so every second sample at every second place finds the peak
  /// without aliasing; only around it all of them are looked at.
  static func best(
    of piece: Signal, from: Int, count: Int, in other: Signal, at candidates: ClosedRange<Int>
  ) -> Match {
    let whole = max(from, 0)..<max(from, 0, min(from + count, piece.samples.count))
    guard whole.count >= count / 2 else { return Match(index: 0, correlation: 0) }
    let shift = whole.lowerBound - from
    func correlation(at place: Int, step: Int) -> Double {
      normalised(piece, whole.lowerBound, whole.count, other, place + shift, step)
    }
    var (best, highest) = (candidates.lowerBound, -1.0)
    var place = candidates.lowerBound
    while place <= candidates.upperBound {
      let value = correlation(at: place, step: 2)
      if value > highest { (best, highest) = (place, value) }
      place += 2
    }
    let near = (best - 2...best + 2).map { (place: $0, value: correlation(at: $0, step: 1)) }
    let top = near.indices.dropFirst().dropLast().max { near[$0].value < near[$1].value } ?? 2
    return peak(near[top - 1].value, near[top].value, near[top + 1].value, at: near[top].place)
  }

  /// The top of the parabola through three neighbours: a delay is seldom a whole number of samples.
  private static func peak(
    _ left: Double, _ middle: Double, _ right: Double, at place: Int
  ) -> Match {
    let curvature = left - 2 * middle + right
    guard curvature < 0, middle >= left, middle >= right else {
      return Match(index: Double(place), correlation: middle)
    }
    let offset = 0.5 * (left - right) / curvature
    return Match(
      index: Double(place) + offset, correlation: min(1, middle - 0.25 * (left - right) * offset))
  }

  private static func normalised(
    _ a: Signal, _ aFrom: Int, _ count: Int, _ b: Signal, _ bFrom: Int, _ step: Int
  ) -> Double {
    let first = max(0, -bFrom)
    let last = min(count, b.samples.count - bFrom)
    guard last > first else { return 0 }
    let energy = a.energy(from: aFrom, count: count) * b.energy(from: bFrom, count: count)
    guard energy > 0 else { return 0 }
    var sum: Float = 0
    a.samples.withUnsafeBufferPointer { a in
      b.samples.withUnsafeBufferPointer { b in
        guard let a = a.baseAddress, let b = b.baseAddress else { return }
        var (p, q, left) = (a + aFrom + first, b + bFrom + first, last - first)
        while left > 0 {
          sum += p.pointee * q.pointee
          p += step
          q += step
          left -= step
        }
      }
    }
    return Double(sum) * Double(step) / energy.squareRoot()
  }
}
