// Hands what streams produce on one thread over to a reader on another: the border between the
// engine thread and a host's event loop.
//
// What a stream produced waits here until its reader asks. The reader is woken once, whatever
// number of streams have something for it, and takes everything in one visit. A stream whose
// reader is slow is told to pause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace millrace {

// Tells the reader's thread to call drain().
// Thread: any; it must not call the queue.
class Waker {
 public:
  virtual ~Waker() = default;
  virtual void wake() = 0;
  // The same, for what must not wait for others.
  virtual void wake_at_once() { wake(); }
  // Nor must the wake-up that was asked for.
  virtual void flush() {}
};

struct DrainLimits {
  // A stream pauses at this many bytes; one that was read empty may go on.
  std::size_t stream_bytes = std::size_t{128} << 10U;
  // With this many bytes of all streams together, a stream pauses at `floor_bytes` already, so
  // that a reader that keeps up never waits for one that does not.
  std::size_t total_bytes = std::size_t{64} << 20U;
  std::size_t floor_bytes = std::size_t{16} << 10U;
};

// Thread: push_head, allow, push, end, abort, reading and flush from the producing thread; everything
// else from the reader's.
// Lifetime: the waker outlives the queue.
class DrainQueue {
 public:
  using StreamId = std::uint64_t;

  // What was waiting of one stream, in this order.
  struct Batch {
    StreamId stream = 0;
    std::optional<std::string> head;  // what came before the data, once
    std::string data;
    std::optional<std::string> end;  // the last of the stream, which is forgotten with it
    bool was_paused = false;         // the producer waits to be resumed
    bool is_urgent = false;          // it was hurried
  };

  DrainQueue(Waker& waker, DrainLimits limits) : waker_(waker), limits_(limits) {}

  // Makes a stream known, with a reader that waits.
  void open(StreamId stream);

  // These ignore a stream that was dropped, as do abort and flush.
  void push_head(StreamId stream, std::string head);
  // How much one stream may hold before it pauses, in place of `stream_bytes`.
  void allow(StreamId stream, std::size_t bytes);
  // False when the producer shall pause until a batch with `was_paused` is taken, for which a
  // reader that waits is woken at once.
  [[nodiscard]] bool push(StreamId stream, std::string_view data);
  void end(StreamId stream, std::string end);
  // Ends a stream whose reader takes nothing: what waited is dropped, and the end is handed over to
  // a reader that does not wait, too.
  void abort(StreamId stream, std::string end);

  struct Reading {
    bool has_unread = false;
    std::uint64_t takes = 0;  // how often the reader got something
  };
  [[nodiscard]] Reading reading(StreamId stream) const;

  // Gives what is there, or nothing and notes that the reader waits.
  std::optional<Batch> take(StreamId stream);
  // Notes that the reader waits; what is there already comes with a drain, too.
  void want(StreamId stream);
  // Answers a wake-up: what is there for each reader that waits.
  std::vector<Batch> drain();
  // Answers a wake-up bit by bit: what is there for at most `limit` readers that wait. The next
  // wake-up comes only after rest().
  std::vector<Batch> drain(std::size_t limit);
  // How many streams a wake-up is to be answered for. There may be fewer, since some may have been
  // dropped.
  [[nodiscard]] std::size_t due() const;
  // What a stream has, or is the next to have where it has nothing, is what a person waits for: it
  // comes before what others have, and at once. A drain that gives such has nothing else.
  void flush(StreamId stream);
  // The reader has answered the wake-up. What it left, or what came meanwhile, is worth another.
  void rest();
  // Forgets a stream and what it holds.
  void drop(StreamId stream);

  // A stream whose reader always waits does not keep the host alive while it is quiet.
  void set_quiet(StreamId stream, bool is_quiet);
  // Readers that wait; while there is one, the host must stay alive.
  [[nodiscard]] std::size_t waiting() const;
  [[nodiscard]] std::size_t buffered_bytes() const;

 private:
  struct Stream {
    std::optional<std::string> head;
    std::string data;
    std::optional<std::string> end;
    std::size_t limit = 0;  // in place of stream_bytes, where there is one
    std::uint64_t takes = 0;
    bool reader_waits = false;
    bool is_quiet = false;
    bool paused = false;
    bool is_ready = false;  // listed in ready_ or urgent_
    bool is_urgent = false;

    [[nodiscard]] bool has_something() const { return head || end || !data.empty(); }
  };
  using Streams = std::unordered_map<StreamId, Stream>;

  // What the waker is to be told, once the lock is given back.
  struct WakeRequest {
    bool wakes = false;
    bool flushes = false;
  };
  // Notes that the reader waits; false where that is known.
  bool await(Stream& stream);
  void unawait(Stream& stream);
  // Lists a stream for the next drain.
  WakeRequest offer(StreamId id, Stream& stream);
  void report(WakeRequest wake_request);
  Batch collect(Streams::iterator at);
  void collect_ready(std::deque<StreamId>& from, std::vector<Batch>& batches, std::size_t limit);

  Waker& waker_;
  const DrainLimits limits_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  Streams streams_;
  // Streams with something for a reader that waits. One that was hurried may be listed in both.
  std::deque<StreamId> ready_;
  std::deque<StreamId> urgent_;
  std::size_t waiting_ = 0;
  std::size_t buffered_bytes_ = 0;
  bool wake_pending_ = false;
};

}  // namespace millrace
