import CTestSupport
import Glibc
import TalkNet
import Testing

/// True where tests may make network namespaces.
let isRoot = geteuid() == 0
let rootReason: Comment = "needs root, to make a network namespace of its own"

/// Runs `body` on a thread in a network namespace of its own, where only loopback is up, and
/// returns what it returns.
func inPrivateNetwork<Value: Sendable>(
  _ body: @escaping @Sendable () throws -> Value
) throws -> Value {
  let box = Box<Result<Value, any Error>>()
  let thread = try NodeThread(name: "private-net") {
    box.value = Result {
      guard test_enter_new_network() == 0 else {
        throw NetError.system(call: "unshare", code: errno)
      }
      return try body()
    }
  }
  thread.join()
  return try box.value!.get()
}

/// Carries a value out of a thread that is joined before it is read.
final class Box<Value>: @unchecked Sendable {
  var value: Value?
}

/// Runs ip(8) in the namespace of the calling thread.
func ip(_ arguments: String) throws {
  guard system("ip " + arguments) == 0 else {
    throw NetError.system(call: "ip \(arguments)", code: 0)
  }
}
