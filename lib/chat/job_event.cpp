#include "chat/job_event.hpp"

#include <charconv>
#include <system_error>

namespace millrace::chat {
namespace {

std::optional<std::uint64_t> read_count(std::string_view text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

}  // namespace

std::optional<Cursor> parse_cursor(std::string_view text) {
  const std::size_t dot = text.find('.');
  const auto seq = read_count(text.substr(0, dot));
  if (!seq) return std::nullopt;
  if (dot == std::string_view::npos) return Cursor{*seq, 0};
  const auto part = read_count(text.substr(dot + 1));
  if (!part) return std::nullopt;
  return Cursor{*seq, *part};
}

std::string cursor_text(Cursor cursor) {
  std::string text = std::to_string(cursor.seq);
  if (cursor.part > 0) text.append(".").append(std::to_string(cursor.part));
  return text;
}

std::string_view name_of(JobMode mode) {
  return mode == JobMode::command ? "command" : "chat";
}

}  // namespace millrace::chat
