/// A table with a stated limit whose order is that of its keys, so that runs repeat bit for bit.
///
/// A `Dictionary`'s order differs per process; machines use this instead. Look-up is a binary
/// search; an insertion moves the entries behind it, which is cheap at the sizes we state.
public struct OrderedTable<Key: Comparable, Value> {
  private var entries: [(key: Key, value: Value)] = []
  /// The most entries that the table takes.
  public let limit: Int

  /// An empty table that takes at most `limit` entries.
  public init(limit: Int) {
    self.limit = limit
  }

  /// How many entries there are.
  public var count: Int { entries.count }
  /// True when there is no entry.
  public var isEmpty: Bool { entries.isEmpty }
  /// True when an insertion of a new key would be refused.
  public var isFull: Bool { entries.count >= limit }
  /// The keys in rising order.
  public var keys: some Sequence<Key> { entries.lazy.map { $0.key } }
  /// The values in the order of their keys.
  public var values: some Sequence<Value> { entries.lazy.map { $0.value } }
  /// The valid positions for `entry(at:)` and `updateValue(at:)`.
  public var indices: Range<Int> { entries.indices }

  /// The position of the first key not below `key`.
  private func position(of key: Key) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].key < key { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The position of `key`, if it is there.
  public func index(of key: Key) -> Int? {
    let index = position(of: key)
    return index < entries.count && entries[index].key == key ? index : nil
  }

  /// The entry at a position from `indices`.
  public func entry(at index: Int) -> (key: Key, value: Value) { entries[index] }

  /// Reads or changes in place the value at a position from `indices`.
  public subscript(at index: Int) -> Value {
    get { entries[index].value }
    _modify { yield &entries[index].value }
  }

  /// Changes in place the value at a position from `indices`; unlike the subscript's accessor this
  /// takes no memory even in a debug build, so the hot path uses it.
  public mutating func update(at index: Int, _ body: (inout Value) -> Void) {
    body(&entries[index].value)
  }

  /// The value of `key`. Setting nil removes it; setting a new key into a full table does nothing,
  /// so ask `isFull` first where that matters.
  public subscript(key: Key) -> Value? {
    get { index(of: key).map { entries[$0].value } }
    set {
      let index = position(of: key)
      let found = index < entries.count && entries[index].key == key
      switch (newValue, found) {
      case (let value?, true): entries[index].value = value
      case (let value?, false):
        if !isFull { entries.insert((key, value), at: index) }
      case (nil, true): entries.remove(at: index)
      case (nil, false): break
      }
    }
  }

  /// Removes every entry that `predicate` picks.
  public mutating func removeAll(where predicate: (Key, Value) -> Bool) {
    entries.removeAll { predicate($0.key, $0.value) }
  }

  /// Removes everything.
  public mutating func removeAll() { entries.removeAll() }
}

extension OrderedTable: Sendable where Key: Sendable, Value: Sendable {}
