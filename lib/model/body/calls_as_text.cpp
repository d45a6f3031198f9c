#include "model/body/calls_as_text.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "format/bedrock_blocks.hpp"
#include "format/retained.hpp"
#include "message/json_builder.hpp"
#include "message/parts.hpp"

namespace millrace::model {
namespace {

using message::JsonBuilder;
using message::Message;
using message::Messages;
using message::Role;
using message::ToolCall;

using Calls = std::unordered_map<std::string_view, const ToolCall*>;

// A block of JSON stands in results alone: its text takes its place.
void write_part(JsonBuilder& out, const json::Value& part) {
  const json::Value data = format::stand_in_block(part, format::bedrock::provider)["json"];
  data.exists() ? message::write_text_part(out, data.to_json(json::Surrogates::keep))
                : out.value(part);
}

// What the user says in the result's stead; its media stay.
Message as_user_message(const Message& result, const Calls& calls) {
  const auto call = calls.find(result.tool_call_id);
  std::string text = "A tool";
  if (call != calls.end()) {
    const std::string& arguments = call->second->arguments;
    text = "The tool " + call->second->name + " was called with " +
           (arguments.empty() ? std::string("{}") : arguments) + " and";
  }
  text.append(result.error ? " failed:" : " answered:");
  Message message;
  message.role = Role::user;
  message.id = result.id;
  if (result.content.kind != message::Content::Kind::parts) {
    const std::string& result_content = result.content.text;
    text.append("\n").append(result_content.empty() ? result.error.value_or("") : result_content);
    message.content = message::Content::of_text(text);
    return message;
  }
  JsonBuilder parts(json::Surrogates::keep);
  parts.open_array();
  message::write_text_part(parts, text);
  const message::Parts result_content(result.content);
  for (const json::Value part : result_content.items()) write_part(parts, part);
  parts.close_array();
  message.content = message::Content::of_parts(parts.take());
  return message;
}

}  // namespace

bool has_calls(std::span<const Message> messages) {
  return std::any_of(messages.begin(), messages.end(),
                     [](const Message& message) { return !message.tool_calls.empty(); });
}

Messages with_calls_as_text(std::span<const Message> messages) {
  Messages out;
  Calls calls;
  for (const Message& message : messages) {
    for (const ToolCall& call : message.tool_calls) calls.insert_or_assign(call.id, &call);
    if (message.role == Role::tool) {
      out.push_back(as_user_message(message, calls));
      continue;
    }
    const bool has_more =
        !message::text_of(message.content).empty() || !message.metadata.provider_state.empty();
    if (message.tool_calls.empty() || has_more) {
      out.push_back(message);
      out.back().tool_calls.clear();
      continue;
    }
    // Thoughts without the call that they led to would stand alone, which the API refuses.
    while (!out.empty() && out.back().role == Role::reasoning) out.pop_back();
  }
  return out;
}

}  // namespace millrace::model
