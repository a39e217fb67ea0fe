import TalkCore
import TalkCrypto
import TalkWire
import Testing

@testable import TalkMesh

/// People with keys that follow from their numbers; 0 is the creator.
struct Crowd {
  let people: [Identity]
  let channel: ChannelID

  init(_ count: Int) {
    people = (0..<count).map { Identity.forSimulation(seed: [1, 2, 3], salt: UInt64($0)) }
    channel = ChannelID(creator: people[0].publicIdentity.fingerprint, random: .zero)
  }

  func id(_ number: Int) -> PeerID { people[number].publicIdentity.peerID }
  func identity(_ number: Int) -> PublicIdentity { people[number].publicIdentity }
  func founded() -> Roster { Roster(channel: channel, createdBy: people[0]) }
  func empty(epoch: UInt64 = 0) -> Roster {
    Roster(
      channel: channel, creator: people[0].publicIdentity.fingerprint, epoch: epoch)
  }

  /// A record as a liar or an honest member may write it, unchecked.
  func record(
    _ whom: Int, by: Int, number: UInt64 = 1, role: Role = .member,
    classes: FloorClasses = .standard, epoch: UInt64 = 0, channel: ChannelID? = nil
  ) -> [UInt8] {
    Admit(
      identity(whom), channel: channel ?? self.channel, epoch: epoch, number: number, role: role,
      classes: classes, signedBy: people[by]
    ).bytes
  }

  var root: [UInt8] { record(0, by: 0, role: .admin, classes: .all) }
}

private let crowd = Crowd(16)

@Suite("The roster")
struct RosterTests {
  @Test("a channel starts with its creator alone, who is admin with every class")
  func founded() {
    let roster = crowd.founded()
    #expect(roster.members.map(\.id) == [crowd.id(0)])
    #expect(roster.member(crowd.id(0))?.role == .admin)
    #expect(roster.member(crowd.id(0))?.classes == .all)
    #expect(roster.chain(for: crowd.id(0)) == roster.bodies && roster.bodies.count == 1)
    #expect(roster.chain(for: crowd.id(1)) == [] && !roster.isMember(crowd.id(1)))
  }

  @Test("a member admits a member, and the chain proves it to one who knows only the creator")
  func chain() throws {
    var roster = crowd.founded()
    _ = try roster.admit(crowd.identity(1), by: crowd.people[0])
    let last = try roster.admit(crowd.identity(2), by: crowd.people[1])
    let chain = roster.chain(for: crowd.id(2))
    #expect(chain.count == 3 && chain.last == last && chain.first == crowd.root)
    var other = crowd.empty()
    let result = other.merge(chain)
    #expect(result.accepted == 3 && result.refused == [] && result.waiting == 0)
    #expect(result.changed == [crowd.id(0), crowd.id(1), crowd.id(2)].sorted())
    #expect(other.digest == roster.digest && other.isMember(crowd.id(2)))
    #expect(other.members == other.members.sorted { $0.id < $1.id })
    #expect(other.member(crowd.id(2))?.admittedBy == crowd.id(1))
  }

  struct Grant: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let role: Role
    let classes: FloorClasses
    let needsAdmin: Bool
    static let all = [
      Grant(testDescription: "plain", role: .member, classes: .standard, needsAdmin: false),
      Grant(testDescription: "admin", role: .admin, classes: .standard, needsAdmin: true),
      Grant(testDescription: "listen-only", role: .listenOnly, classes: [], needsAdmin: true),
      Grant(
        testDescription: "priority", role: .member, classes: [.normal, .emergency, .priority],
        needsAdmin: true),
      Grant(
        testDescription: "imminent peril", role: .member,
        classes: [.normal, .emergency, .imminentPeril], needsAdmin: true),
      Grant(
        testDescription: "without emergency", role: .member, classes: [.normal], needsAdmin: true),
    ]
  }

  @Test("only admins grant more or less than plain membership", arguments: Grant.all)
  func rights(_ grant: Grant) throws {
    var roster = crowd.founded()
    _ = try roster.admit(crowd.identity(1), by: crowd.people[0])
    _ = try roster.admit(crowd.identity(2), role: .admin, by: crowd.people[0])
    var copy = roster
    func admit() throws {
      _ = try roster.admit(
        crowd.identity(5), role: grant.role, classes: grant.classes, by: crowd.people[1])
    }
    if grant.needsAdmin {
      #expect(throws: AdmitRefusal.notAllowed) { try admit() }
      #expect(!roster.isMember(crowd.id(5)))
    } else {
      try admit()
    }
    let forged = crowd.record(5, by: 1, role: grant.role, classes: grant.classes)
    _ = copy.merge([forged])
    #expect(copy.isMember(crowd.id(5)) == !grant.needsAdmin)
    _ = try copy.admit(
      crowd.identity(5), role: grant.role, classes: grant.classes, by: crowd.people[2])
    #expect(copy.member(crowd.id(5))?.role == grant.role)
    #expect(copy.member(crowd.id(5))?.classes == grant.classes)
  }

  @Test("listen-only members and strangers admit nobody")
  func noAuthors() throws {
    var roster = crowd.founded()
    _ = try roster.admit(crowd.identity(1), role: .listenOnly, by: crowd.people[0])
    for author in [1, 2] {
      #expect(throws: AdmitRefusal.notAllowed) {
        try roster.admit(crowd.identity(3), by: crowd.people[author])
      }
      let result = roster.merge([crowd.record(3, by: author)])
      #expect(result.accepted == 0 && result.waiting == author)
    }
  }

  struct Refused: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let body: [UInt8]
    let why: AdmitRefusal
    static let all = [
      Refused(testDescription: "nothing", body: [], why: .malformed),
      Refused(
        testDescription: "a byte too few", body: crowd.record(1, by: 0).dropLast(),
        why: .malformed),
      Refused(
        testDescription: "an unknown role", body: changed(crowd.record(1, by: 0), 113, to: 3),
        why: .malformed),
      Refused(
        testDescription: "an unknown class", body: changed(crowd.record(1, by: 0), 114, to: 16),
        why: .malformed),
      Refused(
        testDescription: "another channel",
        body: crowd.record(1, by: 0, channel: ChannelID(.zero)), why: .otherChannel),
      Refused(
        testDescription: "a later epoch", body: crowd.record(1, by: 0, epoch: 1),
        why: .laterEpoch),
      Refused(
        testDescription: "a changed class", body: changed(crowd.record(1, by: 0), 114, to: 15),
        why: .badSignature),
      Refused(
        testDescription: "a changed number", body: changed(crowd.record(1, by: 0), 41, to: 9),
        why: .badSignature),
      Refused(
        testDescription: "a changed signature", body: changed(crowd.record(1, by: 0), 170, to: 1),
        why: .badSignature),
      Refused(
        testDescription: "a self-made creator",
        body: crowd.record(4, by: 4, role: .admin, classes: .all), why: .notCreator),
      Refused(
        testDescription: "a self-made member", body: crowd.record(4, by: 4), why: .notCreator),
      Refused(
        testDescription: "a creator who lowers himself", body: crowd.record(0, by: 0),
        why: .notCreator),
      Refused(
        testDescription: "a word about the creator",
        body: crowd.record(0, by: 1, role: .listenOnly), why: .rootIsFixed),
    ]

    private static func changed(_ body: [UInt8], _ index: Int, to value: UInt8) -> [UInt8] {
      var body = body
      body[index] = body[index] == value ? value ^ 0x80 : value
      return body
    }
  }

  @Test("a record is refused with its reason", arguments: Refused.all)
  func refused(_ refused: Refused) throws {
    var roster = crowd.founded()
    _ = try roster.admit(crowd.identity(1), by: crowd.people[0])
    let before = roster.digest
    let result = roster.merge([refused.body])
    #expect(result.refused == [refused.why] && result.accepted == 0 && result.changed == [])
    #expect(roster.digest == before)
  }

  @Test("two identities with one PeerID: the first stays")
  func collision() throws {
    var roster = crowd.founded()
    _ = try roster.admit(crowd.identity(1), by: crowd.people[0])
    let other = try #require(Admit(crowd.record(2, by: 0)))
    var result = MergeResult()
    roster.consider(
      Roster.Waiting(
        admit: Admit(other, collidingWith: crowd.id(1)), isVerified: false),
      into: &result)
    #expect(result.refused == [.collision])
    #expect(roster.member(crowd.id(1))?.identity == crowd.identity(1))
  }

  @Test("eight records from the creator are a chain; nine are not, until a shorter way is found")
  func depth() throws {
    var roster = crowd.founded()
    for number in 1...7 {
      _ = try roster.admit(crowd.identity(number), by: crowd.people[number - 1])
    }
    #expect(roster.chain(for: crowd.id(7)).count == 8)
    #expect(throws: AdmitRefusal.tooDeep) {
      try roster.admit(crowd.identity(8), by: crowd.people[7])
    }
    let waits = roster.merge([crowd.record(8, by: 7)])
    #expect(waits.waiting == 1 && !roster.isMember(crowd.id(8)))
    // The creator's own word for number 3 shortens every chain behind it.
    let result = roster.merge([crowd.record(3, by: 0)])
    #expect(result.accepted == 2 && result.waiting == 0)
    #expect(roster.chain(for: crowd.id(8)).count == 7)
    var other = crowd.empty()
    _ = other.merge(roster.chain(for: crowd.id(8)))
    #expect(other.isMember(crowd.id(8)))
  }

  @Test("an admin's word counts more than a member's, whatever numbers the member writes")
  func inflated() throws {
    var roster = crowd.founded()
    _ = try roster.admit(crowd.identity(1), by: crowd.people[0])
    _ = try roster.admit(crowd.identity(2), by: crowd.people[1])
    _ = try roster.admit(crowd.identity(2), role: .listenOnly, classes: [], by: crowd.people[0])
    _ = roster.merge([crowd.record(2, by: 1, number: .max)])
    #expect(roster.member(crowd.id(2))?.role == .listenOnly)
    _ = try roster.admit(crowd.identity(2), by: crowd.people[0])
    #expect(roster.member(crowd.id(2))?.role == .member)
    _ = try roster.admit(
      crowd.identity(2), classes: [.normal], by: crowd.people[0])
    #expect(roster.member(crowd.id(2))?.classes == [.normal])
  }

  @Test("the later wish of two admins who know of each other holds")
  func laterWish() throws {
    var roster = crowd.founded()
    _ = try roster.admit(crowd.identity(1), role: .admin, by: crowd.people[0])
    for round in 0..<6 {
      let role: Role = round % 2 == 0 ? .listenOnly : .member
      _ = try roster.admit(crowd.identity(2), role: role, by: crowd.people[round / 2 % 2])
      #expect(roster.member(crowd.id(2))?.role == role)
    }
  }

  @Test("what would change nothing is not written anew")
  func idempotent() throws {
    var roster = crowd.founded()
    let first = try roster.admit(crowd.identity(1), by: crowd.people[0])
    let before = roster.recordCount
    #expect(try roster.admit(crowd.identity(1), by: crowd.people[0]) == first)
    #expect(roster.recordCount == before)
  }

  @Test("each signature is verified once, however often its record comes")
  func verifiedOnce() throws {
    var roster = crowd.founded()
    for number in 1...9 {
      _ = try roster.admit(crowd.identity(number), by: crowd.people[(number - 1) / 2])
    }
    var other = crowd.empty()
    for _ in 0..<5 { _ = other.merge(roster.bodies.reversed()) }
    #expect(other.digest == roster.digest && other.verifications == 10)
  }

  @Test("records come in any order, in any batches, with lies among them, and the roster is one")
  func anyOrder() throws {
    var records = [crowd.root]
    for (whom, by) in [(1, 0), (2, 1), (3, 1), (4, 2), (5, 4), (6, 5), (7, 6), (8, 7), (9, 8)] {
      records.append(crowd.record(whom, by: by))
    }
    records += [
      crowd.record(2, by: 0, number: 2, role: .admin, classes: .all),
      crowd.record(10, by: 2, role: .admin), crowd.record(11, by: 10, classes: [.priority]),
      crowd.record(11, by: 10, number: 5, classes: [.normal]), crowd.record(11, by: 3),
      crowd.record(4, by: 10, number: 3, role: .listenOnly), crowd.record(4, by: 1, number: 9),
      crowd.record(4, by: 2, number: 3), crowd.record(12, by: 4), crowd.record(1, by: 12),
      crowd.record(13, by: 3, role: .admin), crowd.record(14, by: 13), crowd.record(15, by: 15),
    ]
    var reference = crowd.empty()
    _ = reference.merge(records)
    #expect(reference.memberCount == 13)
    #expect(!reference.isMember(crowd.id(14)) && reference.isMember(crowd.id(12)))
    #expect(reference.member(crowd.id(11))?.classes == [.normal])
    #expect(reference.member(crowd.id(4))?.role == .listenOnly)
    #expect(reference.member(crowd.id(2))?.role == .admin)
    for seed in 0..<200 {
      var generator = SeededGenerator(seed: UInt64(seed))
      var rest = records.shuffled(using: &generator)
      var roster = crowd.empty()
      while !rest.isEmpty {
        let count = min(rest.count, Int.random(in: 1...4, using: &generator))
        _ = roster.merge(Array(rest.prefix(count)))
        rest.removeFirst(count)
      }
      #expect(roster.digest == reference.digest, "seed \(seed)")
      #expect(roster.members == reference.members, "seed \(seed)")
      for member in roster.members {
        var stranger = crowd.empty()
        _ = stranger.merge(roster.chain(for: member.id))
        #expect(stranger.isMember(member.id), "seed \(seed)")
      }
    }
  }

  @Test("two records of one number are chosen between alike by all")
  func sameNumber() {
    let one = crowd.record(1, by: 0, number: 3, role: .listenOnly, classes: [])
    let other = crowd.record(1, by: 0, number: 3, role: .listenOnly, classes: [.normal])
    var first = crowd.founded()
    var second = crowd.founded()
    _ = first.merge([one, other])
    _ = second.merge([other, one])
    #expect(first.digest == second.digest && first.members == second.members)
  }

  @Test("what the store kept makes the same roster, each record after its author's")
  func stored() throws {
    var roster = crowd.founded()
    for number in 1...15 {
      _ = try roster.admit(crowd.identity(number), by: crowd.people[(number - 1) / 2])
    }
    var loaded = crowd.empty()
    for body in roster.bodies {
      let result = loaded.merge([body])
      #expect(result.accepted == 1)
    }
    #expect(loaded.digest == roster.digest && loaded.members == roster.members)
  }

  @Test("20,000 mutated records trap nowhere, and change nothing but the waiting")
  func mutated() throws {
    var roster = crowd.founded()
    for number in 1...6 {
      _ = try roster.admit(crowd.identity(number), by: crowd.people[number - 1])
    }
    let bodies = roster.bodies
    let before = roster.digest
    var generator = SeededGenerator(seed: 12)
    for round in 0..<20_000 {
      var body = bodies[Int.random(in: 0..<bodies.count, using: &generator)]
      // Signed bytes and signatures are verified at 0.1 ms each, so most rounds break the rest.
      let range = round % 20 == 0 ? 0..<body.count : 0..<49
      body[Int.random(in: range, using: &generator)] ^= UInt8.random(in: 1...255, using: &generator)
      if round % 5 == 0 { body.removeLast(Int.random(in: 1..<body.count, using: &generator)) }
      let result = roster.merge([body])
      #expect(result.accepted == 0)
    }
    #expect(roster.digest == before && roster.waiting.count <= Roster.waitingLimit)
  }
}

@Suite("Limits of the roster")
struct RosterLimitTests {
  @Test("256 records wait; one more drives out the oldest, and all come in when their author does")
  func waiting() {
    let crowd = Crowd(300)
    var roster = crowd.founded()
    for whom in 2..<(2 + Roster.waitingLimit) {
      _ = roster.merge([crowd.record(whom, by: 1)])
    }
    #expect(roster.waiting.count == 256 && roster.verifications == 0)
    let more = roster.merge([crowd.record(299, by: 1)])
    #expect(more.waiting == 256)
    let result = roster.merge([crowd.record(1, by: 0)])
    #expect(result.accepted == 257 && result.waiting == 0)
    #expect(!roster.isMember(crowd.id(2)) && roster.isMember(crowd.id(299)))
  }

  @Test("1,024 members are taken and one more is not")
  func members() throws {
    let crowd = Crowd(1_026)
    var roster = crowd.founded()
    let records = (1..<1_024).map { crowd.record($0, by: 0) }
    let result = roster.merge(records)
    #expect(result.accepted == 1_023 && roster.memberCount == 1_024)
    let more = roster.merge([crowd.record(1_024, by: 0)])
    #expect(more.refused == [.full])
    #expect(throws: AdmitRefusal.full) {
      try roster.admit(crowd.identity(1_025), by: crowd.people[0])
    }
    // Who is in can still be changed.
    _ = try roster.admit(crowd.identity(5), role: .listenOnly, by: crowd.people[0])
    #expect(roster.member(crowd.id(5))?.role == .listenOnly)
  }

  @Test("4,096 records are taken and one more is not")
  func records() throws {
    let crowd = Crowd(66)
    var roster = crowd.founded()
    _ = roster.merge((1..<66).map { crowd.record($0, by: 0) })
    var offered = roster.recordCount
    var refused = 0
    outer: for by in 1..<66 {
      for whom in 1..<66 where whom != by {
        let result = roster.merge([crowd.record(whom, by: by)])
        offered += 1
        refused += result.refused.filter { $0 == .full }.count
        if refused > 0 { break outer }
      }
    }
    #expect(roster.recordCount == 4_096 && offered == 4_097 && refused == 1)
  }
}
