/// Messages on their way, each kept once however many receivers it has.
struct MessagePool<Message> {
  private var messages: [Message?] = []
  private var notes: [ControlNote] = []
  private var users: [Int32] = []
  private var free: [Int32] = []

  /// Keeps a message; nobody uses it yet.
  mutating func keep(_ message: Message, _ note: ControlNote) -> Int32 {
    if let slot = free.popLast() {
      messages[Int(slot)] = message
      notes[Int(slot)] = note
      users[Int(slot)] = 0
      return slot
    }
    messages.append(message)
    notes.append(note)
    users.append(0)
    return Int32(messages.count - 1)
  }

  /// One more event refers to the message.
  mutating func use(_ slot: Int32) { users[Int(slot)] += 1 }

  /// One event fewer refers to it; with the last one it is dropped.
  mutating func drop(_ slot: Int32) {
    users[Int(slot)] -= 1
    dropIfUnused(slot)
  }

  /// Drops it if no event refers to it.
  mutating func dropIfUnused(_ slot: Int32) {
    guard users[Int(slot)] <= 0, messages[Int(slot)] != nil else { return }
    messages[Int(slot)] = nil
    free.append(slot)
  }

  func message(_ slot: Int32) -> Message { messages[Int(slot)]! }
  func note(_ slot: Int32) -> ControlNote { notes[Int(slot)] }
}
