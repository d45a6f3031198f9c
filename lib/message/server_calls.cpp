#include "message/server_calls.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/json.hpp"

namespace millrace::message {
namespace {

constexpr std::string_view caller_kind = "caller";

const ProviderState* state_of(const ToolCall& call, std::string_view kind) {
  const auto& states = call.metadata.provider_state;
  const auto found = std::find_if(states.begin(), states.end(),
                                  [&](const ProviderState& state) { return state.kind == kind; });
  return found == states.end() ? nullptr : &*found;
}

// The id of the call whose program made this one, or "".
std::string caller_of(const ToolCall& call) {
  const ProviderState* caller = state_of(call, caller_kind);
  if (caller == nullptr) return {};
  json::Document document(depth_limit);
  const auto value = document.parse(caller->json);
  return value ? std::string(value.value()["tool_id"].string()) : std::string();
}

}  // namespace

bool is_server_call(const ToolCall& call) {
  return state_of(call, "server_tool") != nullptr;
}

bool is_at_work(const ToolCall& program, std::span<const Message> messages) {
  for (std::size_t at = messages.size(); at-- > 0;) {
    const Message& message = messages[at];
    if (message.role == Role::reasoning || message.role == Role::activity) continue;
    if (message.role != Role::assistant) return false;
    const auto& calls = message.tool_calls;
    const bool made = std::any_of(calls.begin(), calls.end(), [&](const ToolCall& call) {
      return caller_of(call) == program.id;
    });
    if (made) return true;
  }
  return false;
}

void erase_callers(Messages& messages, const std::unordered_set<std::string>& programs) {
  if (programs.empty()) return;
  for (Message& message : messages) {
    for (ToolCall& call : message.tool_calls) {
      if (!programs.contains(caller_of(call))) continue;
      std::erase_if(call.metadata.provider_state,
                    [](const ProviderState& state) { return state.kind == caller_kind; });
    }
  }
}

}  // namespace millrace::message
