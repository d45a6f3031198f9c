#include "message/server_calls.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>

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

// Gives each call whose program is not before it to `visit`, which returns whether to go on.
template <class MessageList, class Visit>
void visit_orphans(MessageList& messages, const Visit& visit) {
  std::unordered_set<std::string_view> programs;
  for (auto& message : messages) {
    for (const ToolCall& call : message.tool_calls) {
      if (is_server_call(call)) programs.insert(call.id);
    }
    for (auto& call : message.tool_calls) {
      const std::string caller = caller_of(call);
      if (!caller.empty() && !programs.contains(caller) && !visit(call)) return;
    }
  }
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

bool has_orphan_callers(std::span<const Message> messages) {
  bool found = false;
  visit_orphans(messages, [&](const ToolCall&) {
    found = true;
    return false;
  });
  return found;
}

void erase_orphan_callers(Messages& messages) {
  visit_orphans(messages, [](ToolCall& call) {
    std::erase_if(call.metadata.provider_state,
                  [](const ProviderState& state) { return state.kind == caller_kind; });
    return true;
  });
}

}  // namespace millrace::message
