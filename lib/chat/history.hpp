// The messages of a thread as the items of a chat's history, and its pages.
//
// A turn of the agent is one item: all its messages, joined by blank lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.hpp"

namespace millrace::chat {

// One record of the history. Records are counted whether or not they are shown.
struct HistoryRecord {
  bool is_user = false;
  std::string run;  // that wrote it or was started with it; "" is unknown
  // Shape: {message_id, role: "user" | "bot", content, timestamp, attachments?, references?}; with
  // pending: true where the run at work has not taken it yet.
  json::Tree item;
  json::Tree block;              // what its run did, where the message has it; null otherwise
  bool is_display_only = false;  // no part of what a model sees
  std::int64_t at_ms = 0;        // when it was written; 0 is unknown
  bool is_edited = false;        // its text is no longer what its run wrote
};

// The text of a message's content, also of one that has parts.
std::string text_of_content(const json::Tree& content);

// The messages of a thread, in their order, as records. Messages of tools, of the system and of
// reasoning belong to the turn that they are in.
std::vector<HistoryRecord> history_records(const json::Tree& messages,
                                           std::int64_t utc_offset_minutes);

// Whether a block has texts, and the answer has each of them.
bool has_texts(const HistoryRecord& answer, const json::Tree& block);

// The item with what its run did, or nothing for a record that shows nothing. `block` is a stored
// block (call_tree.hpp) or null.
std::optional<json::Tree> history_item(const HistoryRecord& record, const json::Tree& block);

// The id of a message in this API: "msg_" and 32 hexadecimal digits, or what begins so already.
std::string message_id_of(std::string_view id);

struct HistoryPage {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t limit = 0;
  std::optional<std::size_t> before;
  [[nodiscard]] bool has_more() const { return begin > 0; }
};

inline constexpr std::size_t default_page_limit = 50;
inline constexpr std::size_t most_page_limit = 500;

// The records of a page. `limit` and `before` are as a query has them: what is no number counts as
// none, limits are brought into their range.
HistoryPage history_page(std::size_t total, std::string_view limit, std::string_view before);

// The members of a page's answer that the page itself decides.
// Shape: {limit, before, has_more, next_before, total}.
void add_page_members(json::Tree& answer, const HistoryPage& page, std::size_t total);

}  // namespace millrace::chat
