#include "model/usage/usage.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/counts.hpp"
#include "base/number_text.hpp"

namespace millrace::model {
namespace {

constexpr std::array<std::string_view, tokens_count> counter_names{
    "inputTextTokens",           "inputImageTokens",         "inputAudioTokens",
    "inputVideoTokens",          "inputToolTokens",          "inputCitationTokens",
    "inputCachedTokens",         "inputCacheMissTokens",     "inputWriteCacheTokens",
    "inputWriteCacheLongTokens", "inputCachedTextTokens",    "inputCachedImageTokens",
    "inputCachedAudioTokens",    "inputCachedVideoTokens",   "outputTextTokens",
    "outputImageTokens",         "outputAudioTokens",        "outputVideoTokens",
    "outputReasoningTokens",     "acceptedPredictionTokens", "rejectedPredictionTokens",
    "totalInputTokens",          "totalOutputTokens",        "totalTokens",
};

constexpr std::array<std::string_view, 3> sources{"unknown", "estimated", "reported"};

// Members of newer versions of LobeHub: writes to the cache by the time that it keeps them.
constexpr std::string_view lobe_hour_writes = "inputWriteCacheTokens1h";
constexpr std::string_view lobe_short_writes = "inputWriteCacheTokens5m";

// Those of a usage that says how long.
std::array<std::pair<std::string_view, std::optional<std::int64_t>>, 2> lobe_writes(
    const ModelUsage& usage) {
  const auto& of_hour = usage[Tokens::input_write_cache_long];
  const auto& all = usage[Tokens::input_write_cache];
  std::optional<std::int64_t> rest;
  if (of_hour && all) rest = std::max<std::int64_t>(*all - *of_hour, 0);
  return {{{lobe_short_writes, rest}, {lobe_hour_writes, of_hour}}};
}

bool is_empty(const ModelUsage& usage) {
  return !usage.cost && std::none_of(usage.counts.begin(), usage.counts.end(),
                                     [](const auto& count) { return count.has_value(); });
}

}  // namespace

std::string_view name_of(Tokens tokens) {
  return counter_names[static_cast<std::size_t>(tokens)];
}

std::string_view name_of(UsageSource source) {
  return sources[static_cast<std::size_t>(source)];
}

bool is_of_other_model(const json::Value& iteration) {
  return iteration["type"].string() == "advisor_message";
}

std::string unpriced_iteration(const json::Value& iteration) {
  return std::string("iterations.").append(iteration["type"].string());
}

ModelUsage read_usage(const json::Value& usage) {
  ModelUsage result;
  for (std::size_t index = 0; index < tokens_count; ++index) {
    result.counts[index] = count_of(usage[counter_names[index]]);
  }
  auto& long_writes = result[Tokens::input_write_cache_long];
  if (!long_writes) long_writes = count_of(usage[lobe_hour_writes]);
  const auto cost = usage["cost"].number();
  if (cost && *cost >= 0) result.cost = cost;
  for (const json::Value member : usage["unpriced"].items()) {
    if (const auto name = member.filled_string()) result.unpriced.emplace_back(*name);
  }
  const auto* source = std::find(sources.begin(), sources.end(), usage["source"].string());
  if (source != sources.end()) {
    result.source = static_cast<UsageSource>(source - sources.begin());
  } else if (!is_empty(result)) {
    result.source = UsageSource::reported;
  }
  return result;
}

void write_json(std::string& out, const ModelUsage& usage, bool with_source) {
  out.push_back('{');
  for (std::size_t index = 0; index < tokens_count; ++index) {
    if (usage.counts[index]) json::append_member(out, counter_names[index], *usage.counts[index]);
  }
  for (const auto& [name, count] : lobe_writes(usage)) {
    if (count) json::append_member(out, name, *count);
  }
  if (usage.cost) json::append_raw_member(out, "cost", number_text(*usage.cost));
  if (!usage.unpriced.empty()) {
    std::string list = "[";
    for (const std::string& member : usage.unpriced) {
      if (list.size() > 1) list.push_back(',');
      json::append_string(list, member);
    }
    json::append_raw_member(out, "unpriced", list + "]");
  }
  if (with_source) json::append_member(out, "source", name_of(usage.source));
  out.push_back('}');
}

json::Tree to_tree(const ModelUsage& usage) {
  json::Tree made = json::Tree::object();
  for (std::size_t index = 0; index < tokens_count; ++index) {
    if (usage.counts[index]) {
      made.set(counter_names[index], json::Tree::integer(*usage.counts[index]));
    }
  }
  for (const auto& [name, count] : lobe_writes(usage)) {
    if (count) made.set(name, json::Tree::integer(*count));
  }
  if (usage.cost) made.set("cost", json::Tree::number(*usage.cost));
  if (!usage.unpriced.empty()) {
    json::Tree list = json::Tree::array();
    for (const std::string& member : usage.unpriced) list.push(json::Tree::text(member));
    made.set("unpriced", std::move(list));
  }
  made.set("source", name_of(usage.source));
  return made;
}

void add(ModelUsage& sum, const ModelUsage& more) {
  if (is_empty(sum) && sum.source == UsageSource::unknown) {
    sum = more;
    return;
  }
  for (std::size_t index = 0; index < tokens_count; ++index) {
    if (more.counts[index]) {
      sum.counts[index] = sum.counts[index].value_or(0) + *more.counts[index];
    }
  }
  // What costs an unknown amount beside a known one costs an unknown amount.
  if (!is_empty(more)) {
    sum.cost = sum.cost && more.cost ? std::optional(*sum.cost + *more.cost) : std::nullopt;
  }
  for (const std::string& member : more.unpriced) {
    const bool known =
        std::find(sum.unpriced.begin(), sum.unpriced.end(), member) != sum.unpriced.end();
    if (!known) sum.unpriced.push_back(member);
  }
  sum.source = std::min(sum.source, more.source);
}

void set_estimated_output(ModelUsage& usage, std::int64_t output, std::int64_t reasoning) {
  constexpr std::array outputs{Tokens::output_text,        Tokens::output_image,
                               Tokens::output_audio,       Tokens::output_video,
                               Tokens::output_reasoning,   Tokens::accepted_prediction,
                               Tokens::rejected_prediction};
  for (const Tokens tokens : outputs) usage[tokens].reset();
  if (output > reasoning) usage[Tokens::output_text] = output - reasoning;
  if (reasoning > 0) usage[Tokens::output_reasoning] = reasoning;
  usage[Tokens::total_output] = output;
  usage[Tokens::total] = usage[Tokens::total_input].value_or(0) + output;
  usage.cost.reset();
  usage.source = UsageSource::estimated;
}

ModelUsage estimated_usage(std::optional<std::int64_t> input, std::int64_t text,
                           std::int64_t reasoning) {
  ModelUsage usage;
  usage.source = UsageSource::estimated;
  if (input) {
    usage[Tokens::input_text] = input;
    usage[Tokens::total_input] = input;
  }
  if (text > 0) usage[Tokens::output_text] = text;
  if (reasoning > 0) usage[Tokens::output_reasoning] = reasoning;
  usage[Tokens::total_output] = text + reasoning;
  usage[Tokens::total] = input.value_or(0) + text + reasoning;
  return usage;
}

}  // namespace millrace::model
