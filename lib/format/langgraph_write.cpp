// Canonical messages -> LangChain's messages.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format/further_members.hpp"
#include "format/langgraph.hpp"
#include "format/langgraph_content.hpp"
#include "format/langgraph_names.hpp"
#include "format/support.hpp"
#include "message/ordered_answers.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::Content;
using message::JsonBuilder;
using message::Message;
using message::ProviderState;
using message::Role;
using message::ToolCall;

std::string_view type_of(Role role) {
  const auto* row = std::find_if(langgraph::type_names.begin(), langgraph::type_names.end(),
                                 [&](const langgraph::TypeName& t) { return t.role == role; });
  return row == langgraph::type_names.end() ? "system" : row->type;
}

void write_langgraph_call(JsonBuilder& out, const ToolCall& call) {
  out.open_object();
  out.text("id", call.id);
  out.text("name", call.name);
  langgraph::write_arguments(out, "args", call, false);
  FurtherMembers(call.metadata, langgraph::provider).write(out, {"id", "name", "args"});
  if (const auto* type = call.metadata.find(langgraph::provider, langgraph::call_type_kind)) {
    out.raw("type", type->json);
  }
  out.close_object();
}

bool is_invalid_call(const ToolCall& call) {
  return call.metadata.find(langgraph::provider, langgraph::invalid_kind) != nullptr;
}

void write_langgraph_calls(JsonBuilder& out, const Message& message) {
  const auto& calls = message.tool_calls;
  if (std::any_of(calls.begin(), calls.end(),
                  [](const auto& call) { return !is_invalid_call(call); })) {
    out.open_array("tool_calls");
    for (const ToolCall& call : calls) {
      if (!is_invalid_call(call)) write_langgraph_call(out, call);
    }
    out.close_array();
  }
  if (std::none_of(calls.begin(), calls.end(), is_invalid_call)) return;
  out.open_array("invalid_tool_calls");
  for (const ToolCall& call : calls) {
    if (!is_invalid_call(call)) continue;
    out.open_object();
    out.text("id", call.id);
    out.text("name", call.name);
    out.text("args", call.arguments);
    write_state_members(out, call.metadata, langgraph::provider, langgraph::invalid_kind);
    out.close_object();
  }
  out.close_array();
}

// The content of a result, which is JSON where it was a list.
void write_result_content(JsonBuilder& out, const Message& message, const json::Value& result) {
  json::Document document(message::depth_limit);
  const SentResult sent(message);
  const auto list = document.parse(result["list"].is_true() ? sent.message().content.text : "");
  if (!list || !list.value().is_array()) return langgraph::write_content(out, message);
  out.value("content", list.value());
}

// `state` is what LangGraph's result has besides its text; null for none.
void write_result(JsonBuilder& out, const Message& message, const ProviderState* state) {
  json::Document document(message::depth_limit);
  const auto result = document.parse(state == nullptr ? "{}" : state->json);
  const json::Value value = result ? result.value() : json::Value();
  out.open_object();
  out.text("type", type_of(Role::tool));
  write_result_content(out, message, value);
  out.text("tool_call_id", message.tool_call_id);
  out.filled("id", message.id);
  if (message.error) out.text("status", "error");
  for (const auto& [key, member] : value["members"].members()) {
    if (key != "status" || !message.error) out.value(key, member);
  }
  out.close_object();
}

// Names that came with the message and are not those of its images stay as they are.
void write_kwargs(JsonBuilder& out, const Message& message) {
  const auto* kwargs = message.metadata.find(langgraph::provider, langgraph::kwargs_kind);
  json::Document document(message::depth_limit);
  const auto given = document.parse(kwargs == nullptr ? "{}" : kwargs->json);
  const json::Value value = given ? given.value() : json::Value();
  const json::Value ag_ui = value[langgraph::ag_ui_member];
  const std::string names =
      ag_ui[langgraph::names_member].exists() ? "" : langgraph::image_names(message);
  if (names.empty()) {
    if (kwargs != nullptr) out.raw("additional_kwargs", kwargs->json);
    return;
  }
  out.open_object("additional_kwargs");
  for (const auto& [key, member] : value.members()) {
    if (key != langgraph::ag_ui_member) out.value(key, member);
  }
  out.open_object(langgraph::ag_ui_member);
  for (const auto& [key, member] : ag_ui.members()) out.value(key, member);
  out.raw(langgraph::names_member, names);
  out.close_object();
  out.close_object();
}

void write_one(JsonBuilder& out, const Message& message) {
  const auto* state = message.metadata.find(langgraph::provider, langgraph::members_kind);
  json::Document document(message::depth_limit);
  const auto members = document.parse(state == nullptr ? "" : state->json);
  const json::Value given_type = members ? members.value()["type"] : json::Value();
  out.open_object();
  if (!given_type.is_string()) out.text("type", type_of(message.role));
  langgraph::write_content(out, message);
  write_langgraph_calls(out, message);
  if (message.role == Role::tool && given_type.string() != "function") {
    out.text("tool_call_id", message.tool_call_id);
  }
  out.filled("id", message.id);
  if (message.name) out.filled("name", *message.name);
  if (message.role == Role::tool && message.error) out.text("status", "error");
  write_kwargs(out, message);
  write_state_members(out, message.metadata, langgraph::provider, langgraph::members_kind);
  out.close_object();
}

// The id of the message that this one is more of, or "".
std::string origin_of(const Message& message) {
  const auto* state = message.metadata.find(langgraph::provider, langgraph::part_kind);
  json::Document document(message::depth_limit);
  const auto part = document.parse(state == nullptr ? "" : state->json);
  return part ? std::string(part.value()["of"].string()) : std::string();
}

// Writes the messages, each once: where the order of an answer is recorded, in that order. Those
// that one of LangChain became are one again.
class MessageWriter {
 public:
  MessageWriter(JsonBuilder& out, std::span<const Message> messages);

  void write();

 private:
  // A message of LangChain.
  struct Whole {
    std::string id;  // "" for that of its only message
    std::vector<std::size_t> at;
    bool is_written = false;
  };

  void write(std::size_t at);
  [[nodiscard]] const ProviderState* result_of(const Message& message) const;

  JsonBuilder& out_;
  std::span<const Message> messages_;
  message::OrderedAnswers answers_;
  std::vector<Whole> wholes_;
  std::vector<std::size_t> whole_of_;  // by the index of a message
  std::unordered_map<std::string_view, const ToolCall*> calls_;
};

MessageWriter::MessageWriter(JsonBuilder& out, std::span<const Message> messages)
    : out_(out), messages_(messages), answers_(messages) {
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    for (const ToolCall& call : messages[at].tool_calls) calls_.insert_or_assign(call.id, &call);
    const std::string origin = origin_of(messages[at]);
    const std::string& id = origin.empty() ? messages[at].id : origin;
    const bool is_answer = messages[at].role == Role::assistant;
    const auto found = known.find(id);
    if (!is_answer || origin.empty() || found == known.end()) {
      whole_of_.push_back(wholes_.size());
      if (is_answer) known.insert_or_assign(id, wholes_.size());
      wholes_.push_back({is_answer ? origin : std::string(), {at}});
    } else {
      whole_of_.push_back(found->second);
      Whole& whole = wholes_[found->second];
      whole.id = id;
      whole.at.push_back(at);
    }
  }
}

void MessageWriter::write() {
  out_.open_array();
  for (std::size_t at = 0; at < messages_.size(); ++at) {
    if (!answers_.covers(at)) write(at);
    for (const message::Part& part : answers_.at(at)) write(part.at);
  }
  out_.close_array();
}

// What an answer's result has besides its text; null for none, and for one that was read.
const ProviderState* MessageWriter::result_of(const Message& message) const {
  if (message.role != Role::tool) return nullptr;
  const auto* own = message.metadata.find(langgraph::provider, langgraph::result_kind);
  const auto call = calls_.find(message.tool_call_id);
  if (own != nullptr || call == calls_.end()) return own;
  return call->second->metadata.find(langgraph::provider, langgraph::result_kind);
}

void MessageWriter::write(std::size_t at) {
  const Message& message = messages_[at];
  Whole& whole = wholes_[whole_of_[at]];
  if (std::exchange(whole.is_written, true)) return;
  if (message.role == Role::activity && message.activity_type == langgraph::remove_activity) {
    out_.raw(message.content.text);
  } else if (message.role != Role::reasoning && message.role != Role::activity) {
    if (const ProviderState* state = result_of(message)) return write_result(out_, message, state);
    if (whole.id.empty()) return write_one(out_, message);
    Message joined = messages_[whole.at.front()];
    joined.id = whole.id;
    joined.content = Content::of_text(message::text_of(joined.content));
    for (std::size_t i = 1; i < whole.at.size(); ++i) {
      const Message& more = messages_[whole.at[i]];
      joined.content.text += message::text_of(more.content);
      joined.tool_calls.insert(joined.tool_calls.end(), more.tool_calls.begin(),
                               more.tool_calls.end());
      auto& states = joined.metadata.provider_state;
      states.insert(states.end(), more.metadata.provider_state.begin(),
                    more.metadata.provider_state.end());
    }
    write_one(out_, joined);
  }
}

}  // namespace

void write_langgraph(JsonBuilder& out, std::span<const Message> messages) {
  MessageWriter(out, messages).write();
}

}  // namespace millrace::format
