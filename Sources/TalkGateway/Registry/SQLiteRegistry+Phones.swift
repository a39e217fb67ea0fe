package import TalkCore
package import TalkCrypto

extension SQLiteRegistry {
  /// Adds a channel, or changes what is known of it.
  package func setChannel(_ channel: PhoneChannel) throws(RegistryError) {
    try write { connection throws(RegistryError) in
      try connection.run(
        """
        INSERT INTO channel(id, uuid, name, shows_names, level) VALUES(?, ?, ?, ?, ?)
        ON CONFLICT(id) DO UPDATE SET uuid=excluded.uuid, name=excluded.name,
          shows_names=excluded.shows_names, level=excluded.level
        """,
        [
          .bytes(channel.id.value), .bytes(channel.uuid), .text(channel.name),
          .integer(channel.showsNames ? 1 : 0), .integer(Int64(channel.level.rawValue)),
        ])
    }
  }

  /// All channels, by id.
  package func channels() throws(RegistryError) -> [PhoneChannel] {
    try read { connection throws(RegistryError) in
      try connection.rows(
        "SELECT id, uuid, name, shows_names, level FROM channel ORDER BY id"
      ) { row in
        guard let id = row[0].bytes16, let uuid = row[1].bytes16, let name = row[2].text,
          let shows = row[3].integer, let level = Self.level(row[4])
        else { return nil }
        return PhoneChannel(
          id: ChannelID(id), uuid: uuid, name: name, showsNames: shows != 0, level: level)
      }
    }
  }

  private static func level(_ value: SQLValue) -> InterruptionLevel? {
    value.integer.flatMap { UInt8(exactly: $0) }.flatMap { InterruptionLevel(rawValue: $0) }
  }

  private static let columns =
    "device, name, channel, seat, ticket, next_ticket, key, allowed, added, seen"

  private static func phone(_ row: [SQLValue]) -> Phone? {
    guard let device = row[0].bytes16, let name = row[1].text, let channel = row[2].bytes16,
      let seat = row[3].integer.flatMap({ UInt16(exactly: $0) }), let ticket = row[4].key32,
      row[5] == .null || row[5].key32 != nil, row[6] == .null || row[6].key32 != nil,
      let allowed = level(row[7]), let added = row[8].time
    else { return nil }
    return Phone(
      device: DeviceID(device), name: name, channel: ChannelID(channel), seat: seat,
      ticket: TicketHash(ticket), nextTicket: row[5].key32.map { TicketHash($0) },
      key: row[6].key32, allowed: allowed, added: added, seen: row[9].time)
  }

  /// Adds a phone in the lowest free seat of its channel.
  package func add(
    _ device: DeviceID, name: String, channel: ChannelID, ticket: TicketHash, at now: UInt64
  ) throws(RegistryError) -> Phone {
    guard name.utf8.count <= Phone.nameLimit, SafeText.name(name) != nil else { throw .name }
    return try write { connection throws(RegistryError) in
      guard
        try !connection.rows(
          "SELECT 1 FROM channel WHERE id=?", [.bytes(channel.value)], { _ in true }
        ).isEmpty
      else { throw .unknownChannel }
      let taken = try connection.rows(
        """
        SELECT 1 FROM phone WHERE device=?1 OR ticket=?2 OR next_ticket=?2
        """, [.bytes(device.value), .bytes(ticket.value)], { _ in true })
      guard taken.isEmpty else { throw .phoneExists }
      let phone = Phone(
        device: device, name: name, channel: channel, seat: try Self.seat(connection, channel),
        ticket: ticket, allowed: .active, added: now)
      try connection.run(
        """
        INSERT INTO phone(device, name, channel, seat, ticket, allowed, added)
        VALUES(?, ?, ?, ?, ?, ?, ?)
        """,
        [
          .bytes(device.value), .text(name), .bytes(channel.value), .integer(Int64(phone.seat)),
          .bytes(ticket.value), .integer(Int64(phone.allowed.rawValue)), .time(now),
        ])
      return phone
    }
  }

  /// The seat behind the last one, else the first gap.
  private static func seat(
    _ connection: SQLiteConnection, _ channel: ChannelID
  ) throws(RegistryError) -> UInt16 {
    let last =
      try connection.rows(
        "SELECT coalesce(max(seat), 0) FROM phone WHERE channel=?", [.bytes(channel.value)]
      ) { $0[0].integer }.first ?? 0
    if last < Int64(UInt16.max) { return UInt16(last + 1) }
    var free: UInt16 = 1
    for seat in try connection.rows(
      "SELECT seat FROM phone WHERE channel=? ORDER BY seat", [.bytes(channel.value)],
      { $0[0].integer })
    {
      guard seat == Int64(free) else { return free }
      guard free < .max else { throw .channelFull }
      free += 1
    }
    return free
  }

  /// The phones of a channel, by seat; of all channels without one.
  package func phones(in channel: ChannelID?) throws(RegistryError) -> [Phone] {
    try read { connection throws(RegistryError) in
      guard let channel else {
        return try connection.rows(
          "SELECT \(Self.columns) FROM phone ORDER BY channel, seat", [], Self.phone)
      }
      return try connection.rows(
        "SELECT \(Self.columns) FROM phone WHERE channel=? ORDER BY seat",
        [.bytes(channel.value)], Self.phone)
    }
  }

  /// Removes a phone with its tokens and claims, and gives the tokens.
  package func remove(_ device: DeviceID) throws(RegistryError) -> [PhoneToken] {
    try write { connection throws(RegistryError) in
      let tokens = try Self.tokens(connection, of: device)
      let key = SQLValue.bytes(device.value)
      for token in tokens {
        try connection.run(
          "DELETE FROM token WHERE channel=? AND device=?", [.bytes(token.channel.value), key])
      }
      try connection.run("DELETE FROM claim WHERE device=?", [key])
      guard try connection.run("DELETE FROM phone WHERE device=?", [key]) == 1 else {
        throw .unknownPhone
      }
      return tokens
    }
  }

  /// Notes what the phone's person allows.
  package func setAllowed(
    _ level: InterruptionLevel, of device: DeviceID
  ) throws(RegistryError) {
    try change(
      "UPDATE phone SET allowed=? WHERE device=?",
      [.integer(Int64(level.rawValue)), .bytes(device.value)])
  }

  /// The phone that a ticket belongs to.
  package func phone(presenting ticket: TicketHash) throws(RegistryError) -> Phone? {
    try read { connection throws(RegistryError) in
      try connection.rows(
        "SELECT \(Self.columns) FROM phone WHERE ticket=?1 OR next_ticket=?1",
        [.bytes(ticket.value)], Self.phone
      ).first
    }
  }

  /// Notes the ticket that is sent to a phone.
  package func offerTicket(_ next: TicketHash, to device: DeviceID) throws(RegistryError) {
    try change(
      "UPDATE phone SET next_ticket=? WHERE device=?",
      [.bytes(next.value), .bytes(device.value)])
  }

  /// The offered ticket is the phone's only one from now on.
  package func confirmTicket(
    _ next: TicketHash, of device: DeviceID, key: Key32, at now: UInt64
  ) throws(RegistryError) {
    try change(
      """
      UPDATE phone SET ticket=?1, next_ticket=NULL, key=coalesce(key, ?3), seen=?4
      WHERE device=?2 AND (next_ticket=?1 OR ticket=?1)
      """,
      [.bytes(next.value), .bytes(device.value), .bytes(key), .time(now)])
  }

  private func change(_ sql: String, _ values: [SQLValue]) throws(RegistryError) {
    try write { connection throws(RegistryError) in
      guard try connection.run(sql, values) == 1 else { throw .unknownPhone }
    }
  }
}
