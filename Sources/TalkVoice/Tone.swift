/// The sounds by which the intercom speaks to its user; never on air.
///
/// Families by ear (surface.md): rising = may, falling = stopped, double low = no.
package enum Tone: Int, Sendable, CaseIterable {
  /// You may speak now.
  case permit
  /// Somebody else has the floor.
  case busy
  /// You wait in the queue.
  case queued
  /// Your time is nearly over.
  case limitWarning
  /// Your time is over, or somebody more urgent speaks.
  case cut
  /// The floor is free again.
  case free
  /// Nobody hears you.
  case unheard
  /// A member came.
  case came
  /// A member went.
  case left

  /// Its notes in order: a frequency in hertz (0 is a pause) and milliseconds.
  var notes: [(hertz: Double, milliseconds: Int)] {
    switch self {
    case .permit: [(784, 60), (1_175, 80)]
    case .busy: [(330, 110), (0, 60), (330, 110)]
    case .queued: [(587, 120)]
    case .limitWarning: [(988, 60), (0, 60), (988, 60), (0, 60), (988, 60)]
    case .cut: [(784, 80), (587, 80), (392, 140)]
    case .free: [(523, 60), (659, 80)]
    case .unheard: [(262, 180), (0, 80), (262, 260)]
    case .came: [(659, 60), (880, 70)]
    case .left: [(880, 60), (659, 70)]
    }
  }
}
