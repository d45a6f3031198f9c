// Reads token counts out of the vendors' usage objects: one table row a dialect.
#pragma once

#include <cstdint>
#include <optional>
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

// Whether reasoning tokens cannot be part of the output, which they clearly exceed.
bool exceeds_output(std::int64_t reasoning, std::int64_t output);
// Whether cached tokens cannot be part of the input, and no total contradicts.
bool is_cache_beside(std::int64_t input, std::int64_t cached, std::int64_t output,
                     std::int64_t reasoning, std::optional<std::int64_t> total);

// Merges the members of a later report into `usage_json`, "" or the JSON text of an earlier one:
// what both have is taken from the later, of objects each member.
void merge_usage(std::string& usage_json, const json::Value& later);

// Anthropic's counts leave out what compactions of the conversation cost, and tell it beside them:
// the report with both as one, or as it is.
std::string with_compactions(const json::Value& usage);

// Adds the counts of another message of the same answer, one level deep.
void add_usage(std::string& usage_json, const std::string& other_json);

// The latest report of a server that counts again and again, with what earlier ones alone had.
// Thread: any, one at a time.
class LatestUsage {
 public:
  // `shape` is that of the document which has the report.
  void take(const json::Value& usage, std::uint64_t shape);
  [[nodiscard]] bool empty() const { return json_.empty(); }
  // Gives the report, and begins anew.
  std::string take_json();

 private:
  void name_merged();

  std::string json_;
  std::string names_;        // of its members, those of objects within as well
  std::uint64_t shape_ = 0;  // of the document with the latest one, where it has them all
  bool is_merged_ = false;   // json_ has more members than names_
};

// The usage of an answer that was given last. Some servers end an answer twice, and what they
// report again was paid for once.
class GivenUsage {
 public:
  // Whether the answer with this id has not given this usage last.
  bool is_new(std::string_view answer, std::string_view usage_json) {
    if (answer == answer_ && usage_json == usage_json_) return false;
    answer_ = answer;
    usage_json_ = usage_json;
    return true;
  }

 private:
  std::string answer_;
  std::string usage_json_;
};

}  // namespace millrace::adapter
