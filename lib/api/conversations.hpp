// Conversations: the threads of a principal as the chat routes show them.
//
// The functions with a backend run on the thread of the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_options.hpp"
#include "base/json_tree.hpp"
#include "base/result.hpp"
#include "chat/history.hpp"
#include "store/backend.hpp"

namespace millrace::api {

// Threads whose names begin so are no conversations.
inline constexpr std::string_view own_threads = "millrace:";

struct Conversation {
  store::ThreadRow row;
  json::Tree titled;  // the title and how it came about (chat/titles.hpp)
};

Result<std::optional<Conversation>> load_conversation(store::StorageBackend& backend,
                                                      const std::string& principal,
                                                      std::string_view id);
// As it is stored.
store::ThreadRow thread_row_of(const Conversation& conversation);
Result<void> save_conversation(store::StorageBackend& backend, Conversation& conversation);
// Not saved. A title that is given stays; without one it follows the first question.
Conversation make_conversation(const std::string& principal, std::string id, std::string_view title,
                               std::int64_t now_ms);

// In the order of the thread. A run's answers are one record.
std::vector<chat::HistoryRecord> records_of(const std::vector<store::MessageRow>& messages);

// Shape: {id, title, title_source, title_status, created_at, updated_at, virtual_user_id} and what
// else is known of the title.
json::Tree conversation_json(const Conversation& conversation, const ApiOptions& options);
// Shape: {message_id, type, chat_id, user_id, chat_name, display_name, timestamp, message,
// attachments, references?, webchat?}.
json::Tree record_json(const chat::HistoryRecord& record, const ApiOptions& options);

}  // namespace millrace::api
