import FoundationEssentials
import TalkCore
import TalkMesh
import TalkNode
import TalkStore

/// A command whose answer waits until the disk has what it changed.
struct PendingWrite {
  /// The files that are still under way, and up to which ticket.
  var tickets: [StoreFile: UInt64]
  /// What went wrong with those that are settled.
  var failure: StoreError?
  /// Says how it ended.
  var end: (StoreError?) -> Void
}

/// What must outlive the node.
extension Shell {
  /// Writes what the node knows of a channel.
  func save(_ id: ChannelID) { _ = write(id) }

  /// Forgets a channel on disk.
  func forget(_ id: ChannelID) { lastTickets[.channel(id)] = writer.remove(id) }

  /// Hands a channel to the writer; its ticket, or nil when there is no such channel.
  private func write(_ id: ChannelID) -> UInt64? {
    guard let record = node.record(of: id) else { return nil }
    let order = node.channelNames.firstIndex { $0.id == id } ?? 0
    let ticket = writer.save(
      .channel(record.stored(order: UInt32(order), isCurrent: node.current == id)))
    lastTickets[.channel(id)] = ticket
    return ticket
  }

  /// Writes that turns up to `turn` may be used; the node learns when the disk has it.
  func reserveTurns(_ id: ChannelID, through turn: UInt64) {
    node.willReserveTurns(id, through: turn)
    guard let ticket = write(id) else { return }
    reserveTickets.append((ticket, id, turn))
  }

  /// A file is settled.
  func stored(_ completion: StoreWriter.Completion) {
    // Once per change: a full disk refuses every write.
    if let error = completion.error, fileFaults[completion.file] != error {
      Log.error(error.description)
      publish(.error(ErrorEvent(reason: .stateFile, message: error.description)))
    }
    fileFaults[completion.file] = completion.error
    if lastTickets[completion.file] == completion.ticket { lastTickets[completion.file] = nil }
    settleWrites(completion)
    guard case .channel(let id) = completion.file else { return }
    let settled = reserveTickets.filter {
      $0.channel == id && $0.ticket <= completion.ticket
    }
    reserveTickets.removeAll { $0.channel == id && $0.ticket <= completion.ticket }
    guard !settled.isEmpty else { return }
    guard completion.error == nil else {
      // Without room on disk the node goes on with what it has reserved, and asks again.
      return input { step in
        for reserve in settled { self.node.turnsNotReserved(reserve.channel, step) }
      }
    }
    input { step in
      for reserve in settled { self.node.turnsReserved(reserve.channel, through: reserve.turn) }
    }
  }

  /// Writes what members call themselves, if that changed.
  func saveNames() {
    let names = StoredNames(
      node.channelNames.flatMap { channel in
        node.rememberedNames(of: channel.id).map {
          StoredNames.Entry(channel: channel.id, peer: $0.peer, name: $0.name)
        }
      })
    guard names != savedNames else { return }
    savedNames = names
    writer.save(.names(names))
  }

  /// Writes where members were, for the next start.
  func savePeers() {
    let now = UInt64(Date().timeIntervalSince1970)
    var entries = startedPeers.entries
    for (id, _) in node.channelNames {
      for path in node.knownPaths(of: id) {
        entries.removeAll { $0.channel == id && $0.peer == path.peer }
        entries.insert(
          StoredPeers.Entry(
            channel: id, peer: path.peer, endpoint: path.endpoint, lastSeen: now), at: 0)
      }
    }
    writer.save(.peers(StoredPeers(entries, now: now)))
  }
}

/// Commands that wait for the disk.
extension Shell {
  /// Calls `end` once all that is under way for these channels is on disk or has failed; at once
  /// when nothing is.
  func afterWriting(_ channels: [ChannelID], _ end: @escaping (StoreError?) -> Void) {
    var tickets: [StoreFile: UInt64] = [:]
    for id in channels { tickets[.channel(id)] = lastTickets[.channel(id)] }
    guard !tickets.isEmpty else { return end(nil) }
    pendingWrites.append(PendingWrite(tickets: tickets, failure: nil, end: end))
  }

  private func settleWrites(_ completion: StoreWriter.Completion) {
    for index in pendingWrites.indices {
      guard let ticket = pendingWrites[index].tickets[completion.file],
        ticket <= completion.ticket
      else { continue }
      pendingWrites[index].tickets[completion.file] = nil
      pendingWrites[index].failure = pendingWrites[index].failure ?? completion.error
    }
    let done = pendingWrites.filter(\.tickets.isEmpty)
    pendingWrites.removeAll(where: \.tickets.isEmpty)
    for write in done { write.end(write.failure) }
  }
}
