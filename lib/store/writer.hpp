// The one thread that writes to a store, and the one that reads from it meanwhile. What runs append
// while a commit is on its way to the disk is committed together with the next one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "os/serial_worker.hpp"
#include "store/backend.hpp"

namespace millrace::store {

struct WriterOptions {
  // The least time between the beginnings of two commits of mere progress; a batch that something
  // waits for, and a lot of bytes, end the wait for all. The first text of one run behind what it
  // waited for, as the first piece of an answer behind its request, does not wait while there is no
  // more. A call of a tool waits that long itself, however old the last commit is: the one that
  // lets the call begin is near.
  std::chrono::milliseconds window{10};
  std::size_t most_bytes = std::size_t{1} << 20U;
  // Behind a commit with text of so many runs, what something waits for and mere progress are
  // committed only so much later: runs that begin and end among many streams would have all of them
  // committed with each, and a commit of a thousand streams writes much beside their texts. The
  // last row that applies counts; their numbers rise.
  struct Crowd {
    std::size_t runs = 0;
    std::chrono::milliseconds urgent_window{};
    std::chrono::milliseconds window{};
  };
  std::vector<Crowd> crowds{{64, std::chrono::milliseconds(5), std::chrono::milliseconds(10)},
                            {256, std::chrono::milliseconds(20), std::chrono::milliseconds(20)}};
};

// Thread: any.
// Lifetime: what was given before it ends is carried out, and the destructor waits for that, unless
// it is called on a thread of the store itself; nothing may be given while it ends.
class Writer {
 public:
  // On the writer's thread, after the commit; short, as the next one waits for it.
  using Done = std::function<void(const AppendOutcome& outcome)>;
  using Work = std::function<void(StorageBackend& backend)>;
  // Gets the time of the store.
  using MakeThread = std::function<ThreadRow(std::int64_t now)>;
  using ThreadDone = std::function<void(const Result<void>& stored)>;

  explicit Writer(std::unique_ptr<StorageBackend> backend, WriterOptions options = {});
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Once a batch of a run was `full` or `failed`, those behind it are `fenced`, so that nothing is
  // missing in between, until one with the mark `is_resent` or of another epoch comes.
  void append(AppendBatch batch, Done done);
  // In its order with what is appended.
  void run(Work work);
  // Stores a thread that nobody knows yet, in one commit with the others that wait, before what
  // else does. Both are called on the writer's thread.
  void put_thread(MakeThread make, ThreadDone done);
  // Work that changes nothing and waits for no commit: it sees what was done when it was given, and
  // may see more. What it sees is of one moment.
  // Thread: `work` is called on a thread of its own, where the backend has a reader.
  void read(Work work);
  // Bytes that wait for their commit. A run whose model is faster than the disk pauses by it.
  [[nodiscard]] std::size_t backlog() const;
  // Calls `call` once the backlog is at most so large: at once, or after a commit on the writer's
  // thread. A run that pauses by the backlog goes on by this: its own commits may all be over.
  void when_below(std::size_t backlog, std::function<void()> call);

 private:
  struct Core;

  // Its threads hold it too: the last user of a store may be work on one of them.
  std::shared_ptr<Core> core_;
  std::optional<os::SerialWorker> reading_;
  os::SerialWorker worker_;
};

}  // namespace millrace::store
