#include "chat/legacy_import.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <system_error>

#include "base/ascii.hpp"
#include "base/json.hpp"
#include "chat/ids.hpp"
#include "chat/titles.hpp"

namespace millrace::chat {
namespace {

using json::Tree;

constexpr auto title_statuses =
    std::to_array<std::string_view>({"temporary", "pending", "generated", "manual", "failed"});
constexpr auto title_times =
    std::to_array<std::string_view>({"title_updated_at", "title_requested_at", "title_failed_at"});

// A number of a fixed width, which is removed from the text.
std::optional<int> take_digits(std::string_view& text, std::size_t width) {
  int number = 0;
  if (text.size() < width) return std::nullopt;
  const auto read = std::from_chars(text.data(), text.data() + width, number);
  if (read.ec != std::errc() || read.ptr != text.data() + width || number < 0) return std::nullopt;
  text.remove_prefix(width);
  return number;
}

bool take_one_of(std::string_view& text, std::string_view characters) {
  if (text.empty() || characters.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Minutes of "+01:00" or "Z"; nothing where the text has none.
std::optional<std::int64_t> take_zone(std::string_view& text) {
  if (text == "Z" || text == "z") {
    text = {};
    return 0;
  }
  const bool is_west = text.starts_with('-');
  if (!take_one_of(text, "+-")) return std::nullopt;
  const auto hours = take_digits(text, 2);
  static_cast<void>(take_one_of(text, ":"));
  const auto minutes = take_digits(text, 2);
  if (!hours || !minutes) return std::nullopt;
  const std::int64_t offset = *hours * 60 + *minutes;
  return is_west ? -offset : offset;
}

std::optional<std::chrono::sys_days> take_date(std::string_view& text) {
  const auto year = take_digits(text, 4);
  if (!year || !take_one_of(text, "-")) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take_one_of(text, "-")) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

// Milliseconds of "20:44:34.684".
std::optional<std::int64_t> take_clock(std::string_view& text) {
  const auto hours = take_digits(text, 2);
  if (!hours || !take_one_of(text, ":")) return std::nullopt;
  const auto minutes = take_digits(text, 2);
  if (!minutes) return std::nullopt;
  std::int64_t second_count = 0;
  std::int64_t millis = 0;
  if (take_one_of(text, ":")) {
    const auto seconds = take_digits(text, 2);
    if (!seconds) return std::nullopt;
    second_count = *seconds;
    if (take_one_of(text, ".")) {
      for (std::int64_t weight = 100; !text.empty() && is_ascii_digit(text.front()); weight /= 10) {
        millis += (text.front() - '0') * weight;
        text.remove_prefix(1);
      }
    }
  }
  if (*hours > 23 || *minutes > 59 || second_count > 60) return std::nullopt;
  return ((*hours * 60 + *minutes) * 60 + second_count) * 1000 + millis;
}

bool is_of_bot(const Tree& record) {
  const std::string role = lowered(record["role"].string());
  if (role == "bot" || role == "assistant") return true;
  return role.empty() && equal_ignoring_case(record["display_name"].string(), "bot");
}

std::string text_of_record(const Tree& record) {
  const Tree& text = record["message"].is_string() ? record["message"] : record["content"];
  return std::string(text.string());
}

Tree message_of(const Tree& record, std::string_view conversation, std::size_t index,
                std::int64_t utc_offset_minutes) {
  const bool is_bot = is_of_bot(record);
  const std::string text = text_of_record(record);
  const std::string_view timestamp = record["timestamp"].string();
  std::string id = reduced_id(record["message_id"].string(), message_id_limit);
  if (id.empty()) {
    id = legacy_message_id(conversation, index, is_bot ? "bot" : "user", timestamp, text);
  }
  Tree message = Tree::object();
  message.set("id", id);
  message.set("role", is_bot ? "assistant" : "user");
  message.set("content", text);
  if (!timestamp.empty()) message.set("timestamp", timestamp);
  if (const auto at = parse_time(timestamp, utc_offset_minutes)) {
    message.set("createdAt", Tree::integer(*at));
  }
  for (const std::string_view key : {"attachments", "references"}) {
    if (!record[key].items().empty()) message.set(key, record[key]);
  }
  if (record["webchat"].is_object()) message.set("webchat", record["webchat"]);
  const bool is_empty = json::trim(text).empty() && message.find("attachments") == nullptr;
  if (is_empty) message.set("displayOnly", Tree::flag(true));
  return message;
}

void import_records(ImportedConversation& made, const Tree& records,
                    std::int64_t utc_offset_minutes) {
  std::size_t index = 0;
  for (const Tree& record : records.items()) {
    if (record.is_object()) {
      made.messages.push(message_of(record, made.id, index, utc_offset_minutes));
    } else {
      ++made.skipped;
    }
    ++index;
  }
}

std::string_view first_question(const Tree& messages) {
  for (const Tree& message : messages.items()) {
    const std::string_view text = message["content"].string();
    if (message["role"].string() == "user" && !json::trim(text).empty()) return text;
  }
  return {};
}

void import_title(ImportedConversation& made, const Tree& file, std::int64_t utc_offset_minutes) {
  begin_title(made.titled, {}, made.updated_ms);
  const std::string title = clean_title(file["title"].string());
  if (!title.empty()) made.titled.set("title", title);
  const std::string_view status = file["title_status"].string();
  for (const std::string_view known : title_statuses) {
    if (status != known) continue;
    made.titled.set("title_status", status);
    const std::string_view source = file["title_source"].string();
    if (!source.empty()) {
      made.titled.set("title_source", source);
    } else if (status == "manual" || status == "generated") {
      made.titled.set("title_source", status == "manual" ? status : std::string_view("model"));
    }
  }
  for (const std::string_view key : {"title_basis_hash", "legacy_source"}) {
    if (!file[key].string().empty()) made.titled.set(key, file[key]);
  }
  for (const std::string_view key : title_times) {
    const auto at = parse_time(file[key].string(), utc_offset_minutes);
    if (at) made.titled.set(key, Tree::integer(*at));
  }
  const auto migrated = parse_time(file["migrated_at"].string(), utc_offset_minutes);
  if (migrated) made.titled.set("migrated_at", Tree::integer(*migrated));
}

}  // namespace

std::optional<std::int64_t> parse_time(std::string_view text, std::int64_t utc_offset_minutes) {
  constexpr std::int64_t minute_ms = 60'000;
  text = json::trim(text);
  const auto day = take_date(text);
  if (!day) return std::nullopt;
  std::int64_t clock = 0;
  if (take_one_of(text, "T ")) {
    const auto read = take_clock(text);
    if (!read) return std::nullopt;
    clock = *read;
  }
  const auto zone = text.empty() ? std::optional(utc_offset_minutes) : take_zone(text);
  if (!zone || !text.empty()) return std::nullopt;
  const std::int64_t days =
      std::chrono::duration_cast<std::chrono::milliseconds>(day->time_since_epoch()).count();
  return days + clock - *zone * minute_ms;
}

std::optional<ImportedConversation> import_conversation(const Tree& file,
                                                        std::int64_t utc_offset_minutes,
                                                        std::int64_t now_ms) {
  ImportedConversation made;
  made.id = reduced_id(file["id"].string());
  if (made.id.empty()) return std::nullopt;
  made.created_ms = parse_time(file["created_at"].string(), utc_offset_minutes).value_or(now_ms);
  made.updated_ms =
      parse_time(file["updated_at"].string(), utc_offset_minutes).value_or(made.created_ms);
  import_records(made, file["messages"], utc_offset_minutes);
  import_title(made, file, utc_offset_minutes);
  return made;
}

ImportedConversation import_history(const Tree& records, std::string_view source,
                                    std::int64_t utc_offset_minutes, std::int64_t now_ms) {
  ImportedConversation made;
  made.id = default_conversation;
  made.created_ms = made.updated_ms = now_ms;
  import_records(made, records, utc_offset_minutes);
  begin_title(made.titled, {}, now_ms);
  title_from_message(made.titled, first_question(made.messages), now_ms);
  made.titled.set("legacy_source", source);
  made.titled.set("migrated_at", Tree::integer(now_ms));
  return made;
}

}  // namespace millrace::chat
