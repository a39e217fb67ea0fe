/// Adds sounds to one another.
package enum Mix {
  /// Adds `source` to the start of `target`; what exceeds 16 bits stays at the limit. Of a longer
  /// source the rest is left out.
  package static func add(
    _ source: UnsafeBufferPointer<Int16>, into target: UnsafeMutableBufferPointer<Int16>
  ) {
    for index in 0..<min(source.count, target.count) {
      let (sum, over) = unsafe target[index].addingReportingOverflow(source[index])
      unsafe target[index] = over ? (source[index] < 0 ? .min : .max) : sum
    }
  }
}
