#include "adapter/usage.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "base/bytes.hpp"
#include "base/counts.hpp"
#include "base/json_depth.hpp"
#include "base/json_members.hpp"

namespace millrace::adapter {
namespace {

// A member, or a member of a member: `group` is "" for the former.
struct Path {
  std::string_view group;
  std::string_view key;
};

// Where cached tokens count.
enum class CachedTokens : std::uint8_t {
  in_input,
  beside_input,  // and so do written ones
  guessed,       // beside an input that they exceed, as xAI counts, else in it
};

struct Row {
  Path input;
  Path output;
  Path total;
  Path reasoning;
  Path cached;
  Path cache_write;
  CachedTokens cached_tokens = CachedTokens::in_input;
  Path more_input = {};                   // tokens that are not in the input count
  bool reasoning_beside_output = false;   // reasoning tokens are not in the output count
  std::array<Path, 4> other_cached = {};  // where else cached tokens may stand
  std::array<Path, 2> other_cache_write = {};
  Path other_reasoning = {};          // the greater count of both holds
  std::string_view other_group = {};  // in place of the counts' group, where that is missing
  bool more_beside_total = false;     // `more_input` is not in the total, either
  bool guesses_reasoning = false;     // without a total: beside an output that it exceeds
};

constexpr std::array<Row, 9> rows{{
    {{"", "prompt_tokens"},
     {"", "completion_tokens"},
     {"", "total_tokens"},
     {"completion_tokens_details", "reasoning_tokens"},
     {"", "prompt_cache_hit_tokens"},
     {"prompt_tokens_details", "cache_write_tokens"},
     CachedTokens::guessed,
     {"", "citation_tokens"},
     false,
     // The first and the group in the singular are Mistral's.
     {{{"", "num_cached_tokens"},
       {"prompt_tokens_details", "cached_tokens"},
       {"prompt_token_details", "cached_tokens"},
       {"", "cached_tokens"}}},
     // Alibaba's explicit caches, and Claude on GitHub Copilot.
     {{{"prompt_tokens_details", "cache_creation_tokens"},
       {"prompt_tokens_details", "cache_creation_input_tokens"}}},
     {"", "reasoning_tokens"},
     {},
     true,
     true},
    {{"", "input_tokens"},
     {"", "output_tokens"},
     {"", "total_tokens"},
     {"output_tokens_details", "reasoning_tokens"},
     {"input_tokens_details", "cached_tokens"},
     {"input_tokens_details", "cache_write_tokens"},
     CachedTokens::guessed},
    {{"", "input_tokens"},
     {"", "output_tokens"},
     {},
     {"output_tokens_details", "thinking_tokens"},
     {"", "cache_read_input_tokens"},
     {"", "cache_creation_input_tokens"},
     CachedTokens::beside_input},
    {{"", "input_tokens"},
     {"", "output_tokens"},
     {"", "total_tokens"},
     {"output_token_details", "reasoning"},
     {"input_token_details", "cache_read"},
     {"input_token_details", "cache_creation"},
     CachedTokens::in_input},
    {{"", "promptTokenCount"},
     {"", "candidatesTokenCount"},
     {"", "totalTokenCount"},
     {"", "thoughtsTokenCount"},
     {"", "cachedContentTokenCount"},
     {},
     CachedTokens::in_input,
     {"", "toolUsePromptTokenCount"},
     true},
    {{"", "total_input_tokens"},
     {"", "total_output_tokens"},
     {"", "total_tokens"},
     {"", "total_thought_tokens"},
     {"", "total_cached_tokens"},
     {},
     CachedTokens::in_input,
     {"", "total_tool_use_tokens"},
     true},
    {{"", "prompt_eval_count"}, {"", "eval_count"}, {}, {}, {}, {}},
    {{"", "inputTokens"},
     {"", "outputTokens"},
     {"", "totalTokens"},
     {},
     {"", "cacheReadInputTokens"},
     {"", "cacheWriteInputTokens"},
     CachedTokens::beside_input},
    {{"tokens", "input_tokens"},
     {"tokens", "output_tokens"},
     {},
     {},
     {"", "cached_tokens"},
     {},
     CachedTokens::in_input,
     {},
     false,
     {},
     {},
     {},
     "billed_units"},
}};

std::optional<std::int64_t> count_at(const json::Value& usage, const Path& path) {
  if (path.key.empty()) return std::nullopt;
  const json::Value group = path.group.empty() ? usage : usage[path.group];
  return count_of(group[path.key]);
}

// The count at the first of the paths that has one.
std::optional<std::int64_t> first_count(const json::Value& usage, const Path& path,
                                        std::span<const Path> others) {
  auto count = count_at(usage, path);
  for (const Path& other : others) {
    if (!count) count = count_at(usage, other);
  }
  return count;
}

// The path, within the other group where a row has one and its own is missing.
Path given_path(const json::Value& usage, const Row& row, Path path) {
  if (!row.other_group.empty() && !usage[path.group].is_object()) path.group = row.other_group;
  return path;
}

}  // namespace

bool exceeds_output(std::int64_t reasoning, std::int64_t output) {
  // DeepSeek counts one token more than the limit at which it stopped.
  constexpr std::int64_t miscounted = 8;
  return reasoning - miscounted > output;
}

bool is_cache_beside(std::int64_t input, std::int64_t cached, std::int64_t output,
                     std::int64_t reasoning, std::optional<std::int64_t> total) {
  if (cached <= input) return false;
  const std::int64_t sum = input + cached + output;
  return !total || total == sum || total == sum + reasoning;
}

event::Usage read_usage(UsageDialect dialect, std::string_view provider, std::string_view model,
                        const json::Value& usage, std::string_view usage_json) {
  const Row& row = rows[static_cast<std::size_t>(dialect)];
  event::Usage result;
  result.provider = provider;
  result.model = model;
  result.input_tokens = count_at(usage, given_path(usage, row, row.input));
  result.output_tokens = count_at(usage, given_path(usage, row, row.output));
  result.total_tokens = count_at(usage, row.total);
  result.reasoning_tokens =
      std::max(count_at(usage, row.reasoning), count_at(usage, row.other_reasoning));
  result.cached_input_tokens = first_count(usage, row.cached, row.other_cached);
  result.cache_write_input_tokens = first_count(usage, row.cache_write, row.other_cache_write);
  result.json = usage_json;
  if (row.cached_tokens == CachedTokens::beside_input && result.input_tokens) {
    *result.input_tokens += result.cached_input_tokens.value_or(0);
    *result.input_tokens += result.cache_write_input_tokens.value_or(0);
  }
  const std::int64_t cached = result.cached_input_tokens.value_or(0);
  if (row.cached_tokens == CachedTokens::guessed && result.input_tokens &&
      is_cache_beside(*result.input_tokens, cached, result.output_tokens.value_or(0),
                      result.reasoning_tokens.value_or(0), result.total_tokens)) {
    *result.input_tokens += cached;
  }
  const std::int64_t more = count_at(usage, row.more_input).value_or(0);
  if (result.input_tokens) *result.input_tokens += more;
  if (result.total_tokens && row.more_beside_total) *result.total_tokens += more;
  // xAI leaves reasoning out of the output of a chat, which only the total tells.
  const std::int64_t unexplained = result.total_tokens.value_or(0) -
                                   result.input_tokens.value_or(0) -
                                   result.output_tokens.value_or(0);
  const bool in_total =
      result.total_tokens
          ? unexplained == result.reasoning_tokens
          : row.guesses_reasoning && exceeds_output(result.reasoning_tokens.value_or(0),
                                                    result.output_tokens.value_or(0));
  const bool left_out = result.input_tokens && result.output_tokens &&
                        result.reasoning_tokens.value_or(0) > 0 && in_total;
  if (left_out && !row.reasoning_beside_output) *result.output_tokens += *result.reasoning_tokens;
  if (row.reasoning_beside_output && (result.output_tokens || result.reasoning_tokens)) {
    result.output_tokens = result.output_tokens.value_or(0) + result.reasoning_tokens.value_or(0);
  }
  if (!result.total_tokens && result.input_tokens && result.output_tokens) {
    result.total_tokens = *result.input_tokens + *result.output_tokens;
  }
  return result;
}

std::string with_compactions(const json::Value& usage) {
  constexpr std::array<std::string_view, 4> keys{
      "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"};
  std::array<std::int64_t, keys.size()> more{};
  for (const json::Value iteration : usage["iterations"].items()) {
    if (iteration["type"].string() != "compaction") continue;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      more[i] += count_of(iteration[keys[i]]).value_or(0);
    }
  }
  std::string out = "{";
  for (const json::Member& member : usage.members()) {
    const auto* key = std::find(keys.begin(), keys.end(), member.key);
    const std::int64_t added =
        key == keys.end() ? 0 : more[static_cast<std::size_t>(key - keys.begin())];
    if (added == 0) {
      json::append_member(out, member);
    } else {
      json::append_member(out, member.key, count_of(member.value).value_or(0) + added);
    }
  }
  out.push_back('}');
  return out;
}

namespace {

// The members of both, whole numbers added.
std::string sum_of(const json::Value& one, const json::Value& other, bool nested) {
  std::string out = "{";
  const json::MemberIndex of_one(one);
  const json::MemberIndex of_other(other);
  for (const json::Member& member : one.members()) {
    const json::Value more = of_other[member.key];
    const auto count = count_of(member.value);
    const auto added = count_of(more);
    if (count && added) {
      json::append_member(out, member.key, *count + *added);
    } else if (nested && member.value.is_object() && more.is_object()) {
      json::append_raw_member(out, member.key, sum_of(member.value, more, false));
    } else {
      json::append_member(out, member);
    }
  }
  for (const json::Member& member : other.members()) {
    if (!of_one[member.key].exists()) json::append_member(out, member);
  }
  out.push_back('}');
  return out;
}

}  // namespace

void add_usage(std::string& usage_json, const std::string& other_json) {
  if (usage_json.empty() || other_json.empty()) {
    usage_json += other_json;
    return;
  }
  json::Document document;
  json::Document other_document;
  const auto one = document.parse(usage_json);
  const auto other = other_document.parse(other_json);
  if (one && other) usage_json = sum_of(one.value(), other.value(), true);
}

namespace {

// The members of a later object, and of those before it what it lacks or has as null.
std::string merged_object(const json::Value& before, const json::Value& later, bool keeps_nulls,
                          bool is_nested = false) {
  const auto outlasts = [](const json::Value& known, const json::Value& value) {
    return known.exists() && (!value.exists() || (value.is_null() && !known.is_null()));
  };
  std::string merged = "{";
  const json::MemberIndex of_before(before);
  const json::MemberIndex of_later(later);
  for (const json::Member& member : before.members()) {
    if (outlasts(member.value, of_later[member.key])) json::append_member(merged, member);
  }
  for (const auto& [key, value] : later.members()) {
    const json::Value known = of_before[key];
    if (outlasts(known, value) || (value.is_null() && !keeps_nulls)) continue;
    if (!is_nested && value.is_object() && known.is_object()) {
      json::append_raw_member(merged, key, merged_object(known, value, keeps_nulls, true));
    } else {
      json::append_member(merged, json::Member{key, value});
    }
  }
  merged.push_back('}');
  return merged;
}

// Ends the name of a member in a list of names, and says whether its value is null.
char mark_of(const json::Value& value) {
  return value.is_null() ? '\1' : '\0';
}

// Whether the names of the members follow in `names` from `at` on.
bool follows(std::string_view names, std::size_t& at, const json::Value& object,
             bool is_nested = false) {
  for (const auto& [key, value] : object.members()) {
    const std::string_view rest = names.substr(at);
    if (rest.size() <= key.size() || rest[key.size()] != mark_of(value)) return false;
    if (!same_text(rest.substr(0, key.size()), key)) return false;
    at += key.size() + 1;
    if (!is_nested && value.is_object() && !follows(names, at, value, true)) return false;
  }
  return true;
}

void append_names(std::string& names, const json::Value& object, bool is_nested = false) {
  for (const auto& [key, value] : object.members()) {
    names.append(key).push_back(mark_of(value));
    if (!is_nested && value.is_object()) append_names(names, value, true);
  }
}

}  // namespace

void merge_usage(std::string& usage_json, const json::Value& later) {
  if (!later.is_object()) return;
  json::Document document;
  const auto before = document.parse(usage_json);
  usage_json = merged_object(before ? before.value() : json::Value(), later, false);
}

// Mostly each report has the members of the one before, in their order: always where the documents
// differ in texts and numbers alone.
void LatestUsage::take(const json::Value& usage, std::uint64_t shape) {
  const bool is_first = json_.empty();
  if (std::exchange(is_merged_, false)) name_merged();
  std::size_t at = 0;
  const bool is_same =
      !is_first && (shape == shape_ || (follows(names_, at, usage) && at == names_.size()));
  // What was put together has more than the record.
  shape_ = is_first || is_same ? shape : 0;
  if (is_first || is_same) {
    json_.clear();
    usage.write(json_);
    if (is_first) append_names(names_, usage);
    return;
  }
  json::Document document(json::data_depth_limit);
  const auto before = document.parse(json_);
  json_ = merged_object(before ? before.value() : json::Value(), usage, true);
  is_merged_ = true;
}

// Mostly the last report is the one that has more.
void LatestUsage::name_merged() {
  json::Document document(json::data_depth_limit);
  names_.clear();
  if (const auto merged = document.parse(json_)) append_names(names_, merged.value());
}

std::string LatestUsage::take_json() {
  names_.clear();
  is_merged_ = false;
  return std::exchange(json_, {});
}

}  // namespace millrace::adapter
