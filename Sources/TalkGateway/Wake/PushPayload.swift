import Foundation
package import TalkCore

/// A clip that a phone may fetch and play instead of the usual sound.
package struct ClipReference: Hashable, Sendable {
  /// The burst that it is of: the name under which it is fetched.
  package var burst: BurstID
  /// SHA-256 of the WAV file: what a phone's own libraries can check.
  package var sha256: [UInt8]
  /// How long it lasts.
  package var duration: Duration
  /// Bytes of the WAV file.
  package var size: Int

  /// Makes a reference.
  package init(burst: BurstID, sha256: [UInt8], duration: Duration, size: Int) {
    (self.burst, self.sha256, self.duration, self.size) = (burst, sha256, duration, size)
  }
}

/// The JSON of pushes, each complete in itself (gateway.md, "Pushes"). A local wake carries the
/// same bytes as the push to talk.
package struct PushPayload: Sendable {
  /// The channel as phones know it.
  package var channel: PhoneChannel
  /// The gateway that has the voice.
  package var gateway: PeerID

  /// Makes payloads for a channel's phones.
  package init(channel: PhoneChannel, gateway: PeerID) {
    (self.channel, self.gateway) = (channel, gateway)
  }

  /// The word for a speaker on Apple's wire: the name if the channel allows it, else an id that
  /// only the app can map.
  package func name(of speaker: Speaker, called name: String) -> String {
    channel.showsNames
      ? SafeText.cut(SafeText.escaped(name), to: 64)
      : "\(speaker.peer.short)-\(speaker.seat)"
  }

  /// The payload of an order that is not an alert; nil when it would be too long for its kind.
  /// `name` is the speaker's own; a missing one counts as empty.
  package func json(of order: WakeOrder, name: String?) -> [UInt8]? {
    var body = common(order)
    var aps: [String: Any] = [:]
    switch order.kind {
    case .speak:
      guard let speaker = order.speaker else { return nil }
      body["activeSpeaker"] = self.name(of: speaker, called: name ?? "")
      body["burst"] = order.burst.description
    case .leave: break
    case .serviceUpdate: aps["ptt-push-type"] = "service-update"
    case .call:
      guard let caller = order.speaker else { return nil }
      body["uuid"] = ChannelID(order.burst.value).description
      body["handle"] = self.name(of: caller, called: name ?? "")
      body["capabilities"] = ["ptt"]
    case .missedVoice: return nil
    }
    body["aps"] = aps
    return encode(body, limit: order.kind.payloadLimit)
  }

  /// The payload of an alert; nil when it would be too long.
  package func json(of alert: AlertOrder, name: String?, clip: ClipReference?) -> [UInt8]? {
    guard let speaker = alert.order.speaker else { return nil }
    var body = common(alert.order)
    let who = self.name(of: speaker, called: name ?? "")
    var aps: [String: Any] = [
      // Apple shows nothing of an alert without a body.
      "alert": ["title": SafeText.cut(channel.name, to: 64), "body": "\(who) spoke"],
      "interruption-level": alert.level.word, "thread-id": ChannelID(channel.uuid).description,
    ]
    switch alert.level {
    case .passive: break
    case .active, .timeSensitive: aps["sound"] = "default"
    case .critical:
      aps["sound"] = ["critical": 1, "name": "default", "volume": 1.0] as [String: Any]
    }
    if let clip {
      aps["mutable-content"] = 1
      body["clip"] =
        [
          "id": clip.burst.description, "sha256": Self.hex(clip.sha256),
          "ms": Int(clip.duration.milliseconds), "bytes": clip.size,
        ] as [String: Any]
    }
    body["burst"] = alert.order.burst.description
    body["aps"] = aps
    return encode(body, limit: Push.Kind.missedVoice.payloadLimit)
  }

  private func common(_ order: WakeOrder) -> [String: Any] {
    [
      "v": 1, "channel": ChannelID(channel.uuid).description, "at": order.stamp,
      "gw": gateway.description,
    ]
  }

  private func encode(_ body: [String: Any], limit: Int) -> [UInt8]? {
    let options: JSONSerialization.WritingOptions = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? JSONSerialization.data(withJSONObject: body, options: options),
      data.count <= limit
    else { return nil }
    return [UInt8](data)
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { byte in
      let digits = String(byte, radix: 16)
      return digits.utf8.count == 1 ? "0\(digits)" : digits
    }.joined()
  }
}

/// What a phone keeps so that stale and reordered wakes do no harm: it acts on none that is older
/// than the newest one that it has acted on from that gateway.
package struct WakeFilter: Sendable {
  /// The most gateways that are told apart.
  package static let gateways = 16
  private var newest = OrderedTable<PeerID, UInt64>(limit: gateways)

  /// Has seen nothing yet.
  package init() {}

  /// True when a wake with this stamp is to be acted on.
  package mutating func accepts(stamp: UInt64, from gateway: PeerID) -> Bool {
    if let known = newest[gateway], stamp <= known { return false }
    if newest.isFull, newest[gateway] == nil { return false }
    newest[gateway] = stamp
    return true
  }
}
