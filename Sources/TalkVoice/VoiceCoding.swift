/// What a voice frame holds on its way.
package enum VoiceCoding: Sendable {
  /// Opus.
  case opus
  /// The frame's first sample, alone, in a frame of the usual size: for simulations of whole nodes,
  /// where the codec would take nearly all of the time. What is played is that sample, held.
  case marked
}
