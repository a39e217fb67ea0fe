/// The encoded frames of one burst that wait for their turn, kept by number in memory that is taken
/// once. The caller keeps the numbers inside a window of `capacity`.
@safe struct FrameStore: ~Copyable {
  /// How many frames fit: 640 ms of 10 ms frames, more than the cap on buffered sound.
  static let capacity = 64

  private let memory: UnsafeMutableRawBufferPointer
  private var sizes = [Int](repeating: 0, count: capacity)
  private var numbers = [Int64](repeating: -1, count: capacity)
  private var seen = [Int64](repeating: -1, count: capacity)
  /// How many frames wait.
  private(set) var count = 0

  init() {
    unsafe memory = .allocate(
      byteCount: Self.capacity * VoiceFormat.frameSizeLimit, alignment: 16)
  }

  deinit { unsafe memory.deallocate() }

  private static func slot(_ number: Int64) -> Int { Int(number) & (capacity - 1) }

  /// True when the frame `number` waits.
  func contains(_ number: Int64) -> Bool { numbers[Self.slot(number)] == number }

  /// True when `number` was noted before, whether it still waits or not; only the last note in each
  /// of the `capacity` places is remembered.
  func hasSeen(_ number: Int64) -> Bool { seen[Self.slot(number)] == number }

  /// Remembers that the frame `number` has come.
  mutating func see(_ number: Int64) { seen[Self.slot(number)] = number }

  /// Keeps a copy of `frame`; false when it is there already or too long.
  mutating func insert(_ number: Int64, _ frame: UnsafeRawBufferPointer) -> Bool {
    let slot = Self.slot(number)
    guard numbers[slot] != number, frame.count <= VoiceFormat.frameSizeLimit else { return false }
    if numbers[slot] < 0 { count += 1 }
    numbers[slot] = number
    sizes[slot] = frame.count
    let start = slot * VoiceFormat.frameSizeLimit
    unsafe UnsafeMutableRawBufferPointer(rebasing: memory[start..<start + frame.count])
      .copyMemory(from: frame)
    return true
  }

  /// The bytes of a frame that waits; they stay valid until the next insertion.
  func frame(_ number: Int64) -> UnsafeRawBufferPointer? {
    let slot = Self.slot(number)
    guard numbers[slot] == number else { return nil }
    let start = slot * VoiceFormat.frameSizeLimit
    return unsafe UnsafeRawBufferPointer(rebasing: memory[start..<start + sizes[slot]])
  }

  /// Drops the frame `number`; true when it was there.
  @discardableResult
  mutating func remove(_ number: Int64) -> Bool {
    let slot = Self.slot(number)
    guard numbers[slot] == number else { return false }
    numbers[slot] = -1
    count -= 1
    return true
  }

  /// The lowest number that waits.
  var lowest: Int64? {
    guard count > 0 else { return nil }
    var result = Int64.max
    for slot in 0..<Self.capacity {
      let number = numbers[slot]
      if number >= 0 && number < result { result = number }
    }
    return result
  }

  /// Drops everything that waits, but not what was seen.
  mutating func removeAll() {
    for slot in 0..<Self.capacity { numbers[slot] = -1 }
    count = 0
  }

  /// Drops everything, as at the start of a burst.
  mutating func restart() {
    removeAll()
    for slot in 0..<Self.capacity { seen[slot] = -1 }
  }
}
