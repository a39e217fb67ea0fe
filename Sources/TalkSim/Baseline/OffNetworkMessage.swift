package import TalkCore
package import TalkWire

/// Why a floor arbitrator refused a request (TS 24.380 clause 8.2.6.2).
package enum OffNetworkRejectCause: UInt16, Hashable, Sendable, CaseIterable {
  /// Another client has permission.
  case anotherHasPermission = 1
  /// An internal floor control server error.
  case internalError = 2
  /// Only one participant.
  case onlyOneParticipant = 3
  /// The retry-after timer has not expired.
  case retryLater = 4
  /// The client may only receive.
  case receiveOnly = 5
  /// No resources available.
  case noResources = 6
  /// The queue is full.
  case queueFull = 7
  /// Any other reason.
  case other = 255
}

/// Why a permission was taken back (TS 24.380 clause 8.2.10.2). Off the network only the talk limit
/// and a pre-emption end a burst, and neither by a message: the holder stops itself.
package enum OffNetworkRevokeCause: UInt16, Hashable, Sendable, CaseIterable {
  /// Only one client is left.
  case onlyOneClient = 1
  /// The burst was too long.
  case burstTooLong = 2
  /// The client has no permission to send.
  case noPermission = 3
  /// A higher priority took the floor.
  case preempted = 4
  /// No resources available.
  case noResources = 6
  /// Any other reason.
  case other = 255
}

/// A client as the messages and the media name it: the user and the SSRC of its media.
package struct OffNetworkClient: Hashable, Sendable {
  /// The user.
  package var user: PeerID
  /// The synchronization source of the user's media; the larger one wins a glare.
  package var ssrc: UInt32

  /// The client of a user. SSRCs are random; a PeerID is a hash, so its low half serves.
  package init(_ user: PeerID) {
    self.user = user
    ssrc = UInt32(truncatingIfNeeded: user.value.low)
  }
}

/// One entry of the queue as Floor Granted hands it on (TS 24.380 clause 8.2.5, off-network form).
package struct OffNetworkWaiting: Hashable, Sendable {
  /// Who waits.
  package var client: OffNetworkClient
  /// The floor priority asked for.
  package var priority: FloorClass

  /// Makes an entry.
  package init(client: OffNetworkClient, priority: FloorClass) {
    self.client = client
    self.priority = priority
  }
}

/// A floor control message of TS 24.380 clause 8.2; off the network every one goes to all
/// participants (clause 7.1).
package struct OffNetworkMessage: Hashable, Sendable {
  /// What it says; the raw values of `subtype` are the RTCP APP subtypes (table 8.2.2.1-1).
  package enum Content: Hashable, Sendable {
    /// Asks for the floor. Floor priority and floor indicator are both told by the class.
    case request(FloorClass)
    /// Gives the floor to a client, with the queue that it takes over.
    case granted(to: OffNetworkClient, FloorClass, queue: [OffNetworkWaiting])
    /// The sender has taken the floor.
    case taken
    /// Refuses a client's request.
    case deny(to: PeerID, OffNetworkRejectCause)
    /// The sender lets go of the floor, or of its request.
    case release
    /// Nobody has the floor. On the network only: clause 7 has no procedure for it.
    case idle
    /// Takes the permission back. On the network only: clause 7 has no procedure for it.
    case revoke(OffNetworkRevokeCause)
    /// Asks for one's place in the queue.
    case queuePositionRequest
    /// Tells a client its place in the queue, from 1.
    case queuePositionInfo(to: PeerID, place: Int)
    /// Acknowledges. On the network only: clause 7 has no procedure for it.
    case ack
  }

  /// Who sent it.
  package var sender: OffNetworkClient
  /// What it says.
  package var content: Content

  /// Makes a message.
  package init(sender: OffNetworkClient, _ content: Content) {
    self.sender = sender
    self.content = content
  }

  /// The RTCP APP subtype (TS 24.380 table 8.2.2.1-1).
  package var subtype: UInt8 {
    switch content {
    case .request: 0
    case .granted: 1
    case .taken: 2
    case .deny: 3
    case .release: 4
    case .idle: 5
    case .revoke: 6
    case .queuePositionRequest: 8
    case .queuePositionInfo: 9
    case .ack: 10
    }
  }
}
