/// A small generator whose whole sequence follows from one seed (xoshiro256**, Blackman and Vigna
/// 2018, seeded through SplitMix64). For jitter and simulations; never for secrets.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: (UInt64, UInt64, UInt64, UInt64)

  /// Starts the sequence that belongs to `seed`.
  public init(seed: UInt64) {
    var mix = seed
    func splitMix() -> UInt64 {
      mix &+= 0x9e37_79b9_7f4a_7c15
      var z = mix
      z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
      z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
      return z ^ (z >> 31)
    }
    state = (splitMix(), splitMix(), splitMix(), splitMix())
  }

  /// The next 64 bits of the sequence.
  public mutating func next() -> UInt64 {
    func rotate(_ x: UInt64, _ k: UInt64) -> UInt64 { x << k | x >> (64 - k) }
    let result = rotate(state.1 &* 5, 7) &* 9
    let t = state.1 << 17
    state.2 ^= state.0
    state.3 ^= state.1
    state.1 ^= state.2
    state.0 ^= state.3
    state.2 ^= t
    state.3 = rotate(state.3, 45)
    return result
  }

  /// A number in 0 ..< 1.
  public mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }
}
