// Keeps the events of a foreign AG-UI source in an order that AG-UI clients accept. What is legal
// passes unchanged, also where parts interleave; the rest is mended or refused.
// Source: AG-UI protocol 1.0, as @ag-ui/client 1.0.0 enforces it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.hpp"
#include "event/event.hpp"
#include "event/part_tracker.hpp"

namespace millrace::adapter::ag_ui {

// Further members of one source event.
struct Base {
  std::string_view subagent;  // subagentRunId, or "" for the agent itself
  std::string_view extra;     // the others, as `"key":value,...`
};

// Why an event was refused, or "" when it was given.
using Verdict = std::string_view;

// Steps, subagents and chunk streams that may be open at a time; they are looked up one by one.
inline constexpr std::size_t open_limit = 1024;

enum class Kind : std::uint8_t { text, reasoning, span, tool };

struct PartStart {
  std::string_view role = "assistant";  // text
  std::string_view name = {};           // author of a text, or the tool
  std::string_view parent = {};         // tool: the message that holds the call
};

// Thread: any, one at a time.
class Order {
 public:
  explicit Order(event::PartTracker& parts) : parts_(parts) {}

  // A part starts once; it may start again after its end.
  Verdict start(Kind kind, std::string_view id, const PartStart& part, const Base& base);
  // Content of a part that is not open opens it, except that a call needs a name once.
  Verdict add(Kind kind, std::string_view id, std::string_view delta, const Base& base);
  Verdict end(Kind kind, std::string_view id, const Base& base);
  [[nodiscard]] bool is_open(Kind kind, std::string_view id) const;

  void result(const event::ToolResult& result, const Base& base);
  void encrypted(const event::EncryptedValue& value, const Base& base);
  void activity(std::string_view message_id, const event::Body& body, const Base& base);
  void messages(const json::Value& messages, std::string_view json, const Base& base);
  // Events without a place in the order.
  void pass(const event::Body& body, const Base& base);
  // `json` is the event with its further members.
  void pass_foreign(std::string_view type, std::string_view json, const Base& base);

  Verdict step_started(std::string_view name, const Base& base);
  Verdict step_finished(std::string_view name, const Base& base);
  Verdict subagent_started(event::SubagentStart start, const Base& base);
  // `end` is SubagentEnd or SubagentFailed.
  Verdict subagent_ended(std::string_view id, const event::Body& end, const Base& base);

  [[nodiscard]] bool any_open() const {
    return open_parts_ > 0 || !steps_.empty() || !active_subagents_.empty();
  }
  // Ends everything that is open; a subagent with an error when `error` is not empty.
  void close_all(std::string_view error);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  template <class Value>
  using Map = std::unordered_map<std::string, Value, Hash, std::equal_to<>>;

  // Who a message or call belongs to. Once events disagreed it is nobody's.
  struct Owner {
    std::string subagent;
    bool disputed = false;
  };
  struct Part {
    bool open = false;
    std::uint64_t opened = 0;      // when, to close in order
    std::string name;              // of a tool
    std::string held;              // half of a surrogate pair
    const Owner* owner = nullptr;  // once it was open
  };
  struct Step {
    std::string name;
    std::string owner;
  };

  Map<Part>& parts_of(Kind kind) { return known_[static_cast<std::size_t>(kind)]; }
  void open(Kind kind, Part& part, std::string_view id, const PartStart& start, const Base& base);
  void close(Kind kind, std::string_view id, Part& part, const Base& base);
  Map<Part>::value_type* find(Kind kind, std::string_view id);
  void write_delta(Kind kind, std::string_view id, const Part& part, std::string_view delta,
                   const Base& base);
  // Notes the owner; gives the subagent that an event about `id` may name.
  std::string_view claim(std::string_view id, std::string_view subagent);
  [[nodiscard]] std::string_view parent_of(std::string_view id, std::string_view parent) const;
  void own(std::string_view id, std::string_view subagent);
  static std::string_view attributed(const Owner& owner, std::string_view subagent);
  [[nodiscard]] std::string_view attributed(std::string_view id, std::string_view subagent) const;
  // Builds the event where it stands: a Body is too large to be copied for each delta.
  template <class Alternative>
  void emit(const Alternative& alternative, const Base& base, std::string_view subagent) {
    parts_.pass(event::Event{alternative, base.extra, subagent});
  }

  event::PartTracker& parts_;
  std::array<Map<Part>, 4> known_;
  // The part of each kind that was found last: its deltas follow each other. Nothing is ever
  // removed from the maps.
  std::array<Map<Part>::value_type*, 4> recent_{};
  Map<Owner> owners_;
  Map<bool> subagents_;  // true while active
  std::vector<std::string> active_subagents_;
  std::vector<Step> steps_;
  std::uint64_t count_ = 0;  // parts that were opened
  std::size_t open_parts_ = 0;
  std::string scratch_;
};

}  // namespace millrace::adapter::ag_ui
