/// Decoded samples that wait to be rendered, first in, first out, in memory that is taken once.
@safe struct SoundQueue: ~Copyable {
  private let memory: UnsafeMutableBufferPointer<Int16>
  private var start = 0
  private var end = 0

  /// An empty queue that holds `capacity` samples.
  init(capacity: Int) {
    unsafe memory = .allocate(capacity: capacity)
    unsafe memory.initialize(repeating: 0)
  }

  deinit { unsafe memory.deallocate() }

  /// How many samples wait.
  var count: Int { end - start }

  /// Everything that waits, in place.
  var waiting: UnsafeMutableBufferPointer<Int16> {
    unsafe UnsafeMutableBufferPointer(rebasing: memory[start..<end])
  }

  /// Appends `sound`, as much as there is room for.
  mutating func append(_ sound: UnsafeBufferPointer<Int16>) {
    if start == end { removeAll() }
    let amount = min(sound.count, unsafe memory.count - end)
    for index in 0..<amount { unsafe memory[end + index] = sound[index] }
    end += amount
  }

  /// Moves up to `target.count` samples into `target` and returns how many.
  mutating func take(into target: UnsafeMutableBufferPointer<Int16>) -> Int {
    let amount = min(count, target.count)
    for index in 0..<amount { unsafe target[index] = memory[start + index] }
    start += amount
    return amount
  }

  /// Keeps the first `amount` samples.
  mutating func shorten(to amount: Int) { end = min(end, start + amount) }

  /// Drops everything.
  mutating func removeAll() {
    start = 0
    end = 0
  }
}
