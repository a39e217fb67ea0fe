import TalkCore

/// What goes wrong in a run, and how people use it: a row of the table of fault mixes.
///
/// Rates of faults are per minute of the whole mesh; parts are 0 to 1.
package struct FaultMix: Sendable {
  /// The name on the command line.
  package var name: String
  /// What it is, in a few words.
  package var note: String
  /// How many nodes a run has, drawn evenly.
  package var nodes = 2...8
  /// The least delay of a datagram, drawn per link from this range.
  package var delay = Duration.microseconds(200)...(.milliseconds(3))
  /// Up to this much more per datagram.
  package var jitter = Duration.zero
  /// True when a link keeps the order of its datagrams in spite of the jitter.
  package var keepsOrder = false
  /// Independent loss.
  package var loss = 0.0
  /// The chance that a datagram is the first of a bad stretch in which all are lost; 0 for none.
  package var fadeStart = 0.0
  /// The chance that a datagram in a bad stretch is its last.
  package var fadeEnd = 0.3
  /// The part that comes twice.
  package var duplicates = 0.0
  /// Bits per second of a link; 0 for no limit.
  package var rate = 0
  /// Pairs that never reach each other, as a part of all.
  package var hidden = 0.0
  /// Cuts of one direction, for 0.1 to 3 s.
  package var oneWays = 0.0
  /// All of a node's links cut for 0.3 s.
  package var outages = 0.0
  /// All ways to a node cut for 60 ms to 2 s.
  package var fades = 0.0
  /// Partitions for 0.2 to 8 s.
  package var partitions = 0.0
  /// Crashes, half of them of the talker, down for 0.2 to 8 s.
  package var crashes = 0.0
  /// Stalls of a node's loop, for 50 ms to 2 s.
  package var stalls = 0.0
  /// Suspended machines, for 1 to 15 s.
  package var suspends = 0.0
  /// The most that a clock is off, in parts per million.
  package var drift = 0
  /// The part of key edges and assertions that is lost.
  package var lostEdges = 0.0
  /// How many nodes lie.
  package var liars = 0
  /// The chance that a press finds others pressing during it.
  package var contention = 0.3
  /// The chance that others press within 30 ms of a press.
  package var glare = 0.05
  /// The part of presses that are taps of 30 to 300 ms.
  package var taps = 0.1
  /// The part of presses of a class above normal.
  package var classes = 0.0
  /// The part of presses meant to run into the talk limit.
  package var marathons = 0.0
  /// The part of members whom the roster refuses classes or speech.
  package var restricted = 0.0
  /// The longest that a reserve of turns takes to reach the disk.
  package var persistDelay = Duration.milliseconds(5)
  /// The part of nodes whose disk fails once.
  package var failingDisks = 0.0

  /// A mix without faults; change it with `with`.
  package init(_ name: String, _ note: String) {
    self.name = name
    self.note = note
  }

  /// This mix, changed.
  package func with(_ change: (inout FaultMix) -> Void) -> FaultMix {
    var mix = self
    change(&mix)
    return mix
  }

  /// The longest that a datagram takes where no rate is limited.
  package var longestDelay: Duration { delay.upperBound + jitter }

  /// True when every datagram arrives.
  package var isLossless: Bool {
    loss == 0 && fadeStart == 0 && rate == 0 && hasNoCuts
  }

  /// True when every link is whole all the time.
  package var hasNoCuts: Bool {
    hidden == 0 && oneWays == 0 && outages == 0 && fades == 0 && partitions == 0
  }

  /// True when every node runs all the time.
  package var hasNoNodeFaults: Bool { crashes == 0 && stalls == 0 && suspends == 0 }

  /// True when nothing is reordered on its way.
  package var isOrdered: Bool {
    (jitter == .zero || keepsOrder) && duplicates == 0
  }
}

extension FaultMix {
  /// Every mix, in the order of the table in the article.
  package static let all: [FaultMix] = simple + faulty + [everything]

  /// The mix of that name.
  package static func named(_ name: String) -> FaultMix? { all.first { $0.name == name } }

  private static let simple: [FaultMix] = [
    FaultMix("clean", "a quiet LAN"),
    FaultMix("even", "the same delay on every link").with {
      $0.delay = .milliseconds(1)...(.milliseconds(1))
    },
    FaultMix("jitter", "up to 15 ms of jitter, reordering and duplicates").with {
      $0.jitter = .milliseconds(15)
      $0.duplicates = 0.05
    },
    FaultMix("loss1", "1 % loss").with { $0.loss = 0.01 },
    FaultMix("loss5", "5 % loss, jitter").with {
      $0.loss = 0.05
      $0.jitter = .milliseconds(10)
    },
    FaultMix("loss10", "10 % loss, jitter").with {
      $0.loss = 0.10
      $0.jitter = .milliseconds(10)
      $0.duplicates = 0.02
    },
    FaultMix("loss30", "30 % loss, much jitter").with {
      $0.loss = 0.30
      $0.jitter = .milliseconds(40)
      $0.duplicates = 0.05
    },
    FaultMix("gilbert", "loss in stretches: about 8 % in runs of 3").with {
      $0.fadeStart = 0.03
      $0.fadeEnd = 0.33
      $0.jitter = .milliseconds(5)
    },
    FaultMix("slow", "links of 64 kbit/s").with {
      $0.rate = 64_000
      $0.nodes = 2...5
    },
    FaultMix("glare", "many press at once, all the time").with {
      $0.glare = 0.7
      $0.contention = 0.6
      $0.taps = 0.3
      $0.jitter = .milliseconds(3)
    },
    FaultMix("saturated", "everyone always wants to talk").with {
      $0.contention = 1
      $0.glare = 0.5
      $0.taps = 0
    },
    FaultMix("classes", "priority, imminent peril, emergency").with {
      $0.classes = 0.4
      $0.contention = 0.7
      $0.restricted = 0.2
    },
    FaultMix("limit", "talkers who never stop by themselves").with {
      $0.marathons = 0.2
      $0.contention = 0.5
    },
  ]

  private static let faulty: [FaultMix] = [
    FaultMix("outages", "0.3 s without any link of a node").with { $0.outages = 12 },
    FaultMix("fades", "a listener's downlink fades").with {
      $0.fades = 12
      $0.nodes = 3...8
      $0.contention = 0.7
    },
    FaultMix("hidden", "pairs that never reach each other").with {
      $0.hidden = 0.25
      $0.nodes = 3...8
    },
    FaultMix("oneway", "one direction of a pair cut").with { $0.oneWays = 20 },
    FaultMix("partitions", "the mesh falls apart and heals").with {
      $0.partitions = 6
      $0.nodes = 3...8
    },
    FaultMix("crashes", "nodes die and come back").with {
      $0.crashes = 8
      $0.contention = 0.6
      $0.persistDelay = .milliseconds(300)
      $0.failingDisks = 0.1
    },
    FaultMix("stalls", "loops stand still, machines are suspended").with {
      $0.stalls = 12
      $0.suspends = 2
    },
    FaultMix("drift", "clocks are off by up to 200 ppm").with {
      $0.drift = 200
      $0.jitter = .milliseconds(5)
    },
    FaultMix("keys", "key edges are lost").with { $0.lostEdges = 0.3 },
    FaultMix("liars", "one member lies").with {
      $0.liars = 1
      $0.nodes = 3...8
      $0.restricted = 0.3
      $0.classes = 0.1
    },
  ]

  private static let everything = FaultMix("everything", "all of it at once").with {
    $0.jitter = .milliseconds(20)
    $0.loss = 0.05
    $0.fadeStart = 0.005
    $0.duplicates = 0.03
    $0.hidden = 0.05
    $0.oneWays = 3
    $0.outages = 3
    $0.fades = 3
    $0.partitions = 2
    $0.crashes = 3
    $0.stalls = 4
    $0.suspends = 0.5
    $0.drift = 200
    $0.lostEdges = 0.1
    $0.liars = 1
    $0.nodes = 3...10
    $0.contention = 0.6
    $0.glare = 0.2
    $0.classes = 0.2
    $0.marathons = 0.01
    $0.restricted = 0.2
    $0.persistDelay = .milliseconds(300)
    $0.failingDisks = 0.1
  }
}
