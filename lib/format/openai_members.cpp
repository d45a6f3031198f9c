#include "format/openai_members.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>

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

void append_further(std::string& out, const json::Value& object,
                    std::span<const std::string_view> known) {
  for (const auto& [key, value] : object.members()) {
    const bool is_known = std::find(known.begin(), known.end(), key) != known.end();
    if (!is_known && !value.is_null()) json::append_member(out, json::Member{key, value});
  }
}

// Members that are read, or that an answer has and no request.
constexpr std::array<std::string_view, 17> message_members{"role",
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
                                                           "annotations",
                                                           "cache_control"};

}  // namespace

void openai::keep_message_members(Message& message, const json::Value& value) {
  std::string members;
  append_further(members, value, message_members);
  keep_further(message.metadata, members);
}

// Those of a call and of its function, which are in a member of that name.
void openai::keep_call_members(ToolCall& call, const json::Value& value, std::string_view body_key,
                               const json::Value& body) {
  constexpr std::array<std::string_view, 7> call_members{
      "id", "type", "function", "custom", "index", "extra_content", "thoughtSignature"};
  constexpr std::array<std::string_view, 3> body_members{"name", "arguments", "input"};
  std::string members;
  append_further(members, value, call_members);
  std::string inner;
  append_further(inner, body, body_members);
  if (!inner.empty()) json::append_raw_member(members, body_key, "{" + inner + "}");
  keep_further(call.metadata, members);
}

}  // namespace millrace::format
