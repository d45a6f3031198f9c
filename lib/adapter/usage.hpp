// Reads token counts out of the vendors' usage objects: one table row a dialect.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "event/event.hpp"

namespace millrace::adapter {

enum class UsageDialect : std::uint8_t {
  openai_chat,
  openai_responses,
  anthropic,
  langchain,
  gemini,
  gemini_interactions,
  ollama,
  bedrock,
  cohere,
};

// Lifetime: the result views its arguments.
event::Usage read_usage(UsageDialect dialect, std::string_view provider, std::string_view model,
                        const json::Value& usage, std::string_view usage_json);

// Merges the members of a later report into `usage_json`, "" or the JSON text of an earlier one:
// what both have is taken from the later.
void merge_usage(std::string& usage_json, const json::Value& later);

// Anthropic's counts leave out what compactions of the conversation cost, and tell it beside them:
// the report with both as one, or as it is.
std::string with_compactions(const json::Value& usage);

// Adds the counts of another message of the same answer, one level deep.
void add_usage(std::string& usage_json, const std::string& other_json);

}  // namespace millrace::adapter
