/// Everything that the doctor has found out, as plain values: gathered by `DoctorGatherer`, judged
/// by `DoctorJudge`, which sees nothing else. So each verdict is tested with facts that a test
/// writes.
package struct DoctorFacts: Hashable, Sendable {
  /// The program and the machine.
  package var program = Program()
  /// The wall clock.
  package var clock = Clock()
  /// The state directory.
  package var state = State()
  /// The node of that state.
  package var node = Node.none
  /// Who has UDP ports of ours.
  package var ports: [PortUse] = []
  /// The system bus.
  package var bus = Bus.answering
  /// The daemon of mDNS.
  package var avahi = Avahi()
  /// Interfaces and the way out.
  package var network = Network()
  /// What was sent and heard.
  package var air = Air()
  /// The sound server and its devices.
  package var sound = Sound()
  /// How the node is started.
  package var login = Login()
  /// The channels, as the state directory has them.
  package var channels: [Channel] = []
  /// The member that `--with` names.
  package var wanted: String?

  /// The facts before anything was looked at.
  package init() {}

  /// The program and the machine.
  package struct Program: Hashable, Sendable {
    /// Our version.
    package var version = TalkaroundVersion.text
    /// The system's name, such as "Debian GNU/Linux 12 (bookworm), Linux 6.1.0".
    package var system = "Linux"
  }

  /// The wall clock, in seconds since 1970.
  package struct Clock: Hashable, Sendable {
    /// What it says.
    package var now = 0
    /// When the newest file that we know of was written: the program's own, or one of state.
    package var newestFile = 0
    /// That file.
    package var newestPath = ""
  }

  /// The state directory.
  package struct State: Hashable, Sendable {
    /// Something that is wrong in it.
    package struct Fault: Hashable, Sendable {
      /// What, beginning with the file.
      package var what: String
      /// What to do.
      package var cure: String
      /// The file or folder that others may use, if that is the fault.
      package var loosePath: String?
      /// True when a node can do without the file.
      package var isCache = false
    }

    /// Where it is; empty when neither HOME nor --state says so.
    package var path = ""
    /// True when it is there.
    package var isThere = true
    /// What is wrong with it.
    package var faults: [Fault] = []
    /// Free bytes; nil when the system does not say.
    package var freeBytes: UInt64?
    /// True when no file can be made: no inode is left.
    package var hasNoFilesLeft = false
    /// True when the file system is mounted read-only.
    package var isReadOnly = false
    /// True when we may make files in it, or make the folder itself.
    package var isWritable = true
    /// Our name, as the identity file has it; nil before the first start.
    package var nickname: String?
    /// True when the identity was made on another machine.
    package var isElsewhere = false
    /// The process that has the lock.
    package var lockHolder: Int32?
  }

  /// The node of the state directory, as its control socket shows it.
  package enum Node: Hashable, Sendable {
    /// None runs.
    case none
    /// It answers.
    case answers(StatusReport)
    /// It takes connections and does not answer.
    case silent
    /// Its answer is of another version.
    case other
    /// The socket cannot be used: what is wrong, and the cure.
    case unusable(String, cure: String)

    /// What it says of itself, if it answers.
    package var status: StatusReport? {
      if case .answers(let status) = self { return status }
      return nil
    }
  }

  /// A UDP port of ours that somebody has.
  package struct PortUse: Hashable, Sendable {
    /// The port.
    package var port: UInt16
    /// Who; nil when the system does not let us see it.
    package var process: Int32?
    /// The program's name; empty when it can't be seen.
    package var program = ""
    /// True for a node of ours.
    package var isNode = false
  }

  /// The system bus.
  package enum Bus: Hashable, Sendable {
    /// It answers.
    case answering
    /// There is no socket at this path, or nobody listens there.
    case absent(String)
    /// It takes connections and does not answer.
    case silent(String)
    /// We may not connect.
    case denied(String)
  }

  /// The daemon of mDNS.
  package struct Avahi: Hashable, Sendable {
    /// What it does.
    package enum Daemon: Hashable, Sendable {
      /// It answers.
      case running
      /// It is about to agree on its host's name.
      case settling
      /// It is not on the bus.
      case absent
      /// It does not answer.
      case silent
    }

    /// What it does.
    package var daemon = Daemon.running
    /// True when it is installed.
    package var isInstalled = true
    /// Nodes of others that it shows, of whatever channel.
    package var services = 0
    /// Those of them that announce a channel of ours, by address.
    package var members: [String] = []
  }
}
