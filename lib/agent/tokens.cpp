#include "agent/tokens.hpp"

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

std::int64_t content_tokens(const Tree& content) {
  if (content.is_string()) return estimate_tokens(content.string());
  std::int64_t tokens = 0;
  for (const Tree& part : content.items()) {
    if (part["text"].is_string()) {
      tokens += estimate_tokens(part["text"].string());
    } else if (part["thinking"].is_string()) {
      tokens += estimate_tokens(part["thinking"].string());
    } else {
      tokens += image_tokens;
    }
  }
  return tokens;
}

}  // namespace

std::int64_t estimate_message_tokens(const Tree& message) {
  std::int64_t tokens = 0;
  const std::int64_t reported =
      message["role"].string() == "assistant" ? reported_output(message) : 0;
  if (reported > 0) return reported;
  tokens += content_tokens(message["content"]);
  for (const std::string_view calls : {"tool_calls", "tools"}) {
    if (!message[calls].items().empty()) {
      tokens += estimate_tokens(message[calls].to_json());
      break;
    }
  }
  const Tree& reasoning = message["reasoning"];
  tokens += content_tokens(reasoning.is_object() ? reasoning["content"] : reasoning);
  tokens += content_tokens(message["reasoning_content"]);
  tokens += content_tokens(message["tool_call_id"]);
  return tokens;
}

std::int64_t estimate_context_tokens(const Tree& messages, const Tree& tools) {
  std::int64_t tokens = 0;
  for (const Tree& message : messages.items()) tokens += estimate_message_tokens(message);
  if (!tools.items().empty()) tokens += estimate_tokens(tools.to_json());
  return tokens;
}

CompressionCheck check_compression(const Tree& messages, const Tree& tools, const Tree& options) {
  const auto given = [&](std::string_view name, double otherwise) {
    const double value = options[name].number_or(otherwise);
    return value > 0 ? value : otherwise;
  };
  CompressionCheck check;
  const std::int64_t counted = options["countedTokens"].integer_or(-1);
  check.tokens = counted >= 0 ? counted : estimate_context_tokens(messages, tools);
  check.threshold = static_cast<std::int64_t>(
      std::floor(given("maxWindowToken", 128000) * given("thresholdRatio", 0.5)));
  const double drift = counted >= 0 ? 1.0 : given("driftMultiplier", 1.25);
  const double adjusted = static_cast<double>(check.tokens) * drift;
  check.needed = adjusted > static_cast<double>(check.threshold);
  return check;
}

}  // namespace millrace::agent
