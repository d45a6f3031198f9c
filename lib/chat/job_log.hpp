// The log of a job as a projection of the records of its run.
//
// The same records give the same events with the same numbers, whenever and in whatever pieces they
// are read: nothing but a record's own time and content decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_tree.hpp"
#include "chat/job_event.hpp"
#include "journal/record.hpp"

namespace millrace::chat {

// Thread: any, one at a time.
class JobLog {
 public:
  static constexpr std::size_t all_events = std::numeric_limits<std::size_t>::max();

  explicit JobLog(JobOptions options);
  ~JobLog();
  JobLog(JobLog&& other) noexcept;
  JobLog& operator=(JobLog&& other) noexcept;

  // The records of the root run in their order, each once.
  void take(const journal::Record& record);
  // Ends the log of a run whose further records cannot be read, with an event that no record has.
  struct Unread {
    journal::RunState state = journal::RunState::failed;  // cancelled, or failed with the reason
    std::string_view reason;
    std::int64_t created_ms = 0;
    std::int64_t ended_ms = 0;
  };
  void end_unread(const Unread& unread);

  // The events behind a number, without deltas, `most` at most.
  [[nodiscard]] std::vector<JobEvent> events_after(std::uint64_t seq,
                                                   std::size_t most = all_events) const;
  // The same with deltas, behind a place that may be a delta's.
  [[nodiscard]] std::vector<JobEvent> events_after(Cursor cursor,
                                                   std::size_t most = all_events) const;
  [[nodiscard]] std::uint64_t last_seq() const;
  [[nodiscard]] Cursor last_cursor() const;
  // The number of the oldest event that is still here; 0 when there is none.
  [[nodiscard]] std::uint64_t first_seq() const;
  // The event `gap` for a reader whose place is older than the log, to be sent first.
  // Shape of its payload: {job_id, conversation_id, after, first_seq}.
  [[nodiscard]] std::optional<JobEvent> gap_after(std::uint64_t seq) const;

  // Stages that still last, as events that are not in the log: of the job, then of its agents.
  // Their place is the last one that a reader of the events, or of their deltas too, has got. None
  // once the job is over, and none that `events_after(seq)` has.
  [[nodiscard]] std::vector<JobEvent> live(std::int64_t now_ms, std::uint64_t seq,
                                           bool has_deltas = false) const;
  // Shape: contract B.3, with `first_seq`; `waiting_input` is what the user is to decide.
  [[nodiscard]] json::Tree snapshot(std::int64_t now_ms) const;

  // It waits for its turn.
  [[nodiscard]] bool is_queued() const;
  // What its events take in memory.
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] const std::vector<Output>& outputs() const;
  [[nodiscard]] std::vector<std::string> messages() const;
  // The messages joined by blank lines.
  [[nodiscard]] std::string reply() const;
  // Those that it has not taken yet, as conversations have them. None once it is over.
  [[nodiscard]] const json::Tree::Items& sent_messages() const;
  // The messages that the run took while it worked, with the numbers of their events.
  struct TakenMessage {
    std::string id;
    std::uint64_t seq = 0;
  };
  [[nodiscard]] std::vector<TakenMessage> taken_messages() const;
  // The ids of all messages that it got while it worked or waited.
  [[nodiscard]] std::vector<std::string> message_ids() const;
  // The block of the answer in the history (call_tree.hpp), of the events that `shows` chooses;
  // null where they are none.
  [[nodiscard]] json::Tree history_block(
      const std::function<bool(std::uint64_t seq)>& shows = {}) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace millrace::chat
