#include "agent/host_turn.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/shown.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

// The answer's own members are in `turn`; its content as it was, unless that was text.
Tree assistant_message(const Tree& state_message) {
  Tree made = state_message["turn"].is_object() ? state_message["turn"] : Tree::object();
  made.set("role", "assistant");
  if (made["content"].is_null()) made.set("content", state_message["content"]);
  if (state_message["tool_calls"].is_array()) made.set("tool_calls", state_message["tool_calls"]);
  return made;
}

Tree result_message(const Tree& state_message) {
  Tree made = Tree::object();
  for (const std::string_view member : {"role", "content", "tool_call_id"}) {
    made.set(member, state_message[member]);
  }
  return made;
}

Tree plain_message(const Tree& state_message, bool own) {
  const std::string_view role = state_message["role"].string();
  if (role == "assistant" && (own || state_message["turn"].is_object()))
    return assistant_message(state_message);
  if (role == "tool" && state_message["plugin"].is_object()) return result_message(state_message);
  return state_message;
}

std::string host_text_of(const Tree& content) {
  if (content.is_string()) return std::string(content.string());
  std::string text;
  for (const Tree& part : content.items()) text.append(part["text"].string());
  return text;
}

Tree calls_of(const Tree& given) {
  Tree calls = Tree::array();
  for (const Tree& one : given.items()) {
    const Tree& function = one["function"];
    if (!function["name"].is_string()) continue;
    Tree call = one;
    call.set("id", one["id"].string());
    call.set("type", "function");
    Tree named = Tree::object();
    named.set("name", function["name"]);
    const Tree& args = function["arguments"];
    named.set("arguments", args.is_string() ? std::string(args.string())
                           : args.is_null() ? std::string("{}")
                                            : args.to_json());
    call.set("function", std::move(named));
    calls.push(std::move(call));
  }
  return calls;
}

}  // namespace

Tree plain_messages(const Tree& state_messages, std::size_t from) {
  Tree made = Tree::array();
  const auto& items = state_messages.items();
  for (std::size_t i = from; i < items.size(); ++i) made.push(plain_message(items[i], true));
  return made;
}

std::string host_request(const Tree& state_messages) {
  Tree request = Tree::object();
  Tree& messages = request.set("messages", Tree::array());
  for (const Tree& state_message : state_messages.items())
    messages.push(plain_message(state_message, false));
  return request.to_json();
}

Result<Tree> host_chunk(std::string_view json) {
  auto parsed = Tree::parse(json);
  if (!parsed) return std::move(parsed).error();
  const Tree& answer = parsed.value();
  if (const Tree& error = answer["error"]; error.is_object()) {
    return make_error(code_of(error["type"].string()), std::string(error["message"].string()));
  }
  const Tree& message = answer["message"];
  if (!message.is_object()) {
    return make_error(Errc::provider_error,
                      "The result of the host's model has no object `message`, but " +
                          shown_value(message) + ".");
  }
  Tree chunk = Tree::object();
  chunk.set("content", host_text_of(message["content"]));
  chunk.set("tool_calls", calls_of(message["tool_calls"]));
  if (answer["usage"].is_object()) chunk.set("usage", answer["usage"]);
  Tree turn = message;
  turn.erase("tool_calls");
  if (!turn["content"].is_array()) turn.erase("content");
  chunk.set("turn", std::move(turn));
  return chunk;
}

}  // namespace millrace::agent
