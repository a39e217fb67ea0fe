/// Why something is, happened or was refused: the closed list that status, events and refusals draw
/// from. A reason's name is never used again for something else.
public enum Reason: String, Codable, Hashable, Sendable, CaseIterable {
  /// The request is wrong: the message says where.
  case usage
  /// There is no channel yet, or none is in use.
  case noChannel = "no-channel"
  /// There is no channel of that name.
  case noSuchChannel = "no-such-channel"
  /// There is a channel of that name already.
  case channelExists = "channel-exists"
  /// No member of that name, or several.
  case noSuchMember = "no-such-member"
  /// Only an admin of the channel may do it.
  case notAdmin = "not-admin"
  /// As many channels as a node keeps are there.
  case tooManyChannels = "too-many-channels"
  /// The name is empty or has nothing visible.
  case badName = "bad-name"
  /// The text is no invite, or a damaged one.
  case badInvite = "bad-invite"
  /// No member has admitted us yet.
  case notAdmitted = "not-admitted"
  /// No other member is here.
  case alone
  /// Members are here, but none answered.
  case noAnswer = "no-answer"
  /// The channel is strict, and half of its members or more are away.
  case minority
  /// Somebody else has the floor.
  case busy
  /// As many as may wait for the floor do.
  case queueFull = "queue-full"
  /// The channel lets this member only listen.
  case listenOnly = "listen-only"
  /// The channel does not allow this member that class.
  case classRefused = "class-refused"
  /// Nobody heard it.
  case unheard
  /// Some of those present did not hear it.
  case partlyHeard = "partly-heard"
  /// The key was let go.
  case released
  /// What held the key is gone or fell silent.
  case keyLost = "key-lost"
  /// The talk limit was reached.
  case limit
  /// A higher class took the floor.
  case preempted
  /// Another holder's claim won.
  case overruled
  /// The holder was not heard any more.
  case holderLost = "holder-lost"
  /// The member said goodbye.
  case goodbye
  /// The member was not heard any more.
  case silent
  /// There is no microphone, or it could not be opened.
  case noMicrophone = "no-microphone"
  /// There is no loudspeaker, or it could not be opened.
  case noSpeaker = "no-speaker"
  /// The sound server does not answer.
  case noSoundServer = "no-sound-server"
  /// The speech file cannot be read as sound.
  case badFile = "bad-file"
  /// Avahi does not answer; known members and hellos still work.
  case avahiDown = "avahi-down"
  /// It is switched off by an option.
  case switchedOff = "switched-off"
  /// A state file cannot be read or written.
  case stateFile = "state-file"
  /// The state was made on another machine, or our identity speaks from elsewhere.
  case copiedIdentity = "copied-identity"
  /// The node is stopping.
  case stopping
  /// Too many requests at once, or too many clients.
  case overload
  /// A fault of ours; the message says more.
  case fault

  /// One line of what it means, for `watch --help`.
  public var meaning: String { Self.meanings[self] ?? rawValue }

  private static let meanings: [Reason: String] = [
    .usage: "the request is wrong: the message says where",
    .noChannel: "there is no channel yet, or none is in use",
    .noSuchChannel: "there is no channel of that name",
    .channelExists: "there is a channel of that name already",
    .noSuchMember: "no member of that name, or several",
    .notAdmin: "only an admin of the channel may do it",
    .tooManyChannels: "as many channels as a node keeps are there",
    .badName: "the name is empty or has nothing visible",
    .badInvite: "the text is no invite, or a damaged one",
    .notAdmitted: "no member has admitted us yet",
    .alone: "no other member is here",
    .noAnswer: "members are here, but none answered",
    .minority: "the channel needs a majority of its members, and half or more are away",
    .busy: "somebody else has the floor",
    .queueFull: "as many as may wait for the floor do",
    .listenOnly: "the channel lets this member only listen",
    .classRefused: "the channel does not allow this member that class",
    .unheard: "nobody heard it",
    .partlyHeard: "some of those present did not hear it",
    .released: "the key was let go",
    .keyLost: "what held the key is gone or fell silent",
    .limit: "the talk limit was reached",
    .preempted: "a higher class took the floor",
    .overruled: "another holder's claim won",
    .holderLost: "the holder was not heard any more",
    .goodbye: "the member said goodbye",
    .silent: "the member was not heard any more",
    .noMicrophone: "there is no microphone, or it could not be opened",
    .noSpeaker: "there is no loudspeaker, or it could not be opened",
    .noSoundServer: "the sound server does not answer",
    .badFile: "the speech file cannot be read as sound",
    .avahiDown: "Avahi does not answer; known members and hellos still work",
    .switchedOff: "it is switched off by an option",
    .stateFile: "a state file cannot be read or written",
    .copiedIdentity: "the state was made elsewhere, or our identity speaks from elsewhere",
    .stopping: "the node is stopping",
    .overload: "too many requests at once, or too many clients",
    .fault: "a fault of Talkaround's own; the message says more",
  ]
}
