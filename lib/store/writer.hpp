// The one thread that writes to a store. What runs append while a commit is on its way to the disk
// is committed together with the next one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "os/serial_worker.hpp"
#include "store/backend.hpp"

namespace millrace::store {

struct WriterOptions {
  // How long progress waits for company; a batch that something waits for, and a lot of bytes, end
  // the wait for all.
  std::chrono::milliseconds window{10};
  std::size_t most_bytes = std::size_t{1} << 20U;
};

// Thread: any, but for the destructor.
// Lifetime: what was given before it ends is carried out; nothing may be given while it ends.
class Writer {
 public:
  // On the writer's thread, after the commit; short, as the next one waits for it.
  using Done = std::function<void(const AppendOutcome& outcome)>;
  using Work = std::function<void(StorageBackend& backend)>;

  explicit Writer(std::unique_ptr<StorageBackend> backend, WriterOptions options = {});
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Once a batch of a run was `full` or `failed`, those behind it are `fenced`, so that nothing is
  // missing in between, until one with the mark `is_resent` or of another epoch comes.
  void append(AppendBatch batch, Done done);
  // In its order with what is appended.
  void run(Work work);
  // Bytes that wait for their commit. A run whose model is faster than the disk pauses by it.
  [[nodiscard]] std::size_t backlog() const { return backlog_; }

 private:
  using Now = std::chrono::steady_clock;
  struct Item {
    AppendBatch batch;
    Done done;
    Work work;  // or this
  };

  std::chrono::milliseconds turn(bool is_closing);
  void carry_out(std::vector<Item> items);
  void commit(std::vector<Item>& items, std::size_t from, std::size_t to);
  bool is_broken(const AppendBatch& batch);

  std::unique_ptr<StorageBackend> backend_;
  WriterOptions options_;
  std::atomic<std::size_t> backlog_ = 0;
  std::set<std::pair<RunId, std::int64_t>> broken_;  // of the writer's thread

  std::mutex mutex_;
  std::vector<Item> queue_;
  std::size_t queued_bytes_ = 0;
  bool is_urgent_ = false;
  Now::time_point since_;

  os::SerialWorker worker_;  // last: its thread uses all of the above
};

}  // namespace millrace::store
