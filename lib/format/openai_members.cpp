#include "format/openai_members.hpp"

#include <array>
#include <span>
#include <string>

#include "base/json_members.hpp"
#include "format/further_members.hpp"
#include "format/openai_names.hpp"

namespace millrace::format {
namespace {

using message::Message;
using message::ToolCall;

// Keeps further members as provider state, which goes out again with this history.
void keep_further(message::Metadata& metadata, const std::string& members) {
  if (!members.empty()) metadata.add(openai::provider, further_kind, "{" + members + "}");
}

// Members that are read of every message. The role is the first.
constexpr std::array<std::string_view, 6> message_members{"role", "content",      "name",
                                                          "id",   "tool_call_id", "cache_control"};
// Members that are read of an answer, or that it has and no request.
constexpr std::array<std::string_view, 18> answer_members{"role",
                                                          "content",
                                                          "name",
                                                          "id",
                                                          "refusal",
                                                          "tool_calls",
                                                          "function_call",
                                                          "tool_call_id",
                                                          "audio",
                                                          "images",
                                                          "prefix",
                                                          "partial",
                                                          "reasoning",
                                                          "reasoning_content",
                                                          "reasoning_details",
                                                          "thinking_blocks",
                                                          "annotations",
                                                          "cache_control"};

}  // namespace

void openai::keep_message_members(Message& message, const json::Value& value, bool has_own_role) {
  const bool is_answer = message.role == message::Role::assistant;
  const std::span<const std::string_view> known =
      is_answer ? std::span<const std::string_view>(answer_members) : message_members;
  keep_further(message.metadata, json::further_members(value, known.subspan(has_own_role ? 1 : 0)));
}

// Those of a call and of its function, which are in a member of that name.
void openai::keep_call_members(ToolCall& call, const json::Value& value, std::string_view body_key,
                               const json::Value& body) {
  constexpr std::array<std::string_view, 7> call_members{
      "id", "type", "function", "custom", "index", "extra_content", "thoughtSignature"};
  constexpr std::array<std::string_view, 3> body_members{"name", "arguments", "input"};
  std::string members = json::further_members(value, call_members);
  const std::string inner = json::further_members(body, body_members);
  if (!inner.empty()) json::append_raw_member(members, body_key, "{" + inner + "}");
  keep_further(call.metadata, members);
}

}  // namespace millrace::format
