import Glibc
package import TalkCore

/// Writes records for the node's loop on a thread of its own, so that the loop never waits for the
/// disk; what is saved again before its turn is written once, with the newest content.
///
/// `save` and `remove` return a ticket. `completion` runs on the worker: every ticket for that file
/// up to and including the one it names is then on disk, or failed. It must not block for long and
/// must not call the writer.
@safe package final class StoreWriter: Sendable {
  /// Says how an operation on a file ended.
  package struct Completion: Equatable, Sendable {
    /// The file.
    package var file: StoreFile
    /// The highest ticket that this settles; lower ones of the same file are settled with it.
    package var ticket: UInt64
    /// What went wrong; nil when the record is on disk. The caller may save again later.
    package var error: StoreError?
  }

  private enum Job {
    case save(StoredRecord)
    case remove(ChannelID)
  }

  private let directory: StateDirectory
  private let completion: @Sendable (Completion) -> Void
  private nonisolated(unsafe) let shared: UnsafeMutablePointer<Shared>

  /// What loop and worker share, under `mutex`. At most one job a file, so its size is bounded by
  /// the files: four, and one a channel.
  @safe private struct Shared {
    var mutex = unsafe pthread_mutex_t()
    var changed = pthread_cond_t()
    var thread = pthread_t()
    var waiting: [(file: StoreFile, ticket: UInt64, job: Job)] = []
    var lastTicket: UInt64 = 0
    var isWriting = false
    var isClosing = false
  }

  /// Starts the worker.
  package init(
    directory: StateDirectory, completion: @escaping @Sendable (Completion) -> Void
  ) {
    self.directory = directory
    self.completion = completion
    unsafe shared = .allocate(capacity: 1)
    unsafe shared.initialize(to: Shared())
    unsafe pthread_mutex_init(&shared.pointee.mutex, nil)
    unsafe pthread_cond_init(&shared.pointee.changed, nil)
    let context = unsafe Unmanaged.passRetained(self).toOpaque()
    let failed = unsafe pthread_create(&shared.pointee.thread, nil, storeWriterMain, context)
    precondition(failed == 0, "no thread for the store: \(ErrorText.of(failed))")
  }

  deinit {
    unsafe pthread_cond_destroy(&shared.pointee.changed)
    unsafe pthread_mutex_destroy(&shared.pointee.mutex)
    unsafe shared.deinitialize(count: 1)
    unsafe shared.deallocate()
  }

  /// Hands a record over; returns its ticket. Never waits for the disk.
  @discardableResult
  package func save(_ record: StoredRecord) -> UInt64 { submit(record.file, .save(record)) }

  /// Hands the removal of a channel over; returns its ticket.
  @discardableResult
  package func remove(_ channel: ChannelID) -> UInt64 {
    submit(.channel(channel), .remove(channel))
  }

  /// Waits until all that was handed over is settled. Not for the loop.
  package func flush() {
    unsafe withMutex { shared in
      while unsafe !shared.pointee.waiting.isEmpty || shared.pointee.isWriting {
        unsafe pthread_cond_wait(&shared.pointee.changed, &shared.pointee.mutex)
      }
    }
  }

  /// Settles what was handed over and ends the worker; later jobs are dropped. Call it once the
  /// loop has ended.
  package func close() {
    let mustJoin = unsafe withMutex { shared in
      guard unsafe !shared.pointee.isClosing else { return false }
      unsafe shared.pointee.isClosing = true
      unsafe pthread_cond_broadcast(&shared.pointee.changed)
      return true
    }
    if mustJoin { unsafe pthread_join(shared.pointee.thread, nil) }
  }

  private func submit(_ file: StoreFile, _ job: Job) -> UInt64 {
    unsafe withMutex { shared in
      unsafe shared.pointee.lastTicket += 1
      let ticket = unsafe shared.pointee.lastTicket
      guard unsafe !shared.pointee.isClosing else { return ticket }
      let entry = (file, ticket, job)
      if let index = unsafe shared.pointee.waiting.firstIndex(where: { $0.file == file }) {
        unsafe shared.pointee.waiting[index] = entry
      } else {
        unsafe shared.pointee.waiting.append(entry)
      }
      unsafe pthread_cond_broadcast(&shared.pointee.changed)
      return ticket
    }
  }

  private func withMutex<Result>(
    _ body: (UnsafeMutablePointer<Shared>) -> Result
  ) -> Result {
    unsafe pthread_mutex_lock(&shared.pointee.mutex)
    defer { unsafe pthread_mutex_unlock(&shared.pointee.mutex) }
    return unsafe body(shared)
  }

  /// The worker: the oldest job at a time, until closed and empty.
  fileprivate func work() {
    while let next = next() {
      var result = Completion(file: next.file, ticket: next.ticket, error: nil)
      do throws(StoreError) {
        switch next.job {
        case .save(let record): try directory.write(record)
        case .remove(let channel): try directory.remove(channel)
        }
      } catch {
        result.error = error
      }
      completion(result)
      unsafe withMutex { shared in
        unsafe shared.pointee.isWriting = false
        unsafe pthread_cond_broadcast(&shared.pointee.changed)
      }
    }
  }

  private func next() -> (file: StoreFile, ticket: UInt64, job: Job)? {
    unsafe withMutex { shared in
      while unsafe shared.pointee.waiting.isEmpty {
        guard unsafe !shared.pointee.isClosing else { return nil }
        unsafe pthread_cond_wait(&shared.pointee.changed, &shared.pointee.mutex)
      }
      unsafe shared.pointee.isWriting = true
      return unsafe shared.pointee.waiting.removeFirst()
    }
  }
}

/// The thread's entry: takes over the reference that `init` retained.
private func storeWriterMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context = unsafe context else { return nil }
  unsafe Unmanaged<StoreWriter>.fromOpaque(context).takeRetainedValue().work()
  return nil
}
