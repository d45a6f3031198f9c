#include "adapter/adapter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

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

}  // namespace

ErrorRecord read_error(const json::Value& error, std::string_view otherwise) {
  const std::string_view message = error.is_string() ? error.string() : error["message"].string();
  return {std::string(message.empty() ? otherwise : message), code_text(error["code"])};
}

std::optional<ErrorRecord> error_of(const json::Value& record) {
  // vLLM's errors are the record itself.
  const json::Value error = record["object"].string() == "error" ? record : record["error"];
  ErrorRecord result = read_error(error, {});
  if (result.message.empty() && result.code.empty()) return std::nullopt;
  if (result.message.empty()) result.message = "Stream error";
  return result;
}

std::optional<std::string_view> cut_sentence(std::string_view reason) {
  const auto* row = std::find_if(cut_reasons.begin(), cut_reasons.end(),
                                 [&](const auto& r) { return r.first == reason; });
  if (row == cut_reasons.end()) return std::nullopt;
  return row->second;
}

}  // namespace millrace::adapter
