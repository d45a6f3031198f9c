// The answers of a conversation whose order is recorded (part_order.hpp): their parts one by one,
// for everybody who writes messages in another shape.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "message/message.hpp"
#include "message/part_order.hpp"

namespace millrace::message {

// A part of a recorded answer.
struct Part {
  PartKind kind = PartKind::text;
  std::size_t at = 0;                    // index of its message
  const Message* message = nullptr;      // of a result the result
  const ToolCall* call = nullptr;        // call, result
  const ProviderState* state = nullptr;  // item
  std::string_view text = {};            // text: the piece
};

// Reads the records of a conversation. A record counts when each part that it names is there and
// unchanged, and no other part is in its messages; results may be there that it does not name.
// Lifetime: the messages outlive it.
// Thread: any, one at a time.
class OrderedAnswers {
 public:
  explicit OrderedAnswers(std::span<const Message> messages);

  // The parts of the answer that begins with this message; none when no recorded answer does.
  [[nodiscard]] std::span<const Part> at(std::size_t message) const;
  // True for a message whose parts belong to a recorded answer.
  [[nodiscard]] bool covers(std::size_t message) const {
    return !covered_.empty() && covered_[message];
  }
  // How many records do not fit their messages.
  [[nodiscard]] std::size_t unfit() const { return unfit_; }

 private:
  class Reader;

  std::vector<bool> covered_;  // empty when nothing is recorded
  std::unordered_map<std::size_t, std::vector<Part>> answers_;
  std::deque<std::string> texts_;  // of contents that are parts
  std::size_t unfit_ = 0;
};

}  // namespace millrace::message
