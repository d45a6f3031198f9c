#include "api/conversations.hpp"

#include <utility>

#include "api/api_answers.hpp"
#include "chat/titles.hpp"

namespace millrace::api {
namespace {

using json::Tree;

}  // namespace

Result<std::optional<Conversation>> load_conversation(store::StorageBackend& backend,
                                                      const std::string& principal,
                                                      std::string_view id) {
  auto row = backend.thread(principal, id);
  if (!row) return row.error();
  if (!row.value()) return std::optional<Conversation>();
  Conversation conversation{std::move(*row.value()), Tree::object()};
  auto extra = Tree::parse(conversation.row.extra);
  if (extra && extra.value().is_object()) conversation.titled = std::move(extra).value();
  // A thread that came about in another way has its title only.
  if (conversation.titled["title_status"].is_null()) {
    chat::begin_title(conversation.titled, {}, conversation.row.created);
  }
  if (!conversation.row.title.empty()) conversation.titled.set("title", conversation.row.title);
  return std::optional(std::move(conversation));
}

store::ThreadRow thread_row_of(const Conversation& conversation) {
  store::ThreadRow row = conversation.row;
  Tree extra = conversation.titled;
  row.title = extra["title"].string();
  extra.erase("title");
  row.extra = extra.to_json();
  return row;
}

Result<void> save_conversation(store::StorageBackend& backend, Conversation& conversation) {
  conversation.row = thread_row_of(conversation);
  return backend.put_thread(conversation.row);
}

Conversation make_conversation(const std::string& principal, std::string id, std::string_view title,
                               std::int64_t now_ms) {
  Conversation conversation;
  conversation.row.principal = principal;
  conversation.row.id = std::move(id);
  conversation.row.created = now_ms;
  conversation.row.updated = now_ms;
  conversation.titled = Tree::object();
  chat::begin_title(conversation.titled, title, now_ms);
  return conversation;
}

std::vector<chat::HistoryRecord> records_of(const std::vector<store::MessageRow>& messages) {
  Tree list = Tree::array();
  for (const store::MessageRow& row : messages) {
    auto message = Tree::parse(row.json);
    if (message) list.push(std::move(message).value());
  }
  return chat::history_records(list, utc_offset_minutes(store::system_clock()()));
}

Tree conversation_json(const Conversation& conversation, const ApiOptions& options) {
  Tree json = Tree::object();
  json.set("id", conversation.row.id);
  for (const std::string_view name : {"title", "title_source", "title_status"}) {
    json.set(name, conversation.titled[name]);
  }
  json.set("created_at", local_time(conversation.row.created));
  json.set("updated_at", local_time(conversation.row.updated));
  json.set("virtual_user_id", Tree::integer(options.user_id));
  json.set("virtual_user_name", "system");
  for (const auto& [name, value] : conversation.titled.members()) {
    const bool is_time = name.view().ends_with("_at") && value.is_number();
    json.set(name, is_time ? Tree::text(local_time(value.integer_or(0))) : value);
  }
  return json;
}

Tree record_json(const chat::HistoryRecord& record, const ApiOptions& options) {
  const std::string user = std::to_string(options.user_id);
  const Tree& item = record.item;
  Tree json = Tree::object();
  json.set("message_id", item["message_id"]);
  json.set("role", item["role"]);
  json.set("type", "private");
  json.set("chat_id", user);
  json.set("user_id", user);
  json.set("chat_name", "system");
  json.set("display_name", record.is_user ? "system" : "Bot");
  json.set("timestamp", item["timestamp"]);
  json.set("message", item["content"]);
  json.set("attachments", item["attachments"].is_array() ? item["attachments"] : Tree::array());
  if (item["references"].is_array()) json.set("references", item["references"]);
  return json;
}

}  // namespace millrace::api
