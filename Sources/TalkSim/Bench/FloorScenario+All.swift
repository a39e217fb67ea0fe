import TalkCore
import TalkWire

extension FloorScenario {
  /// Every row, in the order of the table.
  package static let all: [FloorScenario] =
    [
      crowd("no loss", loss: 0, p99: 25, overlap: 0, more: [.framesLost(0)], speed: true),
      crowd("1 % loss, glare", loss: 0.01, p99: 25, overlap: 0),
      crowd("5 % loss, glare", loss: 0.05, p99: 50, overlap: 0),
      crowd("10 % loss, glare", loss: 0.10, p99: 50, overlap: 0),
      crowd("30 % loss, glare", loss: 0.30, p99: nil, overlap: 60), outages, crashes, partition,
    ]
    + [
      emergency, hungHolder, deafHolder, lateEntry, lostKeyEdge, keeperDead, handOver(loss: 0),
      handOver(loss: 0.05),
    ]

  // MARK: Crowds

  private static func crowd(
    _ name: String, loss: Double, p99: Double?, overlap: Double, more: [FloorTarget] = [],
    speed: Bool = false
  ) -> FloorScenario {
    let access = p99.map { [FloorTarget.accessP50(5), .accessP99($0)] } ?? []
    let handOver = loss <= 0.05 ? [FloorTarget.handOverP99(25)] : []
    return FloorScenario(
      name: name,
      note: "presses of 4.69 s on average, three in ten interrupted, two in ten in a glare",
      targets: access + handOver + [.overlap(overlap)] + more, network: lan(loss: loss),
      script: { count, rounds, generator in
        var writer = ScriptWriter(nodes: count)
        for _ in 0..<rounds { addCrowd(to: &writer, &generator) }
        return writer.script()
      }, isForSpeed: speed)
  }

  /// One press, perhaps with others at the same moment or while it lasts.
  private static func addCrowd(to writer: inout ScriptWriter, _ generator: inout SeededGenerator) {
    let people = generator.nodes(4, of: writer.nodes)
    let talk = generator.talk()
    var length = talk
    writer.press(people[0], talk: talk)
    if generator.chance(0.2) {
      for person in people[1...generator.nodes(1, of: 2)[0] + 1] {
        let other = generator.talk()
        writer.press(person, talk: other, after: generator.milliseconds(0...10))
        length += other
      }
    }
    if generator.chance(0.3) {
      let other = generator.talk()
      writer.press(people[3], talk: other, after: talk * generator.fraction())
      length += other
    }
    writer.time += length + .milliseconds(500) + generator.milliseconds(0...1_000)
  }

  private static let outages = FloorScenario(
    name: "0.3 s outages", note: "every second or so one node loses all links for 0.3 s",
    targets: [.accessP50(5), .overlap(60)], network: lan(),
    script: { count, rounds, generator in
      var writer = ScriptWriter(nodes: count)
      for _ in 0..<rounds {
        let from = writer.time
        addCrowd(to: &writer, &generator)
        let next = writer.time
        writer.time = from
        while writer.time < next {
          let node = generator.nodes(1, of: count)[0]
          writer.add(.outage(node: node, length: .milliseconds(300)))
          writer.time += generator.milliseconds(500...1_500)
        }
        writer.time = next
      }
      return writer.script()
    })

  // MARK: Faults

  private static let crashes = FloorScenario(
    name: "talker crashes", note: "the talker dies; every second time somebody waits behind it",
    targets: [.crashToFree(300), .crashToNext(400), .overlap(0)], network: lan(),
    script: { count, rounds, generator in
      var writer = ScriptWriter(nodes: count)
      for round in 0..<rounds {
        let people = generator.nodes(3, of: count)
        let death = generator.milliseconds(1_000...2_000)
        writer.press(people[0], talk: .seconds(10))
        if round % 2 == 0 {
          writer.press(people[1], talk: .milliseconds(1_500), after: .milliseconds(500))
        } else {
          let pause = generator.milliseconds(50...3_000)
          writer.press(people[2], talk: .milliseconds(1_500), after: death + pause)
        }
        writer.add(.crash(node: people[0], down: .seconds(3)), after: death)
        writer.time += .seconds(12)
      }
      return writer.script()
    })

  private static let partition = FloorScenario(
    name: "after a partition", note: "both halves talk when they meet again",
    targets: [.overlap(60)], network: lan(),
    script: { count, rounds, generator in
      var writer = ScriptWriter(nodes: count)
      for _ in 0..<rounds {
        let order = generator.nodes(count, of: count)
        let half = order[..<(count / 2)]
        let mask = half.reduce(UInt64(0)) { $0 | 1 << UInt64($1) }
        writer.add(.partition(mask, length: .seconds(3)))
        writer.press(order[0], talk: .seconds(6), after: generator.milliseconds(300...800))
        writer.press(
          order[count - 1], talk: .seconds(6), after: generator.milliseconds(300...800))
        writer.press(order[1], talk: .seconds(1), after: .seconds(12))
        writer.time += .seconds(16)
      }
      return writer.script()
    })

  private static let keeperDead = FloorScenario(
    name: "keeper dead", note: "the last talker dies while nobody talks; then somebody presses",
    targets: [.accessP99(130)], network: lan(),
    script: { count, rounds, generator in
      var writer = ScriptWriter(nodes: count)
      for _ in 0..<rounds {
        let people = generator.nodes(2, of: count)
        writer.press(people[0], talk: .milliseconds(500))
        writer.add(.crash(node: people[0], down: .seconds(4)), after: .milliseconds(1_500))
        writer.press(
          people[1], talk: .milliseconds(500), after: generator.milliseconds(1_550...3_500))
        writer.time += .seconds(8)
      }
      return writer.script()
    })

  // MARK: Emergencies

  private static func emergency(
    _ name: String, _ note: String, limit: FloorTarget, loss: Double,
    fault: @escaping @Sendable (_ holder: Int, inout ScriptWriter) -> Void
  ) -> FloorScenario {
    FloorScenario(
      name: name, note: note, targets: [limit], network: lan(loss: loss),
      script: { count, rounds, generator in
        var writer = ScriptWriter(nodes: count)
        for _ in 0..<rounds {
          let people = generator.nodes(2, of: count)
          writer.press(people[0], talk: .seconds(5))
          writer.time += generator.milliseconds(1_000...2_000)
          fault(people[0], &writer)
          writer.press(
            people[1], .emergency, talk: .seconds(1), after: generator.milliseconds(1...80))
          writer.time += .seconds(10)
        }
        return writer.script()
      })
  }

  private static let emergency = emergency(
    "emergency over a normal talker", "1 % loss", limit: .preemptionP99(25), loss: 0.01,
    fault: { _, _ in })

  private static let hungHolder = emergency(
    "emergency over a hung holder", "the talker's loop has just stood still",
    limit: .preemptionP99(60), loss: 0,
    fault: { holder, writer in writer.add(.stall(node: holder, length: .seconds(2))) })

  private static let deafHolder = emergency(
    "emergency over a deaf holder", "the talker goes on talking and hears nobody",
    limit: .preemptionP99(60), loss: 0,
    fault: { holder, writer in writer.add(.fade(node: holder, length: .seconds(2))) })

  // MARK: Single matters

  /// Bursts of a second, one after the other, for control traffic at any number of nodes.
  static let plainBursts = FloorScenario(
    name: "plain bursts", note: "one second each, nobody contends", targets: [], network: lan(),
    script: { count, rounds, generator in
      var writer = ScriptWriter(nodes: count)
      for _ in 0..<rounds {
        writer.press(generator.nodes(1, of: count)[0], talk: .seconds(1))
        writer.time += .milliseconds(1_500)
      }
      return writer.script()
    })

  private static let lateEntry = FloorScenario(
    name: "late entry",
    note: "a node comes up while somebody talks; from its session with the talker",
    targets: [.lateEntryP99(60)], network: lan(loss: 0.01),
    script: { count, rounds, generator in
      var writer = ScriptWriter(nodes: count)
      for _ in 0..<rounds {
        let people = generator.nodes(2, of: count)
        writer.add(.crash(node: people[1], down: .seconds(2)))
        writer.press(people[0], talk: .seconds(5), after: .milliseconds(1_500))
        writer.time += .seconds(8) + generator.milliseconds(0...20)
      }
      return writer.script()
    })

  private static let lostKeyEdge = FloorScenario(
    name: "lost key edge",
    note: "a third of edges and levels is lost; both machines behind our key level",
    targets: [.release(500)], network: lan().with { $0.lostEdges = 0.3 },
    script: { count, rounds, generator in
      var writer = ScriptWriter(nodes: count)
      for _ in 0..<rounds {
        let person = generator.nodes(1, of: count)[0]
        writer.press(person, talk: generator.milliseconds(500...1_500))
        writer.time += .seconds(4)
      }
      return writer.script()
    })

  private static func handOver(loss: Double) -> FloorScenario {
    FloorScenario(
      name: "queued hand-over, \(loss == 0 ? "no" : "5 %") loss",
      note: "two wait behind the talker", targets: [.handOverP99(25)], network: lan(loss: loss),
      script: { count, rounds, generator in
        var writer = ScriptWriter(nodes: count)
        for _ in 0..<rounds {
          let people = generator.nodes(3, of: count)
          for person in people {
            let talk = generator.milliseconds(1_500...2_500)
            writer.press(person, talk: talk, after: generator.milliseconds(0...1_000))
          }
          writer.time += .seconds(10)
        }
        return writer.script()
      })
  }
}
