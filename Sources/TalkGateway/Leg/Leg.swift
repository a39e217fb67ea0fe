import TalkCore
import TalkCrypto
import TalkSession
import TalkWire

/// An ATTACH whose ticket is being looked up.
struct PendingAttach {
  let handshake: NoiseHandshake
  let key: Key32
  let body: AttachBody
  let mac: Bytes16
  let phoneIndex: UInt32
  let endpoint: Endpoint
  /// The ticket for the next time, and its hash.
  let next: [UInt8]
  let expires: Instant
}

/// Something that is said until it is acknowledged.
struct Repeater {
  private(set) var count = 0
  private(set) var due = Instant.zero

  /// True when it was said as often as it may.
  var isExhausted: Bool { count >= LegLimits.repeats }

  /// It is said now.
  mutating func said(now: Instant) {
    let pauses = LegLimits.repeatPauses
    due = now + pauses[min(count, pauses.count - 1)]
    count += 1
  }
}

/// A burst on its way to one phone.
struct Stream {
  let burst: BurstID
  let order: UInt64
  let turn: UInt64
  let seat: UInt16
  /// The next frame that was not sent yet.
  var next: UInt32
  /// The BURST that announces it, until the phone acknowledged it.
  var note: Repeater? = Repeater()
  /// The BURST_END, from the last frame on, until the phone acknowledged it.
  var end: Repeater?
  /// Frames that the phone misses, the lowest first.
  var resends: [UInt32] = []
  var resendDue = Instant.zero
  /// The last frame, once it is known; nil when none came.
  var lastFrame: UInt32?
  /// True when the phone knows the end, or was told it as often as it may be.
  var isDone = false
}

/// What a phone wants of the floor.
struct LegFloor {
  var request: PhoneRequest
  var state: PhoneFloor?
  /// FLOOR, until the phone has told that it knows.
  var tell: Repeater?
  /// When the phone last said that its key is down, or spoke.
  var lastHeard: Instant
  /// When an end was first told.
  var toldSince: Instant?
}

/// A new address that has to show that it is the phone's.
struct PathCheck {
  let endpoint: Endpoint
  let value: UInt64
  var due: Instant
  var left = LegLimits.challenges
}

/// One attached phone.
final class Leg {
  let index: UInt32
  let device: DeviceID
  let channel: ChannelID
  let seat: UInt16
  let mac: Bytes16
  let nextTicket: TicketHash
  let key: Key32
  /// ATTACHED: copies of the same ATTACH get these bytes again.
  var answer: [UInt8] = []
  var transport: TransportKeys
  var endpoint: Endpoint
  /// When the phone must have shown that it has the keys; nil once it has.
  var confirmBy: Instant?
  /// Bytes that may still be sent before that.
  var allowance: Int
  var lastReceived: Instant
  var lastSent: Instant
  var stream: Stream?
  /// Bursts up to this one are done with.
  var lastOrder: UInt64
  /// When the pace allows the next frames.
  var nextFrames: Instant
  /// When the burst ends for this phone though its last frame has not come.
  var endsAt: Instant?
  /// True while frames wait for that pace.
  var waitsForPace = false
  var floor: LegFloor?
  var path: PathCheck?

  init(
    index: UInt32, phone: LegPhone, pending: PendingAttach, transport: TransportKeys,
    lastOrder: UInt64, now: Instant
  ) {
    self.index = index
    (device, channel, seat) = (phone.device, phone.channel, phone.seat)
    (mac, key, endpoint) = (pending.mac, pending.key, pending.endpoint)
    nextTicket = TicketHash(of: pending.next)
    self.transport = transport
    self.lastOrder = lastOrder
    confirmBy = now + LegLimits.confirmTime
    allowance = LegLimits.amplification * AttachDatagrams.size
    (lastReceived, lastSent, nextFrames) = (now, now, now)
  }

  /// True while the phone must not hear others: it speaks, or does not know yet that it is cut off.
  var mustBeQuiet: Bool {
    guard let floor, let state = floor.state else { return false }
    if case .granted = state { return true }
    return state.mustBeTold
  }
}
