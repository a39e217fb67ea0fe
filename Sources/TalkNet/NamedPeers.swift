package import TalkCore

/// When the names of configured peers are looked up: at once, again while they are not found, after
/// a network change, and now and then, since a name may move to another address.
///
/// Drive it so: take `due` and hand the names to a `Resolver`; hand its answers to `settle`; call
/// again at `deadline`.
package struct NamedPeers: Sendable {
  /// How soon a name that was not found is looked up again; doubles up to `longestPause`.
  package static let firstPause = Duration.seconds(2)
  /// The longest time between two look-ups, also of a name that was found.
  package static let longestPause = Duration.seconds(300)

  /// What an answer changes.
  package struct Change: Hashable, Sendable {
    /// Endpoints to try from now on.
    package var added: [Endpoint] = []
    /// Endpoints that no name stands for any more.
    package var removed: [Endpoint] = []
    /// A line for the person, where something is new to say.
    package var line: String?
  }

  private struct Entry {
    let name: HostAndPort
    var endpoints: [Endpoint] = []
    var pause = NamedPeers.firstPause
    var next = Instant.zero
    /// What was told: found or not; nil before the first answer.
    var isFound: Bool?
  }

  private var entries: [Entry]

  /// The peers that the person named; the same name counts once.
  package init(_ names: [HostAndPort]) {
    entries = []
    for name in names where !entries.contains(where: { $0.name == name }) {
      entries.append(Entry(name: name))
    }
  }

  /// When to take `due`; nil when there are no names.
  package var deadline: Instant? {
    entries.reduce(nil) { Instant.earliest($0, $1.next) }
  }

  /// The names to look up now. A look-up that is never answered is repeated.
  package mutating func due(now: Instant) -> [HostAndPort] {
    var names: [HostAndPort] = []
    for index in entries.indices where entries[index].next <= now {
      names.append(entries[index].name)
      entries[index].next = now + entries[index].pause
      entries[index].pause = min(entries[index].pause * 2, Self.longestPause)
    }
    return names
  }

  /// Links or addresses changed: every name is looked up at once.
  package mutating func networkChanged() {
    for index in entries.indices {
      entries[index].next = .zero
      entries[index].pause = Self.firstPause
    }
  }

  /// Takes an answer. One without an address leaves those that were known: it may be the name
  /// server that is away.
  package mutating func settle(_ resolution: Resolution, now: Instant) -> Change {
    var change = Change()
    guard let index = entries.firstIndex(where: { $0.name == resolution.name }) else {
      return change
    }
    let isFound = !resolution.endpoints.isEmpty
    if entries[index].isFound != isFound {
      let name = resolution.name
      if isFound {
        if entries[index].isFound == false { change.line = "peer \(name): found" }
      } else {
        change.line =
          "peer \(name): no address found"
          + (entries[index].endpoints.isEmpty ? "; it is looked up again" : "; the last one stays")
      }
      entries[index].isFound = isFound
    }
    guard isFound else { return change }
    entries[index].pause = Self.longestPause
    entries[index].next = now + Self.longestPause
    let before = entries[index].endpoints
    entries[index].endpoints = resolution.endpoints
    change.added = resolution.endpoints.filter { !before.contains($0) }
    change.removed = before.filter { endpoint in
      !entries.contains { $0.endpoints.contains(endpoint) }
    }
    return change
  }
}
