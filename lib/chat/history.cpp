#include "chat/history.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>
#include <utility>

#include "base/ascii.hpp"
#include "base/json.hpp"
#include "base/sha256.hpp"
#include "chat/call_tree.hpp"
#include "chat/text.hpp"

namespace millrace::chat {
namespace {

using json::Tree;

constexpr std::size_t hexadecimal_digits = 32;
constexpr std::string_view id_prefix = "msg_";

// Outputs are trimmed.
std::string content_of(const Tree& message) {
  std::string text = text_of_content(message["content"]);
  return message["role"].string() == "user" ? text : std::string(json::trim(text));
}

std::string timestamp_of(const Tree& message, std::int64_t utc_offset_minutes) {
  // As it was written elsewhere.
  if (message["timestamp"].is_string()) return std::string(message["timestamp"].string());
  if (!message["createdAt"].is_number()) return {};
  return time_text(message["createdAt"].integer_or(0), utc_offset_minutes);
}

void append_items(Tree& item, std::string_view key, const Tree& list) {
  if (list.items().empty()) return;
  Tree* known = item.find(key);
  Tree& joined = known != nullptr && known->is_array() ? *known : item.set(key, Tree::array());
  for (const Tree& entry : list.items()) joined.push(entry);
}

HistoryRecord record_of(const Tree& message, bool is_user, std::int64_t utc_offset_minutes) {
  HistoryRecord record;
  record.is_user = is_user;
  record.run = message["run"].string();
  record.item = Tree::object();
  record.item.set("message_id", message_id_of(message["id"].string()));
  record.item.set("role", is_user ? "user" : "bot");
  record.item.set("content", content_of(message));
  record.item.set("timestamp", timestamp_of(message, utc_offset_minutes));
  append_items(record.item, "attachments", message["attachments"]);
  append_items(record.item, "references", message["references"]);
  record.block = message["webchat"];
  record.is_display_only = message["displayOnly"].is_true();
  record.is_edited = message["edited"].is_true();
  record.at_ms = message["createdAt"].integer_or(0);
  return record;
}

// Joins a further message of the same turn. Its text goes to `content`, which becomes the record's
// once for all of them: a turn may have tens of thousands.
void join(HistoryRecord& record, std::string& content, const Tree& message,
          std::int64_t utc_offset_minutes) {
  const std::string more = content_of(message);
  if (!more.empty() && !content.empty()) content.append("\n\n");
  content.append(more);
  record.item.set("timestamp", timestamp_of(message, utc_offset_minutes));
  append_items(record.item, "attachments", message["attachments"]);
  record.is_edited = record.is_edited || message["edited"].is_true();
}

std::optional<std::int64_t> read_number(std::string_view text) {
  text = json::trim(text);
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

std::string text_of_content(const Tree& content) {
  std::string text(content.string());
  for (const Tree& part : content.items()) {
    if (part["type"].string() == "text") text.append(part["text"].string());
  }
  return text;
}

std::vector<HistoryRecord> history_records(const Tree& messages, std::int64_t utc_offset_minutes) {
  std::vector<HistoryRecord> records;
  bool is_open = false;  // the last record is a turn that goes on
  std::string content;   // of that turn, where it has several messages
  const auto close = [&] {
    if (!content.empty()) records.back().item.set("content", content);
    content.clear();
    is_open = false;
  };
  for (const Tree& message : messages.items()) {
    const std::string_view role = message["role"].string();
    if (role != "user" && role != "assistant") continue;
    const std::string_view run = message["run"].string();
    const bool is_user = role == "user";
    if (!is_user && is_open && !run.empty() && records.back().run == run) {
      if (content.empty()) content = records.back().item["content"].string();
      join(records.back(), content, message, utc_offset_minutes);
      continue;
    }
    close();
    records.push_back(record_of(message, is_user, utc_offset_minutes));
    is_open = !is_user;
  }
  close();
  return records;
}

bool has_texts(const HistoryRecord& answer, const Tree& block) {
  const std::string_view content = answer.item["content"].string();
  bool has_some = false;
  for (const Tree& event : block["events"].items()) {
    if (event["event"].string() != "message") continue;
    has_some = true;
    if (content.find(event["payload"]["content"].string()) == std::string_view::npos) return false;
  }
  return has_some;
}

std::optional<Tree> history_item(const HistoryRecord& record, const Tree& block) {
  Tree item = record.item;
  Tree shown;
  if (!record.is_user) {
    shown = shown_block(record.is_edited ? with_text(block, item["content"].string()) : block);
  }
  const bool is_empty = json::trim(item["content"].string()).empty() &&
                        item.find("attachments") == nullptr && shown.is_null();
  if (is_empty) return std::nullopt;
  if (!shown.is_null()) item.set("webchat", std::move(shown));
  return item;
}

std::string message_id_of(std::string_view id) {
  if (id.starts_with(id_prefix)) return std::string(id);
  std::string digits;
  const bool is_plain =
      std::all_of(id.begin(), id.end(), [](char c) { return is_ascii_hex_digit(c) || c == '-'; });
  for (const char c : id) {
    if (c != '-') digits.push_back(to_lower(c));
  }
  if (!is_plain || digits.size() != hexadecimal_digits) {
    digits = sha256_hex(id).substr(0, hexadecimal_digits);
  }
  return std::string(id_prefix) + digits;
}

HistoryPage history_page(std::size_t total, std::string_view limit, std::string_view before) {
  HistoryPage page;
  const std::int64_t wanted =
      read_number(limit).value_or(static_cast<std::int64_t>(default_page_limit));
  page.limit = static_cast<std::size_t>(
      std::clamp<std::int64_t>(wanted, 1, static_cast<std::int64_t>(most_page_limit)));
  const auto place = read_number(before);
  if (place && *place >= 0) page.before = static_cast<std::size_t>(*place);
  page.end = std::min(page.before.value_or(total), total);
  page.begin = page.end > page.limit ? page.end - page.limit : 0;
  return page;
}

void add_page_members(Tree& answer, const HistoryPage& page, std::size_t total) {
  const auto number = [](std::size_t value) {
    return Tree::integer(static_cast<std::int64_t>(value));
  };
  answer.set("limit", number(page.limit));
  answer.set("before", page.before ? number(*page.before) : Tree());
  answer.set("has_more", Tree::flag(page.has_more()));
  answer.set("next_before", page.has_more() ? number(page.begin) : Tree());
  answer.set("total", number(total));
}

}  // namespace millrace::chat
