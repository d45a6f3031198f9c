#include "model/body/calls_as_text.hpp"

#include <algorithm>
#include <cstddef>
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
// How many results there are for calls of an id.
using ResultCounts = std::unordered_map<std::string_view, std::size_t>;

std::string text_of_called(const ToolCall& call) {
  return "The tool " + call.name + " was called with " +
         (call.arguments.empty() ? std::string("{}") : call.arguments);
}

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
    text = text_of_called(*call->second) + " and";
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

// The calls of a message that no result answers, in a message of the user.
void add_open_calls(Messages& out, const Message& message, ResultCounts& results) {
  std::string text;
  for (const ToolCall& call : message.tool_calls) {
    if (std::size_t& left = results[call.id]; left > 0) {
      --left;
      continue;
    }
    text.append(text.empty() ? "" : "\n")
        .append(text_of_called(call))
        .append(" and has no answer.");
  }
  if (text.empty()) return;
  Message& words = out.emplace_back();
  words.role = Role::user;
  words.id = message.id;
  words.content = message::Content::of_text(text);
}

}  // namespace

bool has_calls(std::span<const Message> messages) {
  return std::any_of(messages.begin(), messages.end(),
                     [](const Message& message) { return !message.tool_calls.empty(); });
}

Messages with_calls_as_text(std::span<const Message> messages) {
  Messages out;
  Calls calls;
  ResultCounts results;
  for (const Message& message : messages) {
    if (message.role == Role::tool) ++results[message.tool_call_id];
  }
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
    } else {
      // Thoughts without the call that they led to would stand alone, which the API refuses.
      while (!out.empty() && out.back().role == Role::reasoning) out.pop_back();
    }
    add_open_calls(out, message, results);
  }
  return out;
}

}  // namespace millrace::model
