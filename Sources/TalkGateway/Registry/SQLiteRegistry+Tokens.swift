import TalkCore

extension SQLiteRegistry {
  private static let columns = "device, channel, kind, environment, bytes, registered"

  private static func token(_ row: [SQLValue]) -> PhoneToken? {
    guard let device = row[0].bytes16, let channel = row[1].bytes16,
      let kind = row[2].integer.flatMap({ UInt8(exactly: $0) })
        .flatMap({ PhoneToken.Kind(rawValue: $0) }),
      let environment = row[3].integer.flatMap({ Push.Environment(number: $0) }),
      let bytes = row[4].bytes, let registered = row[5].time
    else { return nil }
    return PhoneToken(
      device: DeviceID(device), channel: ChannelID(channel), kind: kind, environment: environment,
      bytes: bytes, registered: registered)
  }

  /// Takes a token in the place of the one of the same device, channel, kind and environment.
  package func register(_ token: PhoneToken) throws(RegistryError) {
    guard (1...PhoneToken.limit).contains(token.bytes.count) else {
      throw .tokenLength(token.bytes.count)
    }
    try write { connection throws(RegistryError) in
      let known = try connection.rows(
        "SELECT 1 FROM phone WHERE device=? AND channel=?",
        [.bytes(token.device.value), .bytes(token.channel.value)]
      ) { _ in true }
      guard !known.isEmpty else { throw .unknownPhone }
      try connection.run(
        """
        INSERT INTO token(channel, device, kind, environment, bytes, registered)
        VALUES(?, ?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET registered=excluded.registered,
          quarantined=iif(bytes=excluded.bytes, quarantined, NULL), bytes=excluded.bytes
        """, Self.key(token) + [.bytes(token.bytes), .time(token.registered)])
    }
  }

  private static func key(_ token: PhoneToken) -> [SQLValue] {
    [
      .bytes(token.channel.value), .bytes(token.device.value),
      .integer(Int64(token.kind.rawValue)), .integer(token.environment.number),
    ]
  }

  private static let isKept =
    "WHERE channel=?1 AND device=?2 AND kind=?3 AND environment=?4 AND bytes=?5"

  /// All tokens of a phone.
  package func tokens(of device: DeviceID) throws(RegistryError) -> [PhoneToken] {
    try read { connection throws(RegistryError) in try Self.tokens(connection, of: device) }
  }

  static func tokens(
    _ connection: SQLiteConnection, of device: DeviceID
  ) throws(RegistryError) -> [PhoneToken] {
    try connection.rows(
      """
      SELECT \(columns) FROM token
      WHERE channel=(SELECT channel FROM phone WHERE device=?1) AND device=?1
      ORDER BY kind, environment
      """, [.bytes(device.value)], token)
  }

  /// Drops a token that Apple called dead, if it was registered before that and is still kept.
  package func retire(
    _ token: PhoneToken, deadSince time: UInt64
  ) throws(RegistryError) -> Bool {
    try write { connection throws(RegistryError) in
      try connection.run(
        "DELETE FROM token \(Self.isKept) AND registered<?6",
        Self.key(token) + [.bytes(token.bytes), .time(time)]) == 1
    }
  }

  /// Leaves a token alone for a while, if it is still kept.
  package func quarantine(_ token: PhoneToken, at now: UInt64) throws(RegistryError) {
    try write { connection throws(RegistryError) in
      try connection.run(
        "UPDATE token SET quarantined=?6 \(Self.isKept)",
        Self.key(token) + [.bytes(token.bytes), .time(now)])
    }
  }

  /// Files a token under the other environment, in the place of one that was there.
  package func moveToOtherEnvironment(_ token: PhoneToken) throws(RegistryError) {
    try write { connection throws(RegistryError) in
      try connection.run(
        "UPDATE OR REPLACE token SET environment=?6, quarantined=NULL \(Self.isKept)",
        Self.key(token) + [.bytes(token.bytes), .integer(token.environment.other.number)])
    }
  }

  /// The tokens of a phone that a push may go to now.
  private static func usable(
    _ connection: SQLiteConnection, _ claim: PushClaim, _ device: DeviceID, at now: UInt64
  ) throws(RegistryError) -> [PhoneToken] {
    let freed = now.subtracting(RegistryTimes.quarantine)
    return try connection.rows(
      """
      SELECT \(columns) FROM token WHERE channel=? AND device=? AND kind=?
      AND (quarantined IS NULL OR quarantined<=?) ORDER BY environment
      """,
      [
        .bytes(claim.channel.value), .bytes(device.value),
        .integer(Int64(claim.kind.tokenKind.rawValue)), .time(freed),
      ], token)
  }
}

extension SQLiteRegistry {
  /// Claims a push for each of these phones, in one transaction.
  package func claim(
    _ claim: PushClaim, for devices: [DeviceID], at now: UInt64
  ) throws(RegistryError) -> [ClaimOutcome] {
    try write(durable: false) { connection throws(RegistryError) in
      var outcomes: [ClaimOutcome] = []
      outcomes.reserveCapacity(devices.count)
      for device in devices {
        outcomes.append(try Self.claim(connection, claim, device, at: now))
      }
      return outcomes
    }
  }

  private static func claim(
    _ connection: SQLiteConnection, _ claim: PushClaim, _ device: DeviceID, at now: UInt64
  ) throws(RegistryError) -> ClaimOutcome {
    let tokens = try usable(connection, claim, device, at: now)
    guard !tokens.isEmpty else { return .noToken }
    let key: [SQLValue] = [
      .bytes(device.value), .bytes(claim.burst.value), .integer(claim.kind.number),
    ]
    let changed = try connection.run(
      """
      INSERT INTO claim(device, burst, kind, gateway, at, sent) VALUES(?1, ?2, ?3, ?4, ?5, 0)
      ON CONFLICT DO UPDATE SET gateway=excluded.gateway, at=excluded.at
      WHERE sent=0 AND at<=?6
      """,
      key + [
        .bytes(claim.gateway.value), .time(now),
        .time(now.subtracting(RegistryTimes.takeOver)),
      ])
    if changed == 1 { return .won(tokens) }
    let sent = try connection.rows(
      "SELECT sent FROM claim WHERE device=? AND burst=? AND kind=?", key
    ) { $0[0].integer }
    return .lost(sent: sent.first != 0)
  }

  /// The claimed pushes to these phones have left.
  package func markSent(_ claim: PushClaim, to devices: [DeviceID]) throws(RegistryError) {
    try write(durable: false) { connection throws(RegistryError) in
      for device in devices {
        try connection.run(
          "UPDATE claim SET sent=1 WHERE device=? AND burst=? AND kind=? AND gateway=?",
          [
            .bytes(device.value), .bytes(claim.burst.value), .integer(claim.kind.number),
            .bytes(claim.gateway.value),
          ])
      }
    }
  }

  /// Forgets claims made before `time`.
  package func forgetClaims(before time: UInt64) throws(RegistryError) {
    try write(durable: false) { connection throws(RegistryError) in
      try connection.run("DELETE FROM claim WHERE at<?", [.time(time)])
    }
  }
}

extension UInt64 {
  /// A time in milliseconds, earlier by `duration`; not before 1970.
  func subtracting(_ duration: Duration) -> UInt64 {
    let step = UInt64(clamping: duration.wholeNanoseconds / 1_000_000)
    return self > step ? self - step : 0
  }
}
