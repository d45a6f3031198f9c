#include "message/body_size.hpp"

#include <array>
#include <string>
#include <string_view>

namespace millrace::message {
namespace {

// Where the formats keep the parts and the calls of a message.
constexpr std::array<std::string_view, 4> lists{"content", "parts", "toolCalls", "tool_calls"};

std::size_t pieces_of(const json::Value& message) {
  std::size_t count = 1;
  if (!message.is_object()) return count;
  for (const std::string_view name : lists) {
    const json::Value list = message[name];
    if (!list.is_array()) continue;
    count += list.size();
    // Parts of a result stand one step deeper.
    for (const json::Value part : list.items()) {
      if (const json::Value inner = part["content"]; inner.is_array()) count += inner.size();
    }
  }
  return count;
}

}  // namespace

Result<void> check_size(const json::Value& messages) {
  // LangGraph's state and Gemini's contents hold the list as a member.
  std::size_t count = 0;
  for (const json::Value message : messages.items()) count += pieces_of(message);
  for (const auto& [key, list] : messages.members()) {
    for (const json::Value message : list.items()) count += pieces_of(message);
  }
  if (count <= most_pieces) return {};
  return make_error(Errc::body_too_large, "The request has " + std::to_string(count) +
                                              " messages, parts and calls; at most " +
                                              std::to_string(most_pieces) +
                                              " are read. Send a shorter conversation.");
}

Result<void> check_tool_count(const json::Value& tools) {
  if (tools.size() <= most_tools) return {};
  return make_error(Errc::body_too_large, "The request offers " + std::to_string(tools.size()) +
                                              " tools; at most " + std::to_string(most_tools) +
                                              " are read. Offer fewer.");
}

}  // namespace millrace::message
