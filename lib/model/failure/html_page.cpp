#include "model/failure/html_page.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "base/error.hpp"

namespace millrace::model {
namespace {

constexpr std::string_view blanks = " \t\r\n\f";

// A note or a declaration that the text begins with; 0 when it begins with neither.
std::size_t length_of_lead(std::string_view text) {
  for (const auto& [begin, end] : {std::pair<std::string_view, std::string_view>{"<!--", "-->"},
                                   std::pair<std::string_view, std::string_view>{"<?xml", "?>"}}) {
    if (!text.starts_with(begin)) continue;
    const std::size_t at = text.find(end);
    return at == std::string_view::npos ? 0 : at + end.size();
  }
  return 0;
}

std::string_view without_lead(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    const std::size_t lead = length_of_lead(text);
    if (lead == 0) return text;
    text.remove_prefix(lead);
  }
}

bool begins_page(std::string_view text) {
  constexpr std::array<std::string_view, 6> tags{"<!doctype html", "<html",  "<head",
                                                 "<body",          "<title", "<center"};
  return std::any_of(tags.begin(), tags.end(), [&](std::string_view tag) {
    const std::string_view rest = text.substr(std::min(tag.size(), text.size()));
    const bool is_whole = rest.empty() || rest[0] == '>' || rest[0] == '/' ||
                          blanks.find(rest[0]) != std::string_view::npos;
    return is_whole && equal_ignoring_case(text.substr(0, tag.size()), tag);
  });
}

std::string title_of(std::string_view page) {
  constexpr std::size_t title_bytes = 120;
  const std::string lower = lowered(page);
  const std::size_t tag = lower.find("<title");
  if (tag == std::string::npos) return {};
  const std::size_t begin = lower.find('>', tag);
  const std::size_t end = lower.find("</title", tag);
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  std::string title;
  bool is_apart = false;
  for (const char c : page.substr(begin + 1, end - begin - 1)) {
    const bool is_blank = blanks.find(c) != std::string_view::npos;
    if (!is_blank && is_apart && !title.empty()) title.push_back(' ');
    if (!is_blank) title.push_back(c);
    is_apart = is_blank;
  }
  return redacted(title, title_bytes);
}

}  // namespace

std::string html_page(std::string_view text) {
  const std::string_view page = without_lead(text);
  if (!begins_page(page)) return {};
  const std::string title = title_of(page);
  return title.empty() ? std::string("an HTML page") : "an HTML page titled \"" + title + "\"";
}

}  // namespace millrace::model
