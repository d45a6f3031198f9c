#include "agent/tokens.hpp"

#include <algorithm>
#include <cmath>

#include "base/token_estimate.hpp"

namespace millrace::agent {
namespace {

using json::Tree;

constexpr std::int64_t image_tokens = 1000;

std::int64_t reported_output(const Tree& message) {
  for (const Tree* usage :
       {&message["metadata"]["usage"], &message["usage"], &message["metadata"]}) {
    const std::int64_t tokens = (*usage)["totalOutputTokens"].integer_or(0);
    if (tokens > 0) return tokens;
  }
  return 0;
}

// The tokens of a text.
using Measure = std::int64_t (*)(std::string_view text);

std::int64_t estimated(std::string_view text) {
  return estimate_tokens(text);
}

// No estimate of a text is more.
std::int64_t at_most(std::string_view text) {
  constexpr std::int64_t most_tokens_per_byte = 2;
  return most_tokens_per_byte * static_cast<std::int64_t>(text.size());
}

std::int64_t content_tokens(const Tree& content, Measure measure) {
  if (content.is_string()) return measure(content.string());
  std::int64_t tokens = 0;
  for (const Tree& part : content.items()) {
    if (part["text"].is_string()) {
      tokens += measure(part["text"].string());
    } else if (part["thinking"].is_string()) {
      tokens += measure(part["thinking"].string());
    } else {
      tokens += image_tokens;
    }
  }
  return tokens;
}

std::int64_t message_tokens(const Tree& message, Measure measure) {
  std::int64_t tokens = 0;
  const std::int64_t reported =
      message["role"].string() == "assistant" ? reported_output(message) : 0;
  if (reported > 0) return reported;
  tokens += content_tokens(message["content"], measure);
  for (const Tree* calls : {&message["tool_calls"], &message["tools"]}) {
    if (!calls->items().empty()) {
      tokens += measure(calls->to_json());
      break;
    }
  }
  const Tree& reasoning = message["reasoning"];
  tokens += content_tokens(reasoning.is_object() ? reasoning["content"] : reasoning, measure);
  tokens += content_tokens(message["reasoning_content"], measure);
  tokens += content_tokens(message["tool_call_id"], measure);
  return tokens;
}

std::int64_t most_tokens_of(const Tree& message) {
  return message_tokens(message, at_most);
}

std::int64_t tool_tokens(const Tree& tools, Measure measure) {
  return tools.items().empty() ? 0 : measure(tools.to_json());
}

std::int64_t rows_tokens(const Tree& messages, Measure measure) {
  std::int64_t tokens = 0;
  for (const Tree& message : messages.items()) tokens += message_tokens(message, measure);
  return tokens;
}

// A context that was just compressed is not far below the share at which that began: the next
// result of a tool would compress it again. It may grow to a higher share.
// Source: lobehub/lobehub, `getCompressionThreshold` of its agent runtime (2026).
double threshold_ratio(double ratio, const Tree& messages, const Tree& options) {
  constexpr double again_ratio = 0.65;
  const auto& rows = messages.items();
  // The summary is the first message behind the system messages.
  const auto first = std::find_if(rows.begin(), rows.end(),
                                  [](const Tree& row) { return row["role"].string() != "system"; });
  const bool has_summary = options["hasExistingSummary"].truthy() ||
                           (first != rows.end() && (*first)["role"].string() == "compressedGroup");
  if (!has_summary) return ratio;
  const double given = options["recompressionThresholdRatio"].number_or(0);
  return given > 0 ? given : std::max(ratio, again_ratio);
}

CompressionCheck checked(std::int64_t tokens, const Tree& messages, const Tree& options) {
  const auto given = [&](std::string_view name, double otherwise) {
    const double value = options[name].number_or(otherwise);
    return value > 0 ? value : otherwise;
  };
  CompressionCheck check;
  check.tokens = tokens;
  const double ratio = threshold_ratio(given("thresholdRatio", 0.5), messages, options);
  check.threshold = static_cast<std::int64_t>(std::floor(given("maxWindowToken", 128000) * ratio));
  // What one vocabulary counts is an estimate to models with another.
  const double drift = given("driftMultiplier", 1.25);
  const double adjusted = static_cast<double>(check.tokens) * drift;
  check.needed = adjusted > static_cast<double>(check.threshold);
  return check;
}

}  // namespace

std::int64_t estimate_message_tokens(const Tree& message) {
  return message_tokens(message, estimated);
}

std::int64_t estimate_context_tokens(const Tree& messages, const Tree& tools) {
  return rows_tokens(messages, estimated) + tool_tokens(tools, estimated);
}

std::int64_t RetainedTokens::of(const Tree& rows) {
  const auto& items = rows.items();
  const auto differs = std::mismatch(
      counted_.begin(), counted_.end(), items.begin(), items.end(),
      [](const Counted& counted, const Tree& row) { return counted.row.is_same(row); });
  counted_.erase(differs.first, counted_.end());
  for (auto row = differs.second; row != items.end(); ++row) {
    const std::int64_t before = counted_.empty() ? 0 : counted_.back().up_to;
    counted_.push_back({*row, before + measure_(*row)});
  }
  return counted_.empty() ? 0 : counted_.back().up_to;
}

ContextTokens::ContextTokens() : estimated(estimate_message_tokens), most(most_tokens_of) {}

CompressionCheck check_compression(const Tree& messages, const Tree& tools, const Tree& options,
                                   ContextTokens* retained) {
  const std::int64_t counted = options["countedTokens"].integer_or(-1);
  if (counted >= 0) return checked(counted, messages, options);
  const std::int64_t rows =
      retained != nullptr ? retained->estimated.of(messages) : rows_tokens(messages, estimated);
  return checked(rows + tool_tokens(tools, estimated), messages, options);
}

bool may_need_compression(const Tree& messages, const Tree& tools, const Tree& options,
                          ContextTokens* retained) {
  if (options["countedTokens"].integer_or(-1) >= 0) return true;
  const std::int64_t rows =
      retained != nullptr ? retained->most.of(messages) : rows_tokens(messages, at_most);
  return checked(rows + tool_tokens(tools, at_most), messages, options).needed;
}

}  // namespace millrace::agent
