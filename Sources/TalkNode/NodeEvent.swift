package import TalkCore
package import TalkFloor
package import TalkWire

/// A sound that tells the person what happened (surface.md, "Tones").
package enum ToneEvent: String, Hashable, Sendable, CaseIterable {
  /// You may speak.
  case permit
  /// Somebody else speaks.
  case busy
  /// You wait, and have a place.
  case queued
  /// The limit comes in ten seconds.
  case limitWarning
  /// Your burst was ended for you.
  case cut
  /// Nobody hears you.
  case unheard
  /// A member came; told only when it sounds.
  case came
  /// A member went; told only when it sounds.
  case left
}

/// Why a tone sounded, from a closed list.
package enum ToneReason: Hashable, Sendable {
  /// Nothing to add.
  case none
  /// The holder that speaks.
  case holder(PeerID)
  /// The member that came or went.
  case member(PeerID)
  /// The place in the queue, from 1.
  case place(Int)
  /// What the holder said.
  case denied(DenyReason)
  /// Why nobody hears us.
  case unheard(UnheardReason)
  /// Why our burst ended.
  case stopped(StopReason)
  /// There is no microphone.
  case noMicrophone
}

/// The times of one press, for people who measure: each on CLOCK_BOOTTIME.
package struct PressTimes: Hashable, Sendable {
  /// The key went down.
  package var pressed: Instant
  /// The floor was ours.
  package var granted: Instant?
  /// The permit tone began: grant and first captured sample were there.
  package var permitted: Instant?
}

/// Something that people and programs may want to know; told after the step that caused it.
package enum NodeEvent: Sendable {
  /// A channel's floor changed; ask for its snapshot.
  case floor(ChannelID, PressTimes?)
  /// A member came, went, or changed.
  case member(ChannelID, PeerID)
  /// A burst began: somebody's voice is heard here, or ours leaves.
  case burstBegan(ChannelID, TokenID)
  /// A burst ended, with how many frames of it were heard and lost here.
  case burstEnded(ChannelID, TokenID, frames: Int, lost: Int)
  /// Who reported at the end of our burst that it heard it, and who of those present did not.
  case heard(ChannelID, TokenID, by: [PeerID], missed: [PeerID])
  /// A tone sounded.
  case tone(ChannelID, ToneEvent, ToneReason)
  /// We became a member of the channel that we had an invite for.
  case joined(ChannelID)
  /// We signed the ADMIT of a newcomer.
  case admitted(ChannelID, PeerID)
  /// Somebody with the invite asks to join while the window is closed.
  case wantsIn(ChannelID, PeerID, nickname: String)
  /// Our own identity speaks from elsewhere: a copied state directory.
  case identityElsewhere(Endpoint)
  /// A channel was added, removed, or became current.
  case channels
}
