// Calls that wait for approval, as the rows of a conversation show them.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "base/json_tree.hpp"

namespace millrace::agent {

// Those of the last turn that called tools.
json::Tree open_calls(const json::Tree& messages);

// Those of all turns.
json::Tree all_open_calls(const json::Tree& messages);

// The turn that asked for a call; all null where no row shows it.
// Lifetime: of the conversation.
struct CallOwner {
  const json::Tree* state_message = nullptr;
  const json::Tree* turn = nullptr;  // the row, or a turn in it where the row is a group
  const json::Tree* call = nullptr;  // as the turn shows it
};
// True of a row whose turn, or one of whose turns, shows the call.
bool shows_call(const json::Tree& state_message, std::string_view call_id);

CallOwner owner_of(const json::Tree& messages, std::string_view call_id);

// The batch of approvals that all of these calls were asked for in, as `{batchId, operationId?,
// toolCallIds}`; null where there is none, or more than one.
json::Tree batch_of_calls(const json::Tree& messages, const json::Tree& calls);

// The id of the row of a call's result where the turn that asked for the call has it, or "".
std::string shown_result_id(const json::Tree& messages, std::string_view call_id);

// The same for many calls of one conversation.
class ShownResults {
 public:
  explicit ShownResults(const json::Tree& messages);
  [[nodiscard]] std::string of(const std::string& call_id) const;

 private:
  void add(const json::Tree& turn);

  std::unordered_map<std::string, std::string> ids_;  // by those of the calls
};

}  // namespace millrace::agent
