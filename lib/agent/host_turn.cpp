#include "agent/host_turn.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/shown.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

// The answer's own members stand in `turn`; its content as it was, unless that was text.
Tree assistant_row(const Tree& row) {
  Tree made = row["turn"].is_object() ? row["turn"] : Tree::object();
  made.set("role", "assistant");
  if (made["content"].is_null()) made.set("content", row["content"]);
  if (row["tool_calls"].is_array()) made.set("tool_calls", row["tool_calls"]);
  return made;
}

Tree result_row(const Tree& row) {
  Tree made = Tree::object();
  for (const std::string_view member : {"role", "content", "tool_call_id"}) {
    made.set(member, row[member]);
  }
  return made;
}

Tree plain_row(const Tree& row, bool own) {
  const std::string_view role = row["role"].string();
  if (role == "assistant" && (own || row["turn"].is_object())) return assistant_row(row);
  if (role == "tool" && row["plugin"].is_object()) return result_row(row);
  return row;
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

Tree plain_rows(const Tree& rows, std::size_t from) {
  Tree made = Tree::array();
  const auto& items = rows.items();
  for (std::size_t i = from; i < items.size(); ++i) made.push(plain_row(items[i], true));
  return made;
}

std::string host_question(const Tree& rows) {
  Tree question = Tree::object();
  Tree& messages = question.set("messages", Tree::array());
  for (const Tree& row : rows.items()) messages.push(plain_row(row, false));
  return question.to_json();
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
