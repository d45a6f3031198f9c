// What a producer asks a human, read from the JSON that it reported.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "event/event.hpp"

namespace millrace::adapter {

// Shape: one question or an array of them; a question is text, an object with `message`, `question`
// or `description`, or LangGraph's {"id" | "interrupt_id", "value": question}.
// Lifetime: the value outlives the questions.
class InterruptList {
 public:
  explicit InterruptList(const json::Value& reported);
  InterruptList(const InterruptList&) = delete;
  InterruptList& operator=(const InterruptList&) = delete;

  [[nodiscard]] std::span<const event::Question> list() const { return list_; }

 private:
  std::vector<std::string> texts_;  // their JSON
  std::vector<event::Question> list_;
};

}  // namespace millrace::adapter
