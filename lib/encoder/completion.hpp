// Events -> one chat completion, for clients that want the whole answer in one piece.
// Source: OpenAI API reference, the chat completion object (2026).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "event/event.hpp"

namespace millrace::encoder {

// What the completion says beside the answer.
struct CompletionFacts {
  std::string_view id;
  std::int64_t created = 0;  // seconds since 1970
  std::string_view provider;
  std::string_view model;
  std::string_view finish_reason;  // "" is "stop"
  std::string_view usage_json;     // of OpenAI's shape
  std::string_view model_usage_json;
};

// Gathers text, reasoning and the calls that the caller has to run; a reset empties it.
// Thread: any, one at a time.
class Completion final : public event::EventSink {
 public:
  void on_event(const event::Event& event) override;

  // Shape: {"id", "object": "chat.completion", "created", "provider", "model", "choices":
  // [{"index", "message": {"role", "content", "reasoning_content"?, "tool_calls"?},
  // "finish_reason"}], "usage", "modelUsage", "millrace"?: {"events"}}; content is null for an
  // answer of calls alone. `millrace.events` are what a completion has no member for, as AG-UI's
  // events: warnings, starts of texts and of reasoning, provider state, citations, encrypted
  // values, usage as the provider reported it, partial images, calls that the provider ran,
  // results.
  [[nodiscard]] std::string to_json(const CompletionFacts& facts) const;

 private:
  struct Call {
    std::string id;
    std::string name;
    std::string arguments;
    bool is_dropped = false;
  };

  void add_beside(const event::Event& event);
  void drop_call(std::string_view id);
  [[nodiscard]] std::string message_json() const;

  std::string text_;
  std::string reasoning_;
  std::vector<Call> calls_;
  std::unordered_map<std::string, std::size_t> places_;  // in calls_, by id
  std::unordered_set<std::string> hosted_;               // ids of calls that the provider runs
  std::string warnings_;                                 // events as JSON, between commas
  std::string beside_;                                   // the same, without those of warnings
};

}  // namespace millrace::encoder
