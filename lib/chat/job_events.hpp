// The list of a job's events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"
#include "chat/job_event.hpp"

namespace millrace::chat {

// What a list may hold; 0 is no limit.
struct EventLimits {
  std::size_t events = 0;  // that are no deltas
  std::size_t bytes = 0;   // of their JSON and of the deltas' texts
};

// Numbers what is appended: events from 1 without gaps, deltas within the event before them. Beyond
// its bytes it drops the deltas of events before the last one, whose messages have the same text,
// and then the oldest events.
class JobEvents {
 public:
  explicit JobEvents(const EventLimits& limits) : limits_(limits) {}

  void add(std::string_view event, json::Tree payload, std::int64_t at_ms);
  // What is stored of a delta is its text; its payload is made when it is read.
  void add_delta(std::string_view event, const json::Tree& members, std::string_view text,
                 std::int64_t at_ms);

  // `common` is what all payloads of deltas have. `most` events are made at most: a reader that
  // takes no more pays for no more.
  [[nodiscard]] std::vector<JobEvent> after(
      Cursor cursor, bool with_deltas, const json::Tree& common,
      std::size_t most = std::numeric_limits<std::size_t>::max()) const;
  [[nodiscard]] std::uint64_t last() const { return last_; }
  [[nodiscard]] Cursor last_cursor() const { return {last_, part_}; }
  [[nodiscard]] std::uint64_t first() const;
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    JobEvent event;
    std::string text;  // of a delta
    std::size_t bytes = 0;
  };
  void trim();
  void trim_bytes();
  void drop_front();

  std::deque<Entry> entries_;
  EventLimits limits_;
  std::size_t plain_ = 0;  // events that are no deltas
  std::size_t bytes_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t part_ = 0;
};

}  // namespace millrace::chat
