import TalkCore
import TalkCrypto
import Testing

@testable import TalkGateway

@Suite struct RegistryTests {
  private let folder = RegistryFolder()

  @Test func aRestartKeepsChannelsPhonesTokensAndTheProviderToken() throws {
    do {
      let registry = try folder.openWithChannel()
      _ = try registry.add(
        Sample.device(1), name: "Ann's phone", channel: Sample.channel, ticket: Sample.ticket(1),
        at: Sample.now)
      try registry.setAllowed(.critical, of: Sample.device(1))
      try registry.register(Sample.token())
      _ = try registry.offer(
        ProviderToken(issuedAt: 5, text: "abc"), for: "TEAM.KEY", replacing: nil)
    }
    let registry = try folder.open()
    #expect(try registry.channels() == [Sample.channelRow])
    let phone = try #require(try registry.phones(in: Sample.channel).first)
    #expect(phone.name == "Ann's phone" && phone.seat == 1 && phone.allowed == .critical)
    #expect(phone.added == Sample.now && phone.seen == nil && phone.key == nil)
    #expect(try registry.tokens(of: phone.device) == [Sample.token()])
    #expect(
      try registry.providerToken(for: "TEAM.KEY") == ProviderToken(issuedAt: 5, text: "abc"))
    #expect(try registry.providerToken(for: "TEAM.OTHER") == nil)
  }

  @Test(arguments: [1, 31, 32, 33, 64, 100, 160, PhoneToken.limit])
  func aTokenMayHaveAnyLength(_ count: Int) throws {
    let registry = try registryWithPhone()
    let token = Sample.token(bytes: (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37) })
    try registry.register(token)
    #expect(try registry.tokens(of: Sample.device(1)) == [token])
  }

  @Test(arguments: [0, PhoneToken.limit + 1])
  func aTokenThatIsNoneIsRefused(_ count: Int) throws {
    let registry = try registryWithPhone()
    let token = Sample.token(bytes: [UInt8](repeating: 1, count: count))
    #expect(
      registryError { () throws(RegistryError) in try registry.register(token) }
        == .tokenLength(count))
  }

  @Test func thereIsOneTokenForEachDeviceChannelKindAndEnvironment() throws {
    let registry = try registryWithPhone()
    for kind in PhoneToken.Kind.allCases {
      for environment in Push.Environment.allCases {
        for byte: UInt8 in [1, 2] {
          try registry.register(
            Sample.token(kind: kind, environment: environment, bytes: [byte, kind.rawValue]))
        }
      }
    }
    let kept = try registry.tokens(of: Sample.device(1))
    #expect(kept.count == 6)
    #expect(kept.allSatisfy { $0.bytes.first == 2 })
  }

  @Test func aDeadTokenGoesOnlyIfItWasRegisteredBeforeItDied() throws {
    let registry = try registryWithPhone()
    let token = Sample.token(registered: Sample.now)
    try registry.register(token)
    #expect(try registry.retire(token, deadSince: Sample.now) == false)
    #expect(try registry.retire(token, deadSince: Sample.now - 1) == false)
    #expect(try registry.tokens(of: Sample.device(1)).count == 1)
    #expect(try registry.retire(token, deadSince: Sample.now + 1))
    #expect(try registry.tokens(of: Sample.device(1)).isEmpty)
  }

  @Test func aTokenThatRotatedMidBurstSurvivesTheDeathOfTheOldOne() throws {
    let registry = try registryWithPhone()
    let old = Sample.token(bytes: [1, 2, 3])
    try registry.register(old)
    #expect(
      try registry.claim(Sample.claim(), for: [Sample.device(1)], at: Sample.now)
        == [.won([old])])
    let new = Sample.token(bytes: [4, 5, 6, 7], registered: Sample.now)
    try registry.register(new)
    #expect(try registry.retire(old, deadSince: Sample.now + 60_000) == false)
    try registry.quarantine(old, at: Sample.now)
    let next = BurstID(Bytes16(high: 4, low: 4))
    #expect(
      try registry.claim(Sample.claim(burst: next), for: [Sample.device(1)], at: Sample.now)
        == [.won([new])])
  }

  @Test func aQuarantinedTokenIsLeftAloneForADayOrUntilAnotherComes() throws {
    let registry = try registryWithPhone()
    let token = Sample.token()
    try registry.register(token)
    try registry.quarantine(token, at: Sample.now)
    // The same bytes again change nothing.
    try registry.register(token)
    func outcome(_ number: UInt64, at time: UInt64) throws -> ClaimOutcome? {
      let burst = BurstID(Bytes16(high: 9, low: number))
      return try registry.claim(Sample.claim(burst: burst), for: [token.device], at: time).first
    }
    let day: UInt64 = 86_400_000
    #expect(try outcome(1, at: Sample.now + day - 1) == .noToken)
    #expect(try outcome(2, at: Sample.now + day) == .won([token]))
    let other = Sample.token(bytes: [9])
    try registry.register(other)
    #expect(try outcome(3, at: Sample.now + 1) == .won([other]))
  }

  @Test func aTokenOfTheOtherEnvironmentMovesThere() throws {
    let registry = try registryWithPhone()
    let token = Sample.token(environment: .production, bytes: [1])
    try registry.register(token)
    try registry.register(Sample.token(environment: .sandbox, bytes: [2]))
    try registry.moveToOtherEnvironment(token)
    let kept = try registry.tokens(of: Sample.device(1))
    #expect(kept.map(\.environment) == [.sandbox])
    #expect(kept.map(\.bytes) == [[1]])
  }

  @Test func removingAPhoneGivesItsTokensAndLeavesNothing() throws {
    let registry = try registryWithPhone()
    try registry.register(Sample.token())
    try registry.register(Sample.token(kind: .alert))
    #expect(try registry.remove(Sample.device(1)).count == 2)
    #expect(try registry.phones(in: nil).isEmpty)
    #expect(
      registryError { () throws(RegistryError) in try registry.register(Sample.token()) }
        == .unknownPhone)
    #expect(
      registryError { () throws(RegistryError) in
        try registry.remove(Sample.device(1))
      } == .unknownPhone)
  }

  @Test func seatsAreUniqueAndTheHighestIsFollowedByTheFirstGap() throws {
    let registry = try folder.openWithChannel()
    for number in 1...3 {
      let phone = try registry.add(
        Sample.device(number), name: "phone \(number)", channel: Sample.channel,
        ticket: Sample.ticket(number), at: Sample.now)
      #expect(phone.seat == UInt16(number))
    }
    _ = try registry.remove(Sample.device(2))
    // A seat that was just left is not given at once: others still show it by the old name.
    let next = try registry.add(
      Sample.device(4), name: "phone", channel: Sample.channel, ticket: Sample.ticket(4),
      at: Sample.now)
    #expect(next.seat == 4)
  }

  @Test func whatCannotBeAPhoneIsRefused() throws {
    let registry = try registryWithPhone()
    func add(_ number: Int, name: String = "x", channel: ChannelID = Sample.channel, ticket: Int)
      -> RegistryError?
    {
      registryError { () throws(RegistryError) in
        try registry.add(
          Sample.device(number), name: name, channel: channel, ticket: Sample.ticket(ticket),
          at: 0)
      }
    }
    #expect(add(1, ticket: 9) == .phoneExists)
    #expect(add(2, ticket: 1) == .phoneExists)
    #expect(add(2, name: " \u{2800}", ticket: 2) == .name)
    #expect(add(2, name: String(repeating: "x", count: 65), ticket: 2) == .name)
    #expect(add(2, name: String(repeating: "x", count: 64), ticket: 2) == nil)
    #expect(add(3, channel: ChannelID(.zero), ticket: 3) == .unknownChannel)
    #expect(RegistryError.unknownChannel.description.contains("channel"))
  }

  @Test func aNameComesBackAsItWasEvenIfHostile() throws {
    let registry = try folder.openWithChannel()
    let name = "x'); DROP TABLE phone;--\u{0}y"
    _ = try registry.add(
      Sample.device(1), name: name, channel: Sample.channel, ticket: Sample.ticket(1), at: 0)
    #expect(try registry.phones(in: nil).map(\.name) == [name])
  }

  @Test func eitherTicketLetsAPhoneInUntilItShowsTheNewOne() throws {
    let registry = try registryWithPhone()
    let (first, second, third) = (Sample.ticket(1), Sample.ticket(2), Sample.ticket(3))
    func knows(_ ticket: TicketHash) throws -> Bool {
      try registry.phone(presenting: ticket)?.device == Sample.device(1)
    }
    #expect(try knows(first) && !knows(second))
    try registry.offerTicket(second, to: Sample.device(1))
    #expect(try knows(first) && knows(second))
    // The reply was lost: the phone comes with the old one, and is offered another.
    try registry.offerTicket(third, to: Sample.device(1))
    #expect(try knows(first) && !knows(second) && knows(third))
    let key = Key32([UInt8](repeating: 8, count: 32))!
    try registry.confirmTicket(third, of: Sample.device(1), key: key, at: Sample.now)
    #expect(try !knows(first) && knows(third))
    // The key of the first attach stays.
    try registry.confirmTicket(
      third, of: Sample.device(1), key: Key32([UInt8](repeating: 9, count: 32))!,
      at: Sample.now + 1)
    let phone = try #require(try registry.phones(in: nil).first)
    #expect(phone.key == key && phone.seen == Sample.now + 1)
  }

  @Test func anAttachNotesTheNextTicketOnlyForThePhonesOwnKey() throws {
    let registry = try registryWithPhone()
    let (first, second, third) = (Sample.ticket(1), Sample.ticket(2), Sample.ticket(3))
    let key = Key32([UInt8](repeating: 8, count: 32))!
    let thief = Key32([UInt8](repeating: 9, count: 32))!
    #expect(try registry.attach(ticket: third, next: second, key: key) == nil)
    #expect(
      try registry.attach(ticket: first, next: second, key: key)?.device == Sample.device(1))
    try registry.confirmTicket(second, of: Sample.device(1), key: key, at: Sample.now)
    #expect(try registry.attach(ticket: second, next: third, key: thief) == nil)
    #expect(try registry.phone(presenting: third) == nil)
    #expect(try registry.attach(ticket: second, next: third, key: key) != nil)
  }

  @Test func anOldProviderTokenIsReplacedOnlyByWhoKnewIt() throws {
    let registry = try folder.open()
    let first = ProviderToken(issuedAt: 100, text: "a")
    let second = ProviderToken(issuedAt: 2_800, text: "b")
    let rival = ProviderToken(issuedAt: 2_801, text: "c")
    #expect(try registry.offer(first, for: "T.K", replacing: nil) == first)
    #expect(try registry.offer(rival, for: "T.K", replacing: nil) == first)
    #expect(try registry.offer(second, for: "T.K", replacing: 100) == second)
    #expect(try registry.offer(rival, for: "T.K", replacing: 100) == second)
    #expect(try registry.providerToken(for: "T.K") == second)
  }

  private func registryWithPhone() throws -> SQLiteRegistry {
    let registry = try folder.openWithChannel()
    _ = try registry.add(
      Sample.device(1), name: "Ann's phone", channel: Sample.channel, ticket: Sample.ticket(1),
      at: Sample.now)
    return registry
  }
}
