#include "adapter/response_notes.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.hpp"

namespace millrace::adapter {
namespace {

// What a response repeats of its request.
constexpr std::array<std::string_view, 20> repeated{"instructions",
                                                    "max_output_tokens",
                                                    "max_tool_calls",
                                                    "metadata",
                                                    "output_text",
                                                    "parallel_tool_calls",
                                                    "previous_response_id",
                                                    "prompt",
                                                    "prompt_cache_key",
                                                    "prompt_cache_options",
                                                    "prompt_cache_retention",
                                                    "reasoning",
                                                    "safety_identifier",
                                                    "temperature",
                                                    "text",
                                                    "tool_choice",
                                                    "tools",
                                                    "top_p",
                                                    "truncation",
                                                    "user"};

constexpr std::string_view number_member = "sequence_number";

void append_retained(std::string& out, const json::Member& member) {
  out.append(out.ends_with('{') ? "\"" : ",\"");
  json::append_escaped(out, member.key, json::Surrogates::keep);
  out.append("\":");
  member.value.write(out, json::Surrogates::keep);
}

std::string response_of(const json::Value& response, bool has_items) {
  std::string out = "{";
  for (const json::Member& member : response.members()) {
    const bool is_repeated =
        std::find(repeated.begin(), repeated.end(), member.key) != repeated.end();
    if (!is_repeated && !(has_items && member.key == "output")) append_retained(out, member);
  }
  return out + "}";
}

}  // namespace

void ResponseNotes::add(const json::Value& record, const Kind& kind) {
  std::string members = "{";
  std::string number;
  const bool joins = kind.joins && record["delta"].is_string();
  for (const json::Member& member : record.members()) {
    const bool is_left_out = member.key == "obfuscation" || member.key == kind.known ||
                             (member.key == "logprobs" && !kind.keeps_logprobs);
    if (is_left_out || (joins && member.key == "delta")) continue;
    if (member.key == number_member) {
      number = member.value.number_text();
    } else if (member.key == "response" && member.value.is_object()) {
      json::append_raw_member(members, "response", response_of(member.value, kind.has_items));
    } else {
      append_retained(members, member);
    }
  }
  const bool has_logprobs = kind.keeps_logprobs && record["logprobs"].size() > 0;
  const bool goes_on =
      joins && !has_logprobs && members == piece_ && !utf8::ends_with_high_surrogate(delta_);
  if (piece_.empty()) number_.clear();
  if (!goes_on) end_piece();
  number_ = std::move(number);
  piece_ = std::move(members);
  if (joins) {
    delta_.append(record["delta"].string());
    if (has_logprobs) end_piece();
    return;
  }
  if (!number_.empty()) json::append_raw_member(piece_, number_member, number_);
  number_.clear();
  lines_.append(std::exchange(piece_, {})).append("}\n");
}

void ResponseNotes::add_number(const json::Value& record) {
  if (!piece_.empty()) end_piece();
  number_ = record[number_member].number_text();
}

void ResponseNotes::end_piece() {
  if (!piece_.empty()) {
    json::append_member(piece_, "delta", delta_, json::Surrogates::keep);
  } else if (!number_.empty()) {
    // An event that reports nothing.
    piece_ = R"({"type":"response.content_part.added")";
  } else {
    return;
  }
  if (!number_.empty()) json::append_raw_member(piece_, number_member, number_);
  lines_.append(std::exchange(piece_, {})).append("}\n");
  number_.clear();
  delta_.clear();
}

std::string ResponseNotes::take() {
  end_piece();
  return std::exchange(lines_, {});
}

}  // namespace millrace::adapter
