import TalkCore
package import TalkCrypto

/// How records come in.
extension Roster {
  /// Takes in records in any order. Those whose author is not known yet, or may not grant that yet,
  /// wait for it; the rest is judged at once. Each signature is verified once.
  package mutating func merge(_ bodies: [[UInt8]]) -> MergeResult {
    var result = MergeResult()
    for body in bodies {
      guard let admit = Admit(body) else {
        result.refused.append(.malformed)
        continue
      }
      let before = result.accepted
      consider(Waiting(admit: admit, isVerified: false), into: &result)
      if result.accepted > before { considerWaiting(into: &result) }
    }
    finish(&result)
    return result
  }

  /// Admits `newcomer`, or changes what holds of a member, in the name of `author`: returns the
  /// record's body to send and keep. One that would change nothing is not written anew.
  package mutating func admit(
    _ newcomer: PublicIdentity, role: Role = .member, classes: FloorClasses = .standard,
    by author: Identity
  ) throws(AdmitRefusal) -> [UInt8] {
    let id = newcomer.peerID
    let authorID = author.publicIdentity.peerID
    if let held = people[id], held.identity == newcomer, let record = records[held.effective],
      record.role == role, record.classes == classes
    {
      return record.bytes
    }
    guard let member = member(authorID), member.role != .listenOnly else { throw .notAllowed }
    let key = AdmitKey(id: id, by: authorID, grade: Grade(role: role, classes: classes))
    let admit = Admit(
      newcomer, channel: channel, epoch: epoch, number: nextNumber(for: key), role: role,
      classes: classes, signedBy: author)
    if let refusal = refusal(of: admit) { throw refusal }
    switch standing(of: admit.key) {
    case .allowed: break
    case .lacking: throw .notAllowed
    case .tooDeep: throw .tooDeep
    }
    if let full = lackOfRoom(for: admit) { throw full }
    var result = MergeResult()
    insert(admit, into: &result)
    considerWaiting(into: &result)
    finish(&result)
    return admit.bytes
  }

  /// Above the author's own record of that key, and above all admins' records of that member.
  private func nextNumber(for key: AdmitKey) -> UInt64 {
    var highest = records[key]?.number ?? 0
    for index in records.indices {
      let record = records[at: index]
      guard record.id == key.id, people[record.by]?.asAdmin != nil else { continue }
      highest = max(highest, record.number)
    }
    return highest == .max ? .max : highest + 1
  }

  private mutating func finish(_ result: inout MergeResult) {
    result.waiting = waiting.count
    guard result.accepted > 0 else { return }
    result.changed.sort()
    updateDigest()
  }

  // MARK: Judging

  enum Standing {
    case allowed
    /// The author is unknown or may not grant that, yet.
    case lacking
    /// The author may, but its own chain is too long, yet.
    case tooDeep
  }

  func standing(of key: AdmitKey) -> Standing {
    guard let depth = depth(of: key) else { return .lacking }
    return depth <= Self.depthLimit ? .allowed : .tooDeep
  }

  /// What is wrong with a record whatever else is known.
  private func refusal(of admit: Admit) -> AdmitRefusal? {
    guard admit.channel == channel else { return .otherChannel }
    guard admit.epoch <= epoch else { return .laterEpoch }
    if admit.by == admit.id {
      guard admit.identity.fingerprint == creator, admit.role == .admin else {
        return .notCreator
      }
    } else if admit.id == creator.peerID {
      return .rootIsFixed
    }
    if let person = people[admit.id], person.identity != admit.identity { return .collision }
    return nil
  }

  private func lackOfRoom(for admit: Admit) -> AdmitRefusal? {
    if records.index(of: admit.key) == nil, records.isFull { return .full }
    if people.index(of: admit.id) == nil, people.isFull { return .full }
    return nil
  }

  /// Judges one record, and takes it in, lets it wait, or says why not.
  mutating func consider(_ entry: Waiting, into result: inout MergeResult) {
    let admit = entry.admit
    if let refusal = refusal(of: admit) { return result.refused.append(refusal) }
    if let held = records[admit.key], !isNewer(admit, than: held) { return result.known += 1 }
    let authorKey = admit.by == admit.id ? admit.identity.signing : signingKey(of: admit.by)
    guard let authorKey else { return hold(entry) }
    if !entry.isVerified {
      verifications += 1
      guard admit.isSigned(by: authorKey) else { return result.refused.append(.badSignature) }
    }
    guard standing(of: admit.key) == .allowed else {
      return hold(Waiting(admit: admit, isVerified: true))
    }
    if let refusal = lackOfRoom(for: admit) { return result.refused.append(refusal) }
    insert(admit, into: &result)
  }

  private func signingKey(of peer: PeerID) -> Key32? { people[peer]?.identity.signing }

  /// The higher number; between two records of one number (their author lies) the smaller bytes, so
  /// that all choose alike.
  private func isNewer(_ admit: Admit, than held: Admit) -> Bool {
    if admit.number != held.number { return admit.number > held.number }
    return admit.bytes.lexicographicallyPrecedes(held.bytes)
  }

  private mutating func hold(_ entry: Waiting) {
    guard !waiting.contains(where: { $0.admit == entry.admit }) else { return }
    if waiting.count >= Self.waitingLimit { waiting.removeFirst() }
    waiting.append(entry)
  }

  /// Judges anew those that wait for what has just come, one at a time: each may let others in.
  private mutating func considerWaiting(into result: inout MergeResult) {
    func isRipe(_ entry: Waiting) -> Bool {
      standing(of: entry.admit.key) == .allowed
        || (!entry.isVerified && signingKey(of: entry.admit.by) != nil)
    }
    while let index = waiting.firstIndex(where: isRipe) {
      consider(waiting.remove(at: index), into: &result)
    }
  }

  // MARK: Taking in

  /// Takes in a record that was judged.
  mutating func insert(_ admit: Admit, into result: inout MergeResult) {
    let before = member(admit.id)
    if people.index(of: admit.id) == nil {
      people[admit.id] = Person(identity: admit.identity, effective: admit.key)
    }
    if let author = people.index(of: admit.by) { people[at: author].isAuthor = true }
    records[admit.key] = admit
    result.accepted += 1
    var raised = relax(admit.key) ? [admit.id] : []
    note(admit.id, before: before, into: &result)
    // Rights and shorter chains spread to what was written by those who gained them.
    while let author = raised.popLast() {
      guard people[author]?.isAuthor == true else { continue }
      for key in records.keys.filter({ $0.by == author && $0.id != author }) {
        let before = member(key.id)
        if relax(key) { raised.append(key.id) }
        note(key.id, before: before, into: &result)
      }
    }
  }

  /// Shortens what a record can shorten of the chains of whom it admits, and chooses anew what
  /// holds of him; true when a chain became shorter.
  private mutating func relax(_ key: AdmitKey) -> Bool {
    guard let depth = depth(of: key), let index = people.index(of: key.id) else { return false }
    var isShorter = false
    let link = Link(depth: depth, via: key)
    if key.grade != .listenOnly, depth < people[at: index].asMember?.depth ?? .max {
      people[at: index].asMember = link
      isShorter = true
    }
    if key.grade == .admin, depth < people[at: index].asAdmin?.depth ?? .max {
      people[at: index].asAdmin = link
      isShorter = true
    }
    people[at: index].effective = effective(besides: key)
    return isShorter
  }

  /// The key of the record that holds of whom `key` admits. His records stand side by side.
  private func effective(besides key: AdmitKey) -> AdmitKey {
    guard let middle = records.index(of: key) else { return key }
    var best = middle
    var position = middle
    while position > 0, records[at: position - 1].id == key.id { position -= 1 }
    while position < records.count, records[at: position].id == key.id {
      if outranks(records[at: position], records[at: best]) { best = position }
      position += 1
    }
    return records[at: best].key
  }

  private func outranks(_ left: Admit, _ right: Admit) -> Bool {
    func isByAdmin(_ record: Admit) -> Bool { people[record.by]?.asAdmin != nil }
    func weight(_ record: Admit) -> (Int, Int, UInt64) {
      (record.role == .admin ? 1 : 0, isByAdmin(record) ? 1 : 0, record.number)
    }
    let (first, second) = (weight(left), weight(right))
    return first == second ? left.by < right.by : first > second
  }

  private func note(_ id: PeerID, before: Member?, into result: inout MergeResult) {
    guard member(id) != before, !result.changed.contains(id) else { return }
    result.changed.append(id)
  }
}
