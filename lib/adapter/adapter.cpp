#include "adapter/adapter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/ascii.hpp"

namespace millrace::adapter {
namespace {

constexpr std::string_view length_sentence =
    "The response was cut off because it reached the maximum output length.";
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> cut_reasons{{
    {"length", length_sentence},
    {"max_output_tokens", length_sentence},
    {"max_tokens", length_sentence},
    {"content_filter", filter_sentence},
    {"content-filter", filter_sentence},
}};

// Of DeepSeek, Mistral, OpenRouter, Zhipu and MiniMax, and of vLLM and llama-cpp-python, whose
// server aborts an answer.
constexpr std::string_view context_sentence =
    "The response was cut off because the model's context window is full.";
constexpr std::string_view failure_sentence = "The provider failed before the answer was complete.";
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> failed_reasons{{
    {"error", failure_sentence},
    {"abort", failure_sentence},
    {"network_error", failure_sentence},
    {"insufficient_system_resource", failure_sentence},
    {"sensitive", filter_sentence},
    {"model_length", context_sentence},
    {"model_context_window_exceeded", context_sentence},
    {"repetition_truncation", "The response was stopped because it repeats itself."},
}};

template <std::size_t size>
std::optional<std::string_view> find_sentence(
    const std::array<std::pair<std::string_view, std::string_view>, size>& rows,
    std::string_view reason) {
  const auto* row =
      std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.first == reason; });
  if (row == rows.end()) return std::nullopt;
  return row->second;
}

std::string code_text(const json::Value& code) {
  if (const auto text = code.filled_string()) return std::string(*text);
  if (!code.is_number() || !code.truthy()) return {};
  // 429.0 and 4.29e2 are the code 429.
  constexpr double exact_limit = 1e15;
  const double number = code.number().value_or(exact_limit);
  if (std::abs(number) >= exact_limit || number != std::trunc(number)) {
    return std::string(code.number_text());
  }
  return std::to_string(static_cast<std::int64_t>(number));
}

// The words in the body of an error of any vendor's, or "".
std::string words_in(const json::Value& body) {
  const json::Value whole = body.is_array() && body.size() > 0 ? *body.items().begin() : body;
  const json::Value error = whole["error"];
  for (const json::Value& place : {error["message"], error, whole["message"], whole["detail"]}) {
    if (const auto text = place.filled_string()) return std::string(*text);
  }
  return {};
}

std::string words_in(std::string_view body) {
  json::Document document;
  const auto parsed = document.parse(body);
  std::string words = parsed ? words_in(parsed.value()) : std::string();
  return words.empty() ? std::string(body) : words;
}

}  // namespace

ErrorRecord read_error(const json::Value& error, std::string_view otherwise) {
  // Bedrock writes the object of an error as a text.
  if (error.string().starts_with('{')) {
    json::Document document;
    const auto parsed = document.parse(error.string());
    const json::Value whole = parsed ? parsed.value() : json::Value();
    const json::Value inner = whole["error"].is_object() ? whole["error"] : whole;
    if (inner["message"].filled_string()) return read_error(inner, otherwise);
  }
  const std::string_view message = error.is_string() ? error.string() : error["message"].string();
  return {std::string(message.empty() ? otherwise : message), code_text(error["code"]),
          std::string(error["type"].string())};
}

std::optional<ErrorRecord> error_of(const json::Value& record) {
  // vLLM's errors are the record itself.
  const json::Value error = record["object"].string() == "error" ? record : record["error"];
  if (error.is_nothing()) return std::nullopt;
  ErrorRecord result = read_error(error, {});
  if (result.message.empty() && result.code.empty()) return std::nullopt;
  if (result.message.empty()) result.message = "Stream error";
  // Hugging Face writes the type beside the error.
  if (result.type.empty()) result.type = record["error_type"].string();
  return result;
}

std::string relayed_message(std::string_view message, const json::Value& error) {
  const json::Value raw = error["metadata"]["raw"];
  std::string words = raw.is_string() ? words_in(raw.string()) : words_in(raw);
  if (words.empty()) return std::string(message);
  const std::string_view vendor = error["metadata"]["provider_name"].string();
  const bool is_page = words.starts_with('<');
  if (!vendor.empty() && !is_page) words.insert(0, std::string(vendor) + ": ");
  // OpenRouter's own words say nothing.
  if (message.empty() || message == "Provider returned error" || is_page) return words;
  return std::string(message) + " (" + words + ")";
}

void fail_with(event::PartTracker& parts, event::Mode mode, const ErrorRecord& error) {
  const bool by_type = error.code.empty() && mode == event::Mode::strict;
  parts.fail(by_type ? error.type : error.code, error.message);
}

std::optional<std::string_view> cut_sentence(std::string_view reason) {
  return find_sentence(cut_reasons, reason);
}

std::optional<std::string_view> stop_sentence(std::string_view reason) {
  const std::string lower = lowered(reason);
  const auto cut = cut_sentence(lower);
  return cut ? cut : find_sentence(failed_reasons, lower);
}

void fail_crowded(event::PartTracker& parts) {
  parts.fail(row_of(Errc::too_many_parts).code, "More than " + std::to_string(open_blocks_limit) +
                                                    " blocks of the answer are open at a time.");
}

}  // namespace millrace::adapter
