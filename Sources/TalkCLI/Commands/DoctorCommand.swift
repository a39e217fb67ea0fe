import FoundationEssentials
import Glibc
import TalkKit

/// `talkaround doctor`.
enum DoctorCommand {
  static let command = Command(
    "doctor",
    options: [
      Option("--fix", help: "mend what is safe to mend, and say each thing"),
      Option("--with", "PEER", help: "look at one member: its name, or first digits of its id"),
      Option("--report", "FILE", help: "write all of it to FILE too, to send to whoever helps"),
      ChannelCommands.json,
    ],
    summary: "check everything that talking needs, and name the cure",
    notes: [
      "A line for each check, what failed last with its cure. It needs no node and no channel, and",
      "disturbs none. Exit codes: 0 nothing failed; 69 something did.",
      "--fix mends modes of state files, starts avahi-daemon where it may, and unmutes; it asks",
      "nothing.",
      "A report holds no secrets and no invites; names, addresses and versions are in it.",
    ]
  ) { invocation, context throws(CommandError) in
    if let peer = invocation.value("--with"), peer.isEmpty {
      throw .usage("--with needs a member's name, or the first digits of its id")
    }
    let file = invocation.value("--report")
    if let file { try DoctorReportFile.check(file) }
    let doctor = Doctor(
      state: invocation.state,
      environment: ProcessInfo.processInfo.environment.merging(context.environment) { $1 },
      peer: invocation.value("--with"))
    let tellsProgress = isatty(context.error) == 1
    let examination = doctor.examine(fixing: invocation.has("--fix")) { words in
      if tellsProgress { context.tell("… \(words)") }
    }
    let report = examination.report
    if invocation.has("--json") {
      context.put(JSONLine.encode(report) + [UInt8(ascii: "\n")])
    } else {
      for line in DoctorText.lines(report) { context.print(line) }
    }
    if let file {
      let replaced = try DoctorReportFile.write(examination, to: file)
      context.tell("\(replaced ? "replaced the report" : "wrote the report to") \(file)")
    }
    return report.failed > 0 ? ExitCode.unavailable : ExitCode.ok
  }
}
