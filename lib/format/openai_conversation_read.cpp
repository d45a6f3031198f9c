// Responses items -> canonical messages.

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "format/openai_content.hpp"
#include "format/openai_conversation.hpp"
#include "format/openai_conversation_reasoning.hpp"
#include "format/openai_item_reader.hpp"
#include "format/openai_items.hpp"
#include "format/openai_names.hpp"
#include "format/read_order.hpp"
#include "format/retained.hpp"
#include "format/shape_tables.hpp"
#include "format/support.hpp"
#include "message/parts.hpp"

namespace millrace::format {
namespace {

using message::Message;
using message::Messages;
using message::Role;

// Whether reasoning is known as the API's by itself.
bool is_ours(std::string_view id, const json::Value& encrypted) {
  return id.starts_with("rs_") || encrypted.string().starts_with("gAAAA");
}

// The call that a message of a tool answers, in the words of either API of OpenAI.
std::string called_id(const json::Value& message) {
  return std::string(message["call_id"].filled_string().value_or(message["tool_call_id"].string()));
}

}  // namespace

const std::array<ItemReader::Row, ItemReader::types> ItemReader::rows{{
    {"message", &ItemReader::read_message},
    {"function_call", &ItemReader::read_call},
    {"function_call_output", &ItemReader::read_output},
    {openai::custom_call_type, &ItemReader::read_call},
    {"custom_tool_call_output", &ItemReader::read_output},
    {"mcp_call", &ItemReader::read_mcp_call},
    {"reasoning", &ItemReader::read_reasoning},
}};

void ItemReader::read(const json::Value& item) {
  const std::string_view type = item["type"].string();
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.type == type; });
  if (row != rows.end()) {
    (this->*row->handler)(item);
  } else if (const openai::CallType* call = openai::call_type(type)) {
    read_item_call(item, *call);
  } else if (openai::answered_type(type) != nullptr) {
    read_output(item);
  } else if (type.empty() && item["role"].is_string()) {
    read_message(item);
  } else if (!type.empty() || item["id"].is_string()) {
    keep(item);  // without a type it is a reference to an item
  }
}

void ItemReader::flush() {
  if (assistant_) messages_.push_back(std::move(*assistant_));
  assistant_.reset();
  for (Message& result : results_) messages_.push_back(std::move(result));
  results_.clear();
  has_output_ = false;
}

// What is called when all calls before it have their outputs is of a later step: on the same
// message it would go before these.
void ItemReader::end_step() {
  if (has_output_ && !has_open_calls()) flush();
}

// As flush; items that wait do not go behind what comes next.
void ItemReader::settle() {
  if (!state_.empty()) assistant();
  flush();
}

// Items are parts of the current assistant message, which will stand behind the others.
void ItemReader::attach_state(Message& message) {
  auto& retained = message.metadata.provider_state;
  for (std::size_t i = 0; i < state_.size(); ++i) {
    order_.add_item(messages_.size(), retained.size() + i);
  }
  std::move(state_.begin(), state_.end(), std::back_inserter(retained));
  state_.clear();
}

Message& ItemReader::assistant() {
  if (!assistant_) {
    assistant_.emplace();
    assistant_->role = Role::assistant;
    assistant_->id = ids_.next_id();
  }
  attach_state(*assistant_);
  return *assistant_;
}

Message& ItemReader::add(Role role, const json::Value& item) {
  Message& message = messages_.emplace_back();
  message.role = role;
  message.id = id_of(item, ids_);
  return message;
}

void ItemReader::read_message(const json::Value& item) {
  const std::string_view role = item["role"].string();
  if (role == "assistant") {
    flush();
  } else {
    settle();
    order_.close(messages_);
  }
  const std::string text = openai::text_of_parts(item["content"]);
  if (role == "assistant") {
    Message& message = assistant_.emplace();
    message.role = Role::assistant;
    message.id = id_of(item, ids_);
    if (!text.empty()) message.content = message::Content::of_text(text);
    if (openai::is_output_list(item["content"], openai::is_own_id(item["id"].string()))) {
      message.metadata.add(openai::items_provider, openai::content_kind,
                           R"({"parts":)" + raw(item["content"]) + "}");
    }
    openai::keep_members(message.metadata, item, {"type", "role", "content", "phase"});
    if (const json::Value phase = item["phase"]; phase.is_string()) {
      message.metadata.add(openai::items_provider, "item",
                           R"({"type":"message","phase":)" + raw(phase) + "}");
    }
    attach_state(message);
    if (!text.empty()) order_.add_text(messages_.size(), 0);
  } else {
    const Role canonical = role == "user"        ? Role::user
                           : role == "developer" ? Role::developer
                           : role == "tool"      ? Role::tool
                                                 : Role::system;
    const bool has_own_role = canonical == Role::system && role != "system";
    Message& message = add(canonical, item);
    if (canonical == Role::tool) message.tool_call_id = called_id(item);
    message.content = openai::content_of_parts(item["content"], text, false);
    if (message.content.kind == message::Content::Kind::text && item["content"].size() > 1) {
      keep_list(message.metadata, openai::items_provider, item["content"]);
    }
    using Names = std::initializer_list<std::string_view>;
    openai::keep_members(message.metadata, item,
                         canonical == Role::tool
                             ? Names{"type", "role", "content", "call_id", "tool_call_id"}
                         : has_own_role ? Names{"type", "content"}
                                        : Names{"type", "role", "content"});
  }
}

void ItemReader::read_reasoning(const json::Value& item) {
  settle();
  const std::size_t first = messages_.size();
  const std::string id = id_of(item, ids_);
  read_reasoning_item(messages_, item, id);
  for (std::size_t at = first; at < messages_.size(); ++at) order_.add_reasoning(at);
  Message& head = messages_[first];
  const bool is_known = head.encrypted_value && is_ours(id, item["encrypted_content"]);
  if (item["content"].size() == 0 && !is_known) {
    head.metadata.add(openai::items_provider, "item", R"({"type":"reasoning"})");
  }
}

// An item without a canonical form goes back before the next assistant message, or in one of its
// own where a call before it waits for its output.
void ItemReader::keep(const json::Value& item) {
  if (!has_items_alone()) flush();
  const std::string type(item["type"].string());
  const bool is_image = type == "image_generation_call";
  state_.push_back({std::string(openai::items_provider), type,
                    is_image ? without(item, {"result"}) : raw(item)});
  if (order_.has_open_calls()) assistant();
}

Result<Messages> read_openai_conversation(const json::Value& data, IdSource& ids) {
  const json::Value list = data.is_array() ? data : data["data"];
  if (!list.is_array()) return not_a_list("an array of items, or a list object with `data`", data);
  MILLRACE_TRY(check_shapes(list, shapes::response_item, "items"));
  // Without a type it is a message, or a reference to an item.
  constexpr std::array<std::string_view, 3> names{"type", "role", "id"};
  MILLRACE_TRY(check_has_one_of(list, names, "items"));
  ItemReader reader(ids);
  for (const json::Value item : list.items()) reader.read(item);
  return reader.take();
}

}  // namespace millrace::format
