#include "message/answer_ends.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>

namespace millrace::message {
namespace {

// The messages of an answer and the results behind it, from the last one to the first.
class Behind {
 public:
  void begin() {
    results_.clear();
    last_.reset();
    is_in_results_ = false;
  }
  void add_result(std::string_view call) {
    // What is behind these results is another answer's.
    if (!is_in_results_) begin();
    is_in_results_ = true;
    results_.insert(call);
  }
  void add_other() { is_in_results_ = false; }
  void add_assistant(std::size_t at) {
    add_other();
    last_ = last_.value_or(at);
  }
  [[nodiscard]] std::size_t end_of(const Message& message, std::size_t at) const {
    const bool is_answered =
        std::any_of(message.tool_calls.begin(), message.tool_calls.end(),
                    [&](const ToolCall& call) { return results_.contains(call.id); });
    return is_answered ? last_.value_or(at) : at;
  }

 private:
  std::unordered_set<std::string_view> results_;  // by their calls
  std::optional<std::size_t> last_;               // message of the assistant
  bool is_in_results_ = false;
};

}  // namespace

std::vector<std::size_t> answer_ends(std::span<const Message> messages) {
  std::vector<std::size_t> ends(messages.size());
  Behind behind;
  for (std::size_t at = messages.size(); at-- > 0;) {
    const Message& message = messages[at];
    ends[at] = at;
    switch (message.role) {
      case Role::tool: behind.add_result(message.tool_call_id); break;
      case Role::assistant:
        behind.add_assistant(at);
        ends[at] = behind.end_of(message, at);
        break;
      case Role::reasoning:
      case Role::activity: behind.add_other(); break;
      default: behind.begin(); break;
    }
  }
  return ends;
}

}  // namespace millrace::message
