// The records of a run -> the bytes of LobeHub's agent stream, from any event on. What is behind an
// event is the same bytes whenever and from wherever it is read: its `id:` line names its record
// and its place among that record's events.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "encoder/lobe_operation.hpp"

namespace millrace::encoder {

// The place of an event. One without a part stands behind all events of its record.
struct LobeCursor {
  static constexpr std::uint32_t all = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t seq = 0;
  std::uint32_t part = all;
  std::int64_t at_ms = 0;  // the timestamp of the event; 0 where its record is named

  [[nodiscard]] bool is_before(const OperationEvent& event) const {
    if (event.at_ms <= at_ms) return false;
    return seq == event.seq ? part < event.part : seq < event.seq;
  }
  // The place that is behind this one and the other one.
  [[nodiscard]] LobeCursor or_later(const LobeCursor& other) const;
  bool operator==(const LobeCursor&) const = default;
};

// Reads "12-3", "12", the timestamp of an event, or "" for the beginning. Nothing where it is none
// of them.
std::optional<LobeCursor> parse_lobe_cursor(std::string_view text);

// Thread: any, one at a time.
class RecordedLobe {
 public:
  // With the agents that work for calls of the operation, events have the id of the agent's run,
  // and beside it {"parentOperationId", "toolCallId"}; else these events are left out.
  explicit RecordedLobe(LobeCursor after, bool with_subagents = false);

  // The records of the root run from the first one on.
  void on_record(const journal::Record& record);
  // No record comes before an answer of the user.
  void rest() { operation_.rest(); }
  // The run cannot be read any further.
  void fail(std::string_view code, std::string_view message);
  [[nodiscard]] bool ended() const { return operation_.state().is_over; }
  [[nodiscard]] const OperationState& state() const { return operation_.state(); }

  // The bytes since the last take; the two exchange their memory.
  void take_into(std::string& buffer);
  [[nodiscard]] const std::string& pending() const { return out_; }

  // The first frame of a reader, which is no event of the operation.
  static std::string connected(std::string_view operation_id, std::string_view after,
                               std::int64_t now_ms);
  // A frame that keeps proxies from giving up.
  static std::string heartbeat(std::string_view operation_id, std::int64_t now_ms);

 private:
  struct Child {
    LobeOperation operation;
    std::string about;  // members of its events
  };
  void begin(const journal::Record& record, const journal::ChildStarted& child);
  void write(const OperationEvent& event, std::string_view id, std::string_view about = {});

  LobeCursor after_;
  bool with_subagents_;
  LobeOperation operation_;
  std::map<std::uint32_t, std::unique_ptr<Child>> children_;  // by their branches
  std::string out_;
};

}  // namespace millrace::encoder
