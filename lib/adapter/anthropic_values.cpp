#include "adapter/anthropic_values.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "adapter/adapter.hpp"

namespace millrace::adapter {
namespace {

// Stop reasons that mean the answer is not whole, besides those that cut_sentence knows.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> stop_sentences{{
    {"model_context_window_exceeded",
     "The response was cut off because the model's context window is full."},
    {"refusal", "The model refused to answer."},
}};

}  // namespace

std::optional<std::string_view> anthropic_sentence(std::string_view reason) {
  if (const auto sentence = cut_sentence(reason)) return sentence;
  const auto* row = std::find_if(stop_sentences.begin(), stop_sentences.end(),
                                 [&](const auto& r) { return r.first == reason; });
  if (row == stop_sentences.end()) return std::nullopt;
  return row->second;
}

std::string block_without(const json::Value& object,
                          std::initializer_list<std::string_view> left_out) {
  std::string out = "{";
  for (const json::Member& member : object.members()) {
    if (std::find(left_out.begin(), left_out.end(), member.key) != left_out.end()) continue;
    json::append_member(out, member);
  }
  out.push_back('}');
  return out;
}

std::string result_content(const json::Value& content) {
  if (content.is_nothing()) return {};
  if (content.is_string()) return std::string(content.string());
  std::string joined;
  bool only_texts = content.is_array();
  for (const json::Value item : content.items()) {
    only_texts = only_texts && item["type"].string() == "text";
    joined.append(item["text"].string());
  }
  return only_texts ? joined : content.to_json();
}

bool is_joined_content(const json::Value& content) {
  for (const json::Value item : content.items()) {
    if (item["type"].string() != "text") return false;
  }
  return content.is_array() && content.size() > 0;
}

}  // namespace millrace::adapter
