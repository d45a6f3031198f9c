#include "model/payload/tool_names.hpp"

#include <algorithm>

#include "message/tool_name.hpp"

namespace millrace::model {
namespace {

bool is_sendable(const ChatPayload& payload) {
  const auto all = [](const auto& list) {
    return std::all_of(list.begin(), list.end(),
                       [](const auto& named) { return message::is_sendable_name(named.name); });
  };
  return all(payload.tools) && message::is_sendable_name(payload.tool_choice.name) &&
         std::all_of(payload.messages.begin(), payload.messages.end(),
                     [&](const message::Message& message) { return all(message.tool_calls); });
}

}  // namespace

std::string_view given_tool_name(const std::vector<Tool>& tools, std::string_view sent) {
  const auto found = std::find_if(tools.begin(), tools.end(), [&](const Tool& tool) {
    return !message::is_sendable_name(tool.name) && message::sendable_name(tool.name) == sent;
  });
  return found == tools.end() ? sent : std::string_view(found->name);
}

std::optional<ChatPayload> with_sent_tool_names(const ChatPayload& payload) {
  if (is_sendable(payload)) return std::nullopt;
  ChatPayload sent = payload;
  for (Tool& tool : sent.tools) tool.name = message::sendable_name(tool.name);
  sent.tool_choice.name = message::sendable_name(sent.tool_choice.name);
  for (message::Message& message : sent.messages.edit()) {
    for (message::ToolCall& call : message.tool_calls)
      call.name = message::sendable_name(call.name);
  }
  return sent;
}

}  // namespace millrace::model
