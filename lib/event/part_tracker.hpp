// Keeps the parts of an answer (texts, reasoning, tool calls) in a legal order, whatever the
// provider sends. Adapters never build part events: they say what the vendor said, and the tracker
// emits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.hpp"
#include "base/optional_box.hpp"
#include "event/event.hpp"

namespace millrace::event {

enum class Mode : std::uint8_t {
  // For drop-in adapters: events appear when and as the vendor's stream says; no end is invented.
  as_received,
  // For AG-UI clients: a part starts once and ends once, text and reasoning end before a tool call
  // starts,
  // tool calls follow one another, ids are distinct, pairs of surrogates are joined.
  strict,
};

struct TrackerOptions {
  Mode mode = Mode::strict;
  std::size_t tool_arguments_limit_bytes = 1024UL * 1024UL;
  std::size_t open_parts_limit = 1024;
  // Parts, citations and provider states of one answer: readers keep them. Strict mode only.
  std::size_t parts_limit = 16384;
  // Replace an id that was used before; off for sources that may reopen a message by its id.
  bool distinct_ids = true;
  // Lets calls start while others are open, for readers that tell them apart by themselves (strict
  // mode only).
  bool calls_side_by_side = false;
  // Frame reasoning messages by REASONING_START and REASONING_END (strict mode only).
  bool reasoning_spans = true;
};

// A `key` is the vendor's name of a part while it is open (an index, an item id); it is never
// shown. An `id` is what a reader sees; where it is empty a new one is made.
// Thread: any, one at a time.
class PartTracker {
 public:
  PartTracker(const TrackerOptions& options, IdSource& ids, EventSink& sink)
      : options_(options), ids_(ids), sink_(sink) {}

  void text_open(std::string_view key, std::string_view id, std::string_view role = "assistant",
                 std::string_view name = {});
  // Appends text; opens the part when it is not open.
  void text_delta(std::string_view key, std::string_view delta);
  void text_close(std::string_view key);

  void reasoning_open(std::string_view key, std::string_view id);
  void reasoning_delta(std::string_view key, std::string_view delta);
  // Gives the opaque value that belongs to the part; starts it when it is not started, so that a
  // reasoning part without text can carry one.
  void reasoning_encrypted(std::string_view key, std::string_view value);
  void reasoning_close(std::string_view key);

  // Names a tool call, whole or in pieces: call it again when the id or the name becomes known. It
  // starts when both are known, or at its first arguments (a missing id is made), or at its end.
  // `parent_id` is the assistant message that holds the call; a `hosted` one is run by the
  // provider.
  void tool_open(std::string_view key, std::string_view id, std::string_view name,
                 std::string_view parent_id = {}, bool hosted = false);
  // Appends arguments; does nothing for a call that was never opened.
  void tool_args(std::string_view key, std::string_view delta);
  void tool_close(std::string_view key);
  // Forgets a call that has not started.
  void tool_drop(std::string_view key);
  // Gives a result. In strict mode it follows the end of its call: an open call is ended first, and
  // the result of a call that waits for its turn waits with it.
  void tool_result(const ToolResult& result);

  // Starts of calls name the message that holds them in as_received mode as well.
  void name_parents() { names_parents_ = true; }

  [[nodiscard]] bool is_open(std::string_view key) const;
  // The id a reader sees for an open part, or "".
  // Lifetime: until the next call.
  [[nodiscard]] std::string_view id_of(std::string_view key) const;
  [[nodiscard]] bool any_open() const { return !parts_.empty(); }

  void close_reasoning();
  void close_texts();
  // Ends the open calls in the order they were opened.
  void close_tools();
  // Ends everything: reasoning, calls, texts.
  void close_all();
  // Forgets what has not started and, in as_received mode, everything; ends the rest as it stands.
  void abandon_all();

  // Ends the run with an error, once; strict mode ends what is open first. Everything after it is
  // ignored. `extra` are further members of the event (see Event::extra).
  void fail(std::string_view code, std::string_view message, std::string_view extra = {});
  [[nodiscard]] bool failed() const { return failed_; }
  // Called once, before the event of an error: the last moment at which another event can come.
  void before_failure(std::function<void()> before) { before_failure_ = std::move(before); }

  // Passes an event that has no place in the order. In strict mode the state of a call that waits
  // for its turn waits with it.
  void pass(const Body& body);
  void pass(const Event& event);

 private:
  enum class Kind : std::uint8_t { text, reasoning, tool };
  struct HeldResult {
    std::string message_id;
    std::string content;
    std::string parts_json;
    std::string role;
    std::string error;
    bool failed = false;
  };
  struct HeldState {
    std::string provider;
    std::string kind;
    std::string json;
  };
  struct Part {
    Kind kind = Kind::text;
    bool started = false;  // the reader has seen its start
    bool ended = false;    // the vendor ended it, but it waits for its turn
    bool hosted = false;   // tool
    std::string key;
    std::string id;
    std::string vendor_id;  // tool: the id before it was replaced
    std::string name;       // tool name, or name of a text's author
    std::string role;       // text
    std::string parent;     // tool
    std::string held;  // bytes that wait: arguments before the start, or half of a surrogate pair
    std::size_t argument_bytes = 0;
    OptionalBox<HeldResult> result;       // of a call that waits for its turn
    Rare<std::vector<HeldState>> states;  // the same
  };
  using Index = std::size_t;
  static constexpr Index none = static_cast<Index>(-1);

  [[nodiscard]] bool strict() const { return options_.mode == Mode::strict; }
  [[nodiscard]] Index find(Kind kind, std::string_view key) const;
  [[nodiscard]] Index find_call(std::string_view id) const;
  bool is_full();
  bool has_too_many();
  void count(const Body& body);
  Index add(Kind kind, std::string_view key, std::string_view id);
  void erase(Index at) { parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(at)); }
  // Builds the event where it stands: a Body is too large to be copied for each delta.
  template <class Alternative>
  void emit(const Alternative& alternative) {
    sink_.on_event(Event{alternative});
  }
  void claim_id(Part& part);
  void start(Part& part);
  void start_in_order(Index at);
  void end(Index at);
  void close_kind(Kind kind, Index except = none);
  void start_tool(Index at, bool at_end);
  void start_next_tool();
  void hold_result(Part& part, const ToolResult& result);
  bool hold_state(const Body& body);
  void give_held_states(Part& part);
  [[nodiscard]] bool must_wait() const;
  void send_delta(Part& part, std::string_view delta);
  void send_piece(const Part& part, std::string_view piece);

  TrackerOptions options_;
  IdSource& ids_;
  EventSink& sink_;
  std::vector<Part> parts_;
  std::size_t made_ = 0;            // what counts for parts_limit
  std::set<std::string> used_ids_;  // few, mostly one: without a table
  // The id a reader sees for a tool call whose own id was used before.
  Rare<std::unordered_map<std::string, std::string>> renamed_calls_;
  std::string scratch_;
  std::function<void()> before_failure_;
  bool names_parents_ = false;
  bool failed_ = false;
};

}  // namespace millrace::event
