/// What became of one burst's frames on the way to the ear.
package struct PlayoutStatistics: Hashable, Sendable {
  /// Frames that came for the first time, in time or late.
  package var received = 0
  /// Frames that had come before: copies, or repetitions by the network.
  package var duplicates = 0
  /// Frames that came after their moment had passed; they count as lost too.
  package var late = 0
  /// Frames that were not there at their moment.
  package var lost = 0
  /// Frames that belong to no burst that is being played, or make no sense.
  package var refused = 0
  /// Sound that was made up for frames that were not there, silence included.
  package var concealed = Duration.zero
  /// Sound that was left out to get back to the wanted delay.
  package var trimmed = Duration.zero
  /// Sound that was added to get to a greater delay.
  package var stretched = Duration.zero
  /// Sound that waits now.
  package var buffered = Duration.zero
  /// How much later frames are rendered now than the quickest of the last seconds arrived.
  package var delay = Duration.zero
  /// The delay that the last seconds' arrivals ask for.
  package var target = Duration.zero

  /// Nothing has happened yet.
  package init() {}
}
