import FoundationEssentials
import TalkCore
import TalkMesh
import TalkNode
import TalkStore

/// What must outlive the node.
extension Shell {
  /// Writes what the node knows of a channel.
  func save(_ id: ChannelID) {
    guard let record = node.record(of: id) else { return }
    let order = node.channelNames.firstIndex { $0.id == id } ?? 0
    writer.save(.channel(record.stored(order: UInt32(order), isCurrent: node.current == id)))
  }

  /// Writes that turns up to `turn` may be used; the node learns when the disk has it.
  func reserveTurns(_ id: ChannelID, through turn: UInt64) {
    node.willReserveTurns(id, through: turn)
    guard let record = node.record(of: id) else { return }
    let order = node.channelNames.firstIndex { $0.id == id } ?? 0
    let ticket = writer.save(
      .channel(record.stored(order: UInt32(order), isCurrent: node.current == id)))
    reserveTickets.append((ticket, id, turn))
  }

  /// A file is settled.
  func stored(_ completion: StoreWriter.Completion) {
    if let error = completion.error {
      Log.error(error.description)
      publish(.error(ErrorEvent(reason: .stateFile, message: error.description)))
    }
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
