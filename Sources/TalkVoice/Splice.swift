/// Cuts sound and joins the ends without a click. All lengths are in samples at 48 kHz.
enum Splice {
  /// How long two ends overlap: 5 ms.
  static let overlap = 240

  /// Scales `samples` by a factor that moves evenly from `start` to `end`.
  static func fade(
    _ samples: UnsafeMutableBufferPointer<Int16>, from start: Float, to end: Float
  ) {
    let step = (end - start) / Float(max(1, samples.count))
    var gain = start
    for index in 0..<samples.count {
      unsafe samples[index] = Int16(Float(unsafe samples[index]) * gain)
      gain += step
    }
  }

  /// Removes `length` samples after the start of `sound`: its first `overlap` samples fade into
  /// those that lie `length` later, and the rest moves up. The result has `sound.count - length`
  /// samples. `length + overlap` must not exceed the count.
  static func remove(_ length: Int, from sound: UnsafeMutableBufferPointer<Int16>) {
    for index in 0..<overlap {
      let share = Int32(index)
      let kept = Int32(unsafe sound[index]) * (Int32(overlap) - share)
      let coming = Int32(unsafe sound[index + length]) * share
      unsafe sound[index] = Int16((kept + coming) / Int32(overlap))
    }
    var index = overlap
    while index + length < sound.count {
      unsafe sound[index] = sound[index + length]
      index += 1
    }
  }

  /// The length in `range` after which `sound` repeats itself best, and how well: 1 is exactly, 0
  /// not at all. Removing that much of a vowel takes out whole periods of the voice. The upper
  /// bound plus `overlap` must not exceed the count.
  static func bestLength(
    in range: ClosedRange<Int>, of sound: UnsafeMutableBufferPointer<Int16>
  ) -> (length: Int, likeness: Float) {
    var best = (length: range.upperBound, likeness: -Float.infinity)
    for length in stride(from: range.lowerBound, through: range.upperBound, by: 4) {
      let likeness = unsafe likeness(of: sound, at: length, step: 4)
      if likeness > best.likeness { best = (length, likeness) }
    }
    let centre = best.length
    best.likeness = -.infinity
    for length in max(range.lowerBound, centre - 3)...min(range.upperBound, centre + 3) {
      let likeness = unsafe likeness(of: sound, at: length, step: 1)
      if likeness > best.likeness { best = (length, likeness) }
    }
    return best
  }

  /// The normalised correlation of the first `overlap` samples with those `length` later.
  private static func likeness(
    of sound: UnsafeMutableBufferPointer<Int16>, at length: Int, step: Int
  ) -> Float {
    var product: Float = 0
    var energyHere: Float = 1
    var energyThere: Float = 1
    var index = 0
    while index < overlap {
      let here = Float(unsafe sound[index])
      let there = Float(unsafe sound[index + length])
      product += here * there
      energyHere += here * here
      energyThere += there * there
      index += step
    }
    return product / (energyHere * energyThere).squareRoot()
  }
}
