#include "tool/result_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "base/visible_text.hpp"

namespace millrace::tool {
namespace {

// Names of tags that chat templates and tool protocols give a meaning.
constexpr std::array<std::string_view, 33> marked_tags{"system",
                                                       "user",
                                                       "assistant",
                                                       "human",
                                                       "developer",
                                                       "tool",
                                                       "tools",
                                                       "tool_call",
                                                       "tool_calls",
                                                       "tool_use",
                                                       "tool_result",
                                                       "tool_results",
                                                       "tool_response",
                                                       "tool_outputs",
                                                       "function",
                                                       "function_call",
                                                       "function_calls",
                                                       "function_result",
                                                       "function_results",
                                                       "invoke",
                                                       "parameter",
                                                       "think",
                                                       "thinking",
                                                       "instructions",
                                                       "s",
                                                       "start_of_turn",
                                                       "end_of_turn",
                                                       "bos",
                                                       "eos",
                                                       "pad",
                                                       "unk",
                                                       "tool_code",
                                                       "tool_output"};

// Marks of chat templates in brackets (Llama 2, Mistral), and those that are no tags.
constexpr std::array<std::string_view, 7> bracketed{
    "inst",          "tool_calls",    "tool_results", "tool_content", "available_tools",
    "system_prompt", "model_settings"};
constexpr std::array<std::string_view, 2> marks{"<<sys>>", "<</sys>>"};
// How the marks of DeepSeek begin: a bar of full width.
constexpr std::string_view wide_bar = "\xEF\xBD\x9C";

// Words that begin a speaker's turn when they stand at the start of a line.
constexpr std::array<std::string_view, 6> speakers{
    "human:", "user:", "assistant:", "system:", "developer:", "tool:"};

bool begins_with(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(),
                                                  [](char a, char b) { return a == to_lower(b); });
}

bool is_tag_character(char c) {
  return (to_lower(c) >= 'a' && to_lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

// Whether a tag that opens here ("<", "</", with blanks) is one that means something to models.
bool is_marked_tag(std::string_view text) {
  std::size_t at = 1;
  while (at < text.size() && (text[at] == '/' || text[at] == ' ')) ++at;
  if (at < text.size() && (text[at] == '|' || text.substr(at).starts_with(wide_bar))) return true;
  std::size_t end = at;
  while (end < text.size() && is_tag_character(text[end])) ++end;
  const std::size_t colon = end < text.size() && text[end] == ':' ? end + 1 : 0;
  if (colon != 0) {
    // A name with a prefix counts by what stands behind it.
    at = end = colon;
    while (end < text.size() && is_tag_character(text[end])) ++end;
  }
  const std::string_view name = text.substr(at, end - at);
  return std::any_of(marked_tags.begin(), marked_tags.end(), [&](std::string_view tag) {
    return name.size() == tag.size() && begins_with(name, tag);
  });
}

// Whether a mark in brackets opens here.
bool is_bracketed(std::string_view text) {
  text.remove_prefix(text.starts_with("[/") ? 2 : 1);
  return std::any_of(bracketed.begin(), bracketed.end(), [&](std::string_view name) {
    return begins_with(text, name) && text.substr(name.size()).starts_with(']');
  });
}

// Breaks up what a model could take for the start of somebody else's turn.
std::string without_marks(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool is_line_start = true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    const char c = rest.front();
    if (is_line_start && c != ' ' && c != '\t') {
      const bool speaks = std::any_of(speakers.begin(), speakers.end(), [&](std::string_view word) {
        return begins_with(rest, word);
      });
      if (speaks) out.append("> ");
      is_line_start = false;
    }
    if (c == '\n') is_line_start = true;
    out.push_back(c);
    const bool is_mark =
        (c == '[' && is_bracketed(rest)) ||
        (c == '<' && std::any_of(marks.begin(), marks.end(),
                                 [&](std::string_view mark) { return begins_with(rest, mark); }));
    // A blank that stands there already breaks it up: text that was made safe stays as it is.
    const bool is_tight = rest.size() < 2 || rest[1] != ' ';
    if (is_mark || (c == '<' && is_tight && is_marked_tag(rest))) out.push_back(' ');
  }
  return out;
}

// The line by which a text says that it was cut before; at its end when there is none.
struct CutMark {
  std::size_t at = 0;
  std::size_t missing = 0;
  bool is_least = false;  // more than that may be missing
};

constexpr std::string_view mark_begin = "\n[cut here: ";
constexpr std::string_view mark_least = "at least ";
constexpr std::string_view mark_end = " more bytes]";

CutMark cut_mark(std::string_view text) {
  constexpr std::size_t longest = 64;
  constexpr std::size_t most_missing = std::size_t{1} << 50U;
  const std::size_t at = text.rfind(mark_begin);
  const CutMark none{text.size(), 0, false};
  if (at == text.npos || text.size() - at > longest) return none;
  CutMark mark{at, 0, true};
  std::string_view words = text.substr(at + mark_begin.size());
  if (words == "the answer is longer]" || words == "the output is longer]") return mark;
  mark.is_least = words.starts_with(mark_least);
  if (mark.is_least) words.remove_prefix(mark_least.size());
  const auto [end, error] =
      std::from_chars(words.data(), words.data() + words.size(), mark.missing);
  const bool is_read = error == std::errc() && mark.missing < most_missing;
  words.remove_prefix(static_cast<std::size_t>(end - words.data()));
  return is_read && words == mark_end ? mark : none;
}

}  // namespace

std::string result_text(std::string_view text, std::size_t limit) {
  // The mark of a text that was cut before takes no room, and what it tells of is missing as well.
  const CutMark mark = text.size() > limit ? cut_mark(text) : CutMark{text.size(), 0, false};
  const std::string_view body = text.substr(0, mark.at);
  // Only what can be part of the result is looked at; what grows or shrinks on the way is little.
  const std::size_t seen = std::min(body.size(), limit * 2);
  std::string out = without_marks(visible_text(body.substr(0, seen)));
  if (out.size() <= limit && seen == body.size()) {
    return out.append(text.substr(mark.at));
  }
  if (out.size() > limit) out.resize(limit);
  out.resize(out.size() - utf8::unfinished_tail(out));
  const std::size_t missing =
      mark.missing + (body.size() > out.size() ? body.size() - out.size() : 0);
  out.append(mark_begin).append(mark.is_least ? mark_least : std::string_view());
  return out.append(std::to_string(missing)).append(mark_end);
}

}  // namespace millrace::tool
