/// Finds what somebody who wrote a word wrong most likely meant.
package enum NearestName {
  /// The candidate with the fewest edits to `word` (insert, delete, replace, swap of neighbours);
  /// nil when even that one differs in more than a third of its letters, two at least.
  package static func of(_ word: String, among candidates: [String]) -> String? {
    // A word from elsewhere may be of any length; names of ours are short.
    let word = String(word.prefix(64)).lowercased()
    let best = candidates.map { (edits(word, $0.lowercased()), $0) }.min { $0.0 < $1.0 }
    guard let (distance, name) = best, distance <= max(2, name.count / 3) else { return nil }
    return distance < name.count ? name : nil
  }

  /// `; did you mean 'X'?`, or nothing.
  package static func hint(_ word: String, among candidates: [String]) -> String {
    of(word, among: candidates).map { "; did you mean '\($0)'?" } ?? ""
  }

  /// The optimal string alignment distance of two words.
  private static func edits(_ left: String, _ right: String) -> Int {
    let a = Array(left)
    let b = Array(right)
    var before: [Int] = []
    var last = Array(0...b.count)
    for i in 0..<a.count {
      var row = [i + 1]
      for j in 0..<b.count {
        var best = min(row[j] + 1, last[j + 1] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, before[j - 1] + 1) }
        row.append(best)
      }
      before = last
      last = row
    }
    return last[b.count]
  }
}
